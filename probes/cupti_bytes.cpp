#include "probes/cupti_bytes.h"

#include "probes/coverage.h"
#include "probes/process_state.h"
#include "schema/journal.h"
#include "schema/records.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <type_traits>
#include <unistd.h>

namespace hitproof::probes {

std::atomic<bool> activity_due{false}, cupti_asked_last{false}, cupti_counts{false};
std::atomic<std::uint32_t> calls_under_way{0};

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
  int (*subscribe)(void**, void (*)(void*, int, std::uint32_t, const void*), void*);
  int (*unsubscribe)(void*);
  int (*register_callbacks)(Requested, Completed);
  int (*enable)(std::uint32_t);
  int (*next_record)(std::uint8_t*, std::size_t, void**);
  int (*dropped_records)(void*, std::uint32_t, std::size_t*);
  int (*flush_all)(std::uint32_t);
};

Cupti cupti{};
std::atomic<bool> asked{false};
std::atomic<std::uint64_t> requested{0}, completed{0}, records{0}, dropped{0}, copies[ways],
    bytes[ways];

void* open_library() noexcept {
  for (const char* name : {"libcupti.so.13", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
                           "/usr/local/cuda/lib64/libcupti.so.13", "libcupti.so.12"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

// The first of its calls that the library has not; null where it has all.
const char* missing_call(void* library) noexcept {
  const auto find = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function == nullptr ? name : nullptr;
  };
  for (const char* missing :
       {find("cuptiSubscribe", cupti.subscribe), find("cuptiUnsubscribe", cupti.unsubscribe),
        find("cuptiActivityRegisterCallbacks", cupti.register_callbacks),
        find("cuptiActivityEnable", cupti.enable),
        find("cuptiActivityGetNextRecord", cupti.next_record),
        find("cuptiActivityGetNumDroppedRecords", cupti.dropped_records),
        find("cuptiActivityFlushAll", cupti.flush_all)}) {
    if (missing != nullptr) return missing;
  }
  return nullptr;
}

constexpr std::size_t buffer_bytes = 1 << 20;

void buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most = 0; // as many as there is room for
  if (*buffer != nullptr) requested.fetch_add(1, std::memory_order_relaxed);
}

void buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                      std::size_t valid) {
  completed.fetch_add(1, std::memory_order_relaxed);
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

// `cause` in a few words, for the recording too, and what to do.
void refuse(const char* cause, const char* to_do) noexcept {
  schema::rec::meta r;
  schema::set_text(r.name, "crosscheck.refused");
  schema::set_text(r.value, cause);
  schema::journal(r);
  char line[512];
  const int n = std::snprintf(line, sizeof line, "hitproof: no cross-check in process %d: %s; %s\n",
                              static_cast<int>(getpid()), cause, to_do);
  if (n > 0) write_to_stderr(line, static_cast<std::size_t>(n));
}

void refuse_code(const char* call, int code) noexcept {
  struct Known {
    int code;
    const char *cause, *to_do;
  };
  constexpr const char *privilege = "the driver gives it to administrators only",
                       *ask = "run as administrator, or load the driver with "
                              "NVreg_RestrictProfilingToAdminUsers=0",
                       *no_device = "no GPU or driver that it can use",
                       *look = "it needs an NVIDIA GPU and a driver as new as libcupti: look at "
                               "nvidia-smi and CUDA_VISIBLE_DEVICES",
                       *another = "another tool has CUPTI",
                       *alone = "run without it (nsys, ncu, cuda-gdb, torch.profiler and their "
                                "like): CUPTI serves one tool at a time";
  static constexpr Known all[] = {
      {39, another, alone},
      {12, another, alone},
      {35, privilege, ask},
      {40, privilege, ask},
      {999, no_device, look},
      {100, no_device, look},
      {2, no_device, look},
      {15, no_device, look},
      {0, "it was refused", "the number is CUPTI's error, see cupti_result.h"}};
  const Known* known = all;
  while (known->code != code && known->code != 0)
    ++known;
  char cause[80];
  std::snprintf(cause, sizeof cause, "%s (%s: %d)", known->cause, call, code);
  refuse(cause, known->to_do);
}

void no_callback(void*, int, std::uint32_t, const void*) {}

} // namespace

