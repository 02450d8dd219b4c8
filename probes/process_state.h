// What the probe knows about its process: whether it records at all, in which mode, and the
// counters of what it could not record. Made once, at load or at the first hooked call, whichever
// comes first; made anew in a forked child.
#pragma once

#include "probes/role.h"
#include "probes/spin_lock.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hitproof::probes {

enum class Activity : int { unknown = 0, recording = 1, inert = 2 };

struct Settings {
  std::uint32_t mode = 0; // bits of hitproof_mode()
  std::uint64_t delay_ns = 0;
  std::uint32_t force_drop = 0; // drop every Nth page record, 0: none
  std::uint32_t flip = 0;       // 0 no tail flips, 1 at the effective address, 2 at the naive one
  std::uint32_t recording_tag = 0;
};

extern std::atomic<Activity> activity;

// Reads the environment and writes the process's first records.
void start_recording() noexcept;
const Settings& settings() noexcept;

// True where hooks record. The first call starts the recording.
inline bool recording() noexcept {
  const Activity now = activity.load(std::memory_order_acquire);
  if (now == Activity::recording) return true;
  if (now == Activity::inert) return false;
  start_recording();
  return activity.load(std::memory_order_acquire) == Activity::recording;
}

// Two runtimes or two drivers are mapped: the probe cannot know whose call is whose. It says so
// once and from then on only passes calls through. Returns true where that is so.
bool stay_out_if_ambiguous() noexcept;

// A line for people. A closed pipe behind it must not end the program.
void write_to_stderr(const char* line, std::size_t bytes) noexcept;

// Writes role, rank, executable and mode: at the start, and when the program has announced its
// role.
void write_process_record(const Role& role) noexcept;
// Writes the table of hook ids once, when the process first shows that it uses CUDA.
void write_hook_records_once() noexcept;

// Whether counters are to be written where the process may end. A forked child that has recorded
// nothing begins no recording for its last moment. A child of vfork() has its parent's memory, and
// its parent's counters in it. A signal handler inside a call of the program's, or of the probe's
// own, may stand in the way of its own locks.
bool speaks_at_its_end() noexcept;
// Writes the counters, as at the end; with `cupti` CUPTI's too. Leaves errno.
// Precondition, of both: speaks_at_its_end(), and no cancellation.
void flush_before_leaving(bool cupti) noexcept;
// It did not end: what was written is not its last word. Leaves errno.
void stayed_after_all() noexcept;

// In a forked child: what each part has to forget (threads that are gone, locks they held).
void forget_counters_after_fork() noexcept;
void forget_transfers_after_fork() noexcept;
void forget_device_work_after_fork() noexcept;
void forget_page_kernels_after_fork() noexcept;
void forget_graphs_after_fork() noexcept;
void forget_addresses_after_fork() noexcept;
void forget_foreign_hooks_after_fork() noexcept;

} // namespace hitproof::probes
