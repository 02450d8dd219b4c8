// Short critical sections of announcements, allocations and graphs; never on the path of a copy.
#pragma once

#include <atomic>
#include <sched.h>

namespace hitproof::probes {

// A forked child starts with all of them open, whatever the parent's threads were doing.
class SpinLock {
 public:
  void lock() noexcept {
    while (held_.exchange(true, std::memory_order_acquire))
      sched_yield();
  }
  // Gives up after `tries`.
  bool lock_within(int tries) noexcept {
    while (held_.exchange(true, std::memory_order_acquire)) {
      if (--tries <= 0) return false;
      sched_yield();
    }
    return true;
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }
  void reset() noexcept { unlock(); }

 private:
  std::atomic<bool> held_{false};
};

class LockGuard {
 public:
  explicit LockGuard(SpinLock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  SpinLock& lock_;
};

} // namespace hitproof::probes