void start_cupti() noexcept {
  const char* const wanted = std::getenv("HITPROOF_CUPTI");
  if (wanted == nullptr || std::strcmp(wanted, "1") != 0 || asked.exchange(true)) return;
  void* const library = open_library();
  if (library == nullptr)
    return refuse("libcupti.so.13 was not found",
                  "install CUDA's CUPTI (package cuda-cupti-13-0, or pip install "
                  "nvidia-cuda-cupti) and put its folder into LD_LIBRARY_PATH");
  if (const char* const missing = missing_call(library)) {
    char cause[80];
    std::snprintf(cause, sizeof cause, "libcupti has no %s", missing);
    return refuse(cause, "install the CUPTI of CUDA 12 or 13");
  }
  // CUPTI's own way to keep its tools apart: one that subscribed before has the records, and one
  // that comes later and asks is turned away, instead of finding the probe's buffers among its own.
  void* subscriber = nullptr;
  if (const int code = cupti.subscribe(&subscriber, no_callback, nullptr))
    return refuse_code("cuptiSubscribe", code);
  const char* call = "cuptiActivityRegisterCallbacks";
  int code = cupti.register_callbacks(buffer_requested, buffer_completed);
  for (const std::uint32_t kind : {kind_memcpy, kind_memcpy_peer}) {
    if (code != success) break;
    call = "cuptiActivityEnable";
    code = cupti.enable(kind);
  }
  if (code != success) {
    cupti.unsubscribe(subscriber); // another tool may have more luck
    return refuse_code(call, code);
  }
  cupti_counts.store(true);
}

void flush_cupti() noexcept {
  if (!asked.load()) return;
  constexpr std::uint32_t forced = 1;
  bool complete = false;
  std::uint32_t others = 0;
  if (cupti_counts.load()) {
    write_coverage("cupti:flush", 0, 0, false, 0);
    cupti_asked_last.store(true);
    const int code = cupti.flush_all(forced);
    complete = code == success;
    if (!complete) refuse_code("cuptiActivityFlushAll", code);
    // The program may end them before they have returned and been recorded.
    others = calls_under_way.load();
    if (others != 0) write_coverage("cupti:unsettled", others, 0, false, 0);
  }
  const std::uint64_t gave = requested.load(), got = completed.load();
  const std::uint64_t kept = gave > got ? gave - got : 0;
  if (complete && (kept != 0 || (got == 0 && activity_due.load()))) {
    complete = false;
    // Copies since then have taken the mark away (copied_after_cupti).
    const bool at_work = kept != 0 && (others != 0 || !cupti_asked_last.load());
    char cause[112];
    std::snprintf(cause, sizeof cause, "CUPTI took %llu buffers and gave %llu back%s",
                  static_cast<unsigned long long>(gave), static_cast<unsigned long long>(got),
                  at_work ? ", other threads copied" : "");
    refuse(cause, at_work ? "let them end before the program does"
                          : "another tool took the records over (torch.profiler and its like): run "
                            "without it");
  }
  for (std::size_t way = 0; complete && way < ways; ++way)
    write_coverage(names[way], copies[way].load(), bytes[way].load(), true, 0);
  if (cupti_counts.load()) write_coverage("cupti:buffers", got, 0, complete, kept);
  write_coverage("cupti:session", records.load(), 0, complete, dropped.load());
}

void copied_after_cupti() noexcept {
  if (cupti_asked_last.exchange(false)) write_coverage("cupti:unsettled", 0, 0, false, 0);
}

void forget_cupti_after_fork() noexcept {
  // CUDA is of no use in a forked child, and neither is its CUPTI; a program that it starts begins
  // anew.
  cupti_counts.store(false);
  activity_due.store(false);
  cupti_asked_last.store(false);
  calls_under_way.store(0);
  requested.store(0);
  completed.store(0);
  records.store(0);
  dropped.store(0);
  for (std::size_t way = 0; way < ways; ++way) {
    copies[way].store(0);
    bytes[way].store(0);
  }
}

} // namespace hitproof::probes
