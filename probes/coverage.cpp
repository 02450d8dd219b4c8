#include "probes/coverage.h"

#include "probes/intercept.h"
#include "schema/records.h"

#include <cstdio>
#include <cstring>

namespace hitproof::probes {
namespace {

struct Count {
  std::atomic<std::uint64_t> calls{0}, bytes{0}, dropped{0};
};
Count counters[static_cast<std::size_t>(Counter::count)];

constexpr const char* counter_names[] = {"page_records",
                                         "announcements",
                                         "device_work",
                                         "path:device_memory_unreadable",
                                         "path:unknown_entry",
                                         "graph_nodes",
                                         "path:graph_unreadable",
                                         "path:stream_captured",
                                         "path:page_unreachable",
                                         "path:kernel_with_host_pointer",
                                         "path:device_memory_short",
                                         "path:foreign_hook",
                                         "addresses"};
static_assert(sizeof counter_names / sizeof counter_names[0] ==
              static_cast<std::size_t>(Counter::count));

// Names asked for that are not hooked: a fixed table, the rest only counted.
struct UnknownName {
  std::atomic<std::uint64_t> lookups{0};
  char name[40] = {};
};
constexpr std::size_t max_unknown = 1024;
UnknownName unknown[max_unknown];
std::size_t unknown_used = 0;
std::atomic<std::uint64_t> unknown_beyond{0};
SpinLock unknown_lock;

bool contains(const char* name, const char* part) noexcept {
  return std::strstr(name, part) != nullptr;
}

// A name that can move bytes although the probe has no hook for it.
bool moves_bytes(const char* name) noexcept {
  for (const char* part : {"Memcpy", "Memset", "Prefetch", "Decompress", "TensorMapReplace"}) {
    if (contains(name, part))
      return !contains(name, "GetParams") && !contains(name, "GetAttribute");
  }
  return false;
}

Count& of(Counter counter) noexcept { return counters[static_cast<std::size_t>(counter)]; }

} // namespace

void count(Counter counter, std::uint64_t calls, std::uint64_t bytes) noexcept {
  of(counter).calls.fetch_add(calls, std::memory_order_relaxed);
  if (bytes != 0) of(counter).bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void count_dropped(Counter counter, std::uint64_t n) noexcept {
  of(counter).dropped.fetch_add(n, std::memory_order_relaxed);
}

void count_unknown_name(const char* name) noexcept {
  if (name == nullptr) return;
  const LockGuard guard(unknown_lock);
  std::size_t i = 0;
  while (i < unknown_used && std::strncmp(unknown[i].name, name, sizeof unknown[i].name - 1) != 0)
    ++i;
  if (i == max_unknown) {
    unknown_beyond.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (i == unknown_used) {
    std::snprintf(unknown[i].name, sizeof unknown[i].name, "%s", name);
    ++unknown_used;
  }
  unknown[i].lookups.fetch_add(1, std::memory_order_relaxed);
}

void write_coverage(const char* name, std::uint64_t calls, std::uint64_t bytes, bool installed,
                    std::uint64_t dropped) noexcept {
  schema::rec::coverage r;
  schema::set_text(r.name, name);
  r.calls = calls;
  r.bytes = bytes;
  r.installed = installed;
  r.dropped = dropped;
  schema::journal(r);
}

void flush_coverage() noexcept {
  const auto get = [](const std::atomic<std::uint64_t>& a) {
    return a.load(std::memory_order_relaxed);
  };
  std::uint64_t calls = 0;
  std::uint32_t installed = 0;
  for (std::size_t i = 1; i < hook_count; ++i) {
    const HookState& s = hook_state[i];
    const bool found = s.real.load(std::memory_order_relaxed) != nullptr;
    calls += get(s.calls);
    installed += found;
    if (found || get(s.calls) != 0 || get(s.dropped) != 0) {
      write_coverage(hook_table[i].symbol, get(s.calls), get(s.bytes), found, get(s.dropped));
    }
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(Counter::count); ++i) {
    const Count& c = counters[i];
    if (get(c.calls) == 0 && get(c.dropped) == 0) continue;
    write_coverage(counter_names[i], get(c.calls), get(c.bytes), true, get(c.dropped));
  }
  // A signal handler that ends the program may have come in while its own thread held the lock.
  constexpr int tries = 10000;
  if (unknown_lock.lock_within(tries)) {
    for (std::size_t i = 0; i < unknown_used; ++i) {
      char name[48];
      std::snprintf(name, sizeof name, "%s%s",
                    moves_bytes(unknown[i].name) ? "path:" : "lookup:", unknown[i].name);
      write_coverage(name, get(unknown[i].lookups), 0, false, 0);
    }
    unknown_lock.unlock();
  } else {
    write_coverage("lookup:others", 0, 0, false, 1);
  }
  if (get(unknown_beyond) != 0) write_coverage("lookup:others", get(unknown_beyond), 0, false, 0);
  // Last, and written by every process that comes this far: it ended in order, and this is the sum.
  write_coverage("hooks", calls, 0, installed != 0, schema::JournalWriter::dropped_in_process());
}

void forget_counters_after_fork() noexcept {
  unknown_lock.reset();
  unknown_used = 0;
  for (UnknownName& u : unknown)
    u.lookups.store(0, std::memory_order_relaxed);
  // A child has the hooks of its parent, and finds each of them once.
  for (Count& c : counters) {
    if (&c == &of(Counter::foreign_hook)) continue;
    c.calls.store(0, std::memory_order_relaxed);
    c.bytes.store(0, std::memory_order_relaxed);
    c.dropped.store(0, std::memory_order_relaxed);
  }
  for (HookState& s : hook_state) {
    s.calls.store(0, std::memory_order_relaxed);
    s.bytes.store(0, std::memory_order_relaxed);
    s.dropped.store(0, std::memory_order_relaxed);
  }
}

} // namespace hitproof::probes
