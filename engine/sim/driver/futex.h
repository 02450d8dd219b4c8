// Sleeping on a 32-bit word, inside one process or between processes that map the same page.
// Nothing here spins: the ranks, the front and the cache server share few cores.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hitproof::sim {

enum class FutexScope { process, shared };

/// Sleep while *word == expected, until woken or until timeout_ns has passed. May wake for nothing.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, FutexScope scope,
                       int64_t timeout_ns) {
  timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  const int private_flag = scope == FutexScope::process ? FUTEX_PRIVATE_FLAG : 0;
  syscall(SYS_futex, &word, FUTEX_WAIT | private_flag, expected, &timeout, nullptr, 0);
}

/// Wake every sleeper.
inline void futex_wake_all(std::atomic<uint32_t>& word, FutexScope scope) {
  const int private_flag = scope == FutexScope::process ? FUTEX_PRIVATE_FLAG : 0;
  syscall(SYS_futex, &word, FUTEX_WAKE | private_flag, INT_MAX, nullptr, nullptr, 0);
}

} // namespace hitproof::sim
