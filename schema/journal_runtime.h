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
  static JournalWriter* make_writer() noexcept;
  static void end_of_thread(void* writer) noexcept;
};

// Opens or makes `<folder>/control`; null on any failure.
ControlPage* map_control(const char* folder) noexcept;

// Makes a file of `bytes` allocated bytes: a full disk shows here and not as a signal at a later
// write. Returns an open descriptor, or -1 with errno.
int make_allocated_file(const char* path, std::size_t bytes) noexcept;

} // namespace hitproof::schema
