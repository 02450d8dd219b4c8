#include "probes/cupti_bytes.h"

#include "probes/coverage.h"
#include "probes/process_state.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

namespace hitproof::probes {
namespace {

// The head that every version of the two copy records has (cupti_activity.h).
struct CopyActivity {
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, target_kind, flags;
  std::uint64_t bytes;
};
constexpr std::uint32_t kind_memcpy = 1, kind_memcpy_peer = 22;
constexpr int success = 0;

// Kinds of copies: 1 H2D, 2 D2H, 3 and 7 with an array as target, 4 and 6 as source, 5 both, 8 D2D,
// 10 between devices.
enum Way : std::size_t { h2d, d2h, d2d, ways };
constexpr const char* names[ways] = {"cupti:h2d", "cupti:d2h", "cupti:d2d"};
constexpr std::size_t way_of[11] = {ways, h2d, d2h, h2d, d2h, d2d, d2d, d2d, d2d, ways, d2d};

using Requested = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Completed = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
struct Cupti {
  int (*register_callbacks)(Requested, Completed);
  int (*enable)(std::uint32_t);
  int (*next_record)(std::uint8_t*, std::size_t, void**);
  int (*dropped_records)(void*, std::uint32_t, std::size_t*);
  int (*flush_all)(std::uint32_t);
};

Cupti cupti{};
std::atomic<bool> asked{false}, running{false};
std::atomic<std::uint64_t> records{0}, dropped{0}, copies[ways], bytes[ways];

void* open_library() noexcept {
  for (const char* name : {"libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
                           "/usr/local/cuda/lib64/libcupti.so.13", "libcupti.so.12"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class Function> bool find(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load() noexcept {
  void* const library = open_library();
  return library != nullptr &&
         find(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks) &&
         find(library, "cuptiActivityEnable", cupti.enable) &&
         find(library, "cuptiActivityGetNextRecord", cupti.next_record) &&
         find(library, "cuptiActivityGetNumDroppedRecords", cupti.dropped_records) &&
         find(library, "cuptiActivityFlushAll", cupti.flush_all);
}

constexpr std::size_t buffer_bytes = 1 << 20;

void buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most = 0; // as many as there is room for
}

void buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                      std::size_t valid) {
  void* record = nullptr;
  while (valid != 0 && cupti.next_record(buffer, valid, &record) == success) {
    records.fetch_add(1, std::memory_order_relaxed);
    CopyActivity copy;
    std::memcpy(&copy, record, sizeof copy);
    if (copy.kind != kind_memcpy && copy.kind != kind_memcpy_peer) continue;
    const std::size_t way = copy.copy_kind < sizeof way_of / sizeof way_of[0]
                                ? way_of[copy.copy_kind]
                                : static_cast<std::size_t>(ways);
    if (way == ways) continue;
    copies[way].fetch_add(1, std::memory_order_relaxed);
    bytes[way].fetch_add(copy.bytes, std::memory_order_relaxed);
  }
  std::size_t lost = 0;
  if (cupti.dropped_records(context, stream, &lost) == success && lost != 0)
    dropped.fetch_add(lost, std::memory_order_relaxed);
  std::free(buffer);
}

void complain(const char* what, int code) noexcept {
  std::fprintf(stderr,
               "hitproof: no cross-check in this process: %s (%d). Another tool that uses CUPTI "
               "(a profiler) must not run beside it; libcupti must be found by the loader.\n",
               what, code);
}

} // namespace

void start_cupti() noexcept {
  const char* const wanted = std::getenv("HITPROOF_CUPTI");
  if (wanted == nullptr || std::strcmp(wanted, "1") != 0 || asked.exchange(true)) return;
  if (!load()) return complain("libcupti cannot be loaded", 0);
  if (const int code = cupti.register_callbacks(buffer_requested, buffer_completed))
    return complain("cuptiActivityRegisterCallbacks refused", code);
  for (const std::uint32_t kind : {kind_memcpy, kind_memcpy_peer}) {
    if (const int code = cupti.enable(kind)) return complain("cuptiActivityEnable refused", code);
  }
  running.store(true);
}

void flush_cupti() noexcept {
  if (!asked.load()) return;
  constexpr std::uint32_t forced = 1;
  const bool complete = running.load() && cupti.flush_all(forced) == success;
  for (std::size_t way = 0; complete && way < ways; ++way)
    write_coverage(names[way], copies[way].load(), bytes[way].load(), true, 0);
  write_coverage("cupti:session", records.load(), 0, complete, dropped.load());
}

void forget_cupti_after_fork() noexcept {
  // CUDA is of no use in a forked child, and neither is its CUPTI; a program that it starts begins
  // anew.
  running.store(false);
  records.store(0);
  dropped.store(0);
  for (std::size_t way = 0; way < ways; ++way) {
    copies[way].store(0);
    bytes[way].store(0);
  }
}

} // namespace hitproof::probes
