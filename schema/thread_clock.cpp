#include "schema/thread_clock.h"

#if defined(__x86_64__)
#include <cerrno>
#include <cpuid.h>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#endif

namespace hitproof::schema {

#if defined(__x86_64__)
namespace {

constexpr std::uint64_t anchor_ns = 1'000'000;
constexpr std::uint64_t shortest_measure_ns = 10'000'000, longest_measure_ns = 1'000'000'000;

struct Reading {
  std::uint64_t ticks = 0, ns = 0;
};

std::atomic<bool> trusted{false};
std::atomic<std::uint64_t> shared_rate{0}; // 0: not measured yet
// Where the measurement under way began; changed by whoever holds the flag. Nobody waits for it.
std::atomic<bool> measuring{false};
Reading measured_from;

bool counter_is_invariant() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned power_leaf = 0x80000007u, invariant = 1u << 8;
  return __get_cpuid(power_leaf, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
}

// The kernel's own opinion: it compares the counters of all processors and gives them up where they
// disagree.
bool kernel_keeps_time_by_it() noexcept {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[8] = {};
  const ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  return n == 4 && std::memcmp(name, "tsc\n", 4) == 0;
}

// One reading of both clocks; false where the thread was interrupted in it each time.
bool read_both(Reading& r) noexcept {
  constexpr std::uint64_t most_ticks = 1000;
  for (int attempt = 0; attempt < 3; ++attempt) {
    _mm_lfence();
    const std::uint64_t before = __rdtsc();
    r.ns = now();
    _mm_lfence();
    const std::uint64_t width = __rdtsc() - before;
    r.ticks = before + width / 2;
    if (width < most_ticks) return true;
  }
  return false;
}

void measure_rate(const Reading& r) noexcept {
  if (measuring.exchange(true, std::memory_order_acquire)) return;
  const std::uint64_t ns = r.ns - measured_from.ns, ticks = r.ticks - measured_from.ticks;
  if (measured_from.ns == 0 || r.ns < measured_from.ns || ticks == 0) {
    measured_from = r;
  } else if (ns >= shortest_measure_ns) {
    const auto rate =
        static_cast<std::uint64_t>(static_cast<double>(ns) / static_cast<double>(ticks) * 0x1p32);
    const std::uint64_t old = shared_rate.load(std::memory_order_relaxed);
    // A machine that slept or moved has another counter: what spans that is no rate.
    const bool jumped = old != 0 && (rate > old + old / 1000 || rate < old - old / 1000);
    shared_rate.store(jumped ? 0 : rate, std::memory_order_relaxed);
    if (jumped || ns >= longest_measure_ns) measured_from = r;
  }
  measuring.store(false, std::memory_order_release);
}

} // namespace

thread_local constinit ThreadClock::Anchor ThreadClock::anchor_;

std::uint64_t ThreadClock::anew() noexcept {
  Anchor& a = anchor_;
  Reading r;
  if ((a.version & 1) != 0 || !trusted.load(std::memory_order_relaxed) || !read_both(r)) {
    const std::uint64_t plain = now();
    return plain > a.latest ? plain : a.latest;
  }
  measure_rate(r);
  const std::uint64_t rate = shared_rate.load(std::memory_order_relaxed);
  ++a.version;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  a.ticks = r.ticks;
  a.ns = r.ns;
  a.rate = rate;
  a.lasts = rate == 0 ? 0 : (anchor_ns << 32) / rate;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++a.version;
  if (r.ns > a.latest) a.latest = r.ns;
  return a.latest;
}

void ThreadClock::prepare() noexcept {
  const int error = errno;
  measured_from = {};
  measuring.store(false, std::memory_order_release);
  trusted.store(counter_is_invariant() && kernel_keeps_time_by_it(), std::memory_order_relaxed);
  errno = error;
}
#else
void ThreadClock::prepare() noexcept {}
#endif

} // namespace hitproof::schema
