#include "probes/address_map.h"

#include "probes/cuda_abi.h"
#include "probes/intercept.h"

#include <atomic>

namespace hitproof::probes {
namespace {

// Ranges sorted by base in fixed arrays. Writers exclude each other by a lock and make the sequence
// odd while they move entries; a reader that saw it odd or changed reads again. 64 Ki ranges are
// more than any program here has at once, and pages of the arrays that are not used cost nothing.
constexpr std::uint32_t capacity = 65536;
std::atomic<std::uint64_t> bases[capacity], ends[capacity];
std::atomic<std::uint32_t> kinds[capacity];
std::atomic<std::uint32_t> used{0}, sequence{0};
std::atomic<bool> lost_ranges{false};
SpinLock writers;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// Index of the first range whose base is above `address`.
std::uint32_t upper(std::uint64_t address, std::uint32_t n) noexcept {
  std::uint32_t low = 0, high = n;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (bases[middle].load(acquire) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Stores that follow are releases and a reader's loads acquire: who sees one of them sees the odd
// number too.
class Change {
 public:
  Change() noexcept {
    writers.lock();
    sequence.fetch_add(1, relaxed);
  }
  ~Change() {
    sequence.fetch_add(1, release);
    writers.unlock();
  }
};

void put_at(std::uint32_t i, std::uint64_t base, std::uint64_t end, std::uint32_t kind) noexcept {
  bases[i].store(base, release);
  ends[i].store(end, release);
  kinds[i].store(kind, release);
}

void move_entry(std::uint32_t to, std::uint32_t from) noexcept {
  put_at(to, bases[from].load(relaxed), ends[from].load(relaxed), kinds[from].load(relaxed));
}

Memory ask_driver(std::uint64_t address) noexcept {
  using Ask = int (*)(void*, int, devptr);
  static std::atomic<void*> found{nullptr};
  void* function = found.load(relaxed);
  if (function == nullptr) {
    function = find_driver_symbol("cuPointerGetAttribute");
    found.store(function, relaxed);
  }
  if (function == nullptr) return lost_ranges.load(relaxed) ? Memory::unknown : Memory::host;
  constexpr int memory_type = 2, is_managed = 8;
  std::uint32_t type = 0, managed = 0;
  const Ask ask = reinterpret_cast<Ask>(function);
  const DepthGuard guard;
  if (ask(&type, memory_type, address) != result_success) return Memory::host;
  if (ask(&managed, is_managed, address) == result_success && managed != 0) return Memory::managed;
  return type == memory_device ? Memory::device : Memory::host;
}

// The range that this thread's last copy found, one for each end of it: copies of pages come in
// runs from one allocation to another. Good as long as the map has not changed.
struct LastFound {
  std::uint64_t base = 0, end = 0;
  Memory kind = Memory::unknown;
  std::uint32_t sequence = 0;
};
thread_local constinit LastFound last_to, last_from;

Memory kind_of(std::uint64_t address, LastFound& last) noexcept {
  const std::uint32_t now = sequence.load(acquire);
  if (last.sequence == now && address >= last.base && address < last.end) return last.kind;
  const MappedRange range = range_of(address);
  if (range.kind == Memory::unknown) return ask_driver(address);
  // With the number from before the search: a change meanwhile makes it differ. No signal handler
  // comes in between: inside a hook its copies are not observed.
  last = {range.base, range.base + range.bytes, range.kind, now};
  return range.kind;
}

} // namespace

bool add_range(std::uint64_t base, std::uint64_t bytes, Memory kind) noexcept {
  if (base == 0 || bytes == 0) return false;
  const Change change;
  const std::uint32_t n = used.load(relaxed);
  std::uint32_t i = upper(base, n);
  if (i > 0 && bases[i - 1].load(relaxed) == base) {
    put_at(i - 1, base, base + bytes, static_cast<std::uint32_t>(kind));
    return true;
  }
  if (n == capacity) {
    lost_ranges.store(true, relaxed);
    return false;
  }
  for (std::uint32_t k = n; k > i; --k)
    move_entry(k, k - 1);
  put_at(i, base, base + bytes, static_cast<std::uint32_t>(kind));
  used.store(n + 1, release);
  return true;
}

MappedRange remove_range(std::uint64_t base) noexcept {
  const Change change;
  const std::uint32_t n = used.load(relaxed);
  const std::uint32_t i = upper(base, n);
  if (i == 0 || bases[i - 1].load(relaxed) != base) return {};
  const MappedRange range{base, ends[i - 1].load(relaxed) - base,
                          static_cast<Memory>(kinds[i - 1].load(relaxed))};
  for (std::uint32_t k = i; k < n; ++k)
    move_entry(k - 1, k);
  used.store(n - 1, release);
  return range;
}

MappedRange range_of(std::uint64_t address) noexcept {
  for (;;) {
    const std::uint32_t before = sequence.load(acquire);
    if (before & 1) continue;
    MappedRange range;
    const std::uint32_t i = upper(address, used.load(acquire));
    if (i > 0) {
      const std::uint64_t base = bases[i - 1].load(acquire), end = ends[i - 1].load(acquire);
      if (address < end)
        range = {base, end - base, static_cast<Memory>(kinds[i - 1].load(acquire))};
    }
    if (sequence.load(relaxed) == before) return range;
  }
}

std::uint8_t direction_of(std::uint64_t dst, std::uint64_t src) noexcept {
  const Memory to = kind_of(dst, last_to), from = kind_of(src, last_from);
  const auto known = [](Memory m) { return m == Memory::device || m == Memory::host; };
  if (!known(to) || !known(from)) return 4;
  if (from == Memory::device) return to == Memory::device ? 2 : 0;
  return to == Memory::device ? 1 : 3;
}

void forget_addresses_after_fork() noexcept {
  // The ranges are still mapped in the child; only a writer that is gone may have left its marks.
  writers.reset();
  if (sequence.load(relaxed) & 1) sequence.fetch_add(1, relaxed);
}

} // namespace hitproof::probes
