// What the journal's writers share inside one process: the directory, the control page, and how a
// fork is noticed. Internal to the journal.
#pragma once

#include "schema/journal_format.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hitproof::schema {

class JournalWriter;

// Where journals go. Immutable once published and never freed: any thread may be reading it.
struct JournalPlace {
  std::uint64_t generation;
  ControlPage* control;         // null where it could not be mapped
  bool usable;                  // false: nothing is to be written
  const JournalPlace* previous; // keeps the ones before reachable for leak checkers
  char folder[3584];            // "<dir>/journal"
};

struct JournalRuntime {
  // The place, looked up in the environment at the first call. Never null.
  static const JournalPlace* place() noexcept;
  // A number that changes when the directory does and, in the child, at a fork.
  static std::uint64_t generation() noexcept;
  static void use_directory(const char* dir) noexcept;
  static void count_loss() noexcept;
  static std::uint64_t losses() noexcept;
  // Makes the writer begin anew: after a fork, or for another directory.
  static void restart(JournalWriter& writer) noexcept;
  // The journal of a thread that has ended, where there is one, or a new one. Programs that start a
  // thread for every little thing (NCCL does, at every collective operation) would otherwise use a
  // segment of a mebibyte for each.
  static JournalWriter* make_writer() noexcept;
  static void end_of_thread(void* writer) noexcept;
  static JournalWriter* take_idle() noexcept;
  static void give_idle(JournalWriter& writer) noexcept;
  // `tid`, or a number above all thread ids where another journal of this process has that one.
  // Precondition: the lists are locked.
  static std::uint32_t free_number(const JournalWriter& writer, std::uint32_t tid) noexcept;
};

// Opens or makes `<folder>/control`; null on any failure.
ControlPage* map_control(const char* folder) noexcept;

// Makes a file of `bytes` allocated bytes: a full disk shows here and not as a signal at a later
// write. Returns an open descriptor, or -1 with errno.
int make_allocated_file(const char* path, std::size_t bytes) noexcept;

} // namespace hitproof::schema
