// Look-ups through CUDA itself: cuGetProcAddress in both forms, which libcudart uses for all it
// calls, and the runtime's entry-point queries. The answer of the real call is replaced by the
// wrapper that fits name, version and stream flag; for its own name cuGetProcAddress answers
// itself, because the runtime goes on with that pointer.
#include "probes/coverage.h"
#include "probes/cuda_abi.h"
#include "probes/hook_table.h"
#include "probes/intercept.h"

#include <cstring>

namespace hitproof::probes {
namespace {

// The form with the symbol status came with 12000; before, the call has four arguments.
constexpr std::uint32_t with_status = 12000;

void* self_for(const char* name, std::uint32_t version, std::uint64_t flags) noexcept {
  if (std::strcmp(name, "cuGetProcAddress") == 0) {
    if (version < with_status) return hook_table[index_of(Hook::cuGetProcAddress)].wrapper[0];
    constexpr std::uint64_t per_thread = 2;
    const Hook hook =
        (flags & per_thread) != 0 && real_function(Hook::cuGetProcAddress_v2_ptsz) != nullptr
            ? Hook::cuGetProcAddress_v2_ptsz
            : Hook::cuGetProcAddress_v2;
    return hook_table[index_of(hook)].wrapper[0];
  }
  const Hook hook = hook_named(name);
  if (hook == Hook::none || hook_table[index_of(hook)].level != Level::loader) return nullptr;
  return hook_table[index_of(hook)].wrapper[0];
}

// Puts the wrapper in place of what the real call answered.
void replace(const char* name, void** function, std::uint32_t version,
             std::uint64_t flags) noexcept {
  if (name == nullptr || function == nullptr || *function == nullptr || is_wrapper(*function))
    return;
  if (stay_out_if_ambiguous() || !recording()) return;
  if (void* self = self_for(name, version, flags)) {
    *function = self;
    return;
  }
  const Hook hook = hook_asked(name, version, flags);
  if (hook == Hook::none) {
    count_unknown_name(name);
    return;
  }
  // What libcuda does not export by name can be reached only this way.
  void* expected = nullptr;
  hook_state[index_of(hook)].real.compare_exchange_strong(expected, *function);
  *function = wrapper_for_version(hook, version);
}

void seen(Hook hook) noexcept {
  hook_state[index_of(hook)].calls.fetch_add(1, std::memory_order_relaxed);
}

int proc_address(Hook self, const char* name, void** function, int version, std::uint64_t flags,
                 int* status) noexcept {
  using Real = int (*)(const char*, void**, int, std::uint64_t, int*);
  const Real real = reinterpret_cast<Real>(real_function(self));
  if (real == nullptr) return result_not_found;
  const int result = real(name, function, version, flags, status);
  seen(self);
  if (result == result_success) {
    replace(name, function, static_cast<std::uint32_t>(version),
            self == Hook::cuGetProcAddress_v2_ptsz ? flags | 2 : flags);
  }
  return result;
}

int entry_point(Hook self, const char* name, void** function, unsigned version, std::uint64_t flags,
                int result) noexcept {
  seen(self);
  if (result == result_success) replace(name, function, version, flags);
  return result;
}

std::uint32_t runtime_version() noexcept {
  using Get = int (*)(int*);
  static std::atomic<std::uint32_t> known{0};
  std::uint32_t version = known.load(std::memory_order_relaxed);
  if (version == 0) {
    // Every runtime that has the entry-point query has this one too.
    const Get get = reinterpret_cast<Get>(find_runtime_symbol("cudaRuntimeGetVersion"));
    int value = 0;
    if (get != nullptr && get(&value) == result_success)
      version = static_cast<std::uint32_t>(value);
    known.store(version, std::memory_order_relaxed);
  }
  return version;
}

} // namespace
} // namespace hitproof::probes

using namespace hitproof::probes;

HITPROOF_EXPORT int cuGetProcAddress(const char* name, void** function, int version,
                                     std::uint64_t flags) {
  using Real = int (*)(const char*, void**, int, std::uint64_t);
  const Real real = reinterpret_cast<Real>(real_function(Hook::cuGetProcAddress));
  if (real == nullptr) return result_not_found;
  const int result = real(name, function, version, flags);
  seen(Hook::cuGetProcAddress);
  if (result == result_success) replace(name, function, static_cast<std::uint32_t>(version), flags);
  return result;
}

HITPROOF_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version,
                                        std::uint64_t flags, int* status) {
  return proc_address(Hook::cuGetProcAddress_v2, name, function, version, flags, status);
}

HITPROOF_EXPORT int cuGetProcAddress_v2_ptsz(const char* name, void** function, int version,
                                             std::uint64_t flags, int* status) {
  return proc_address(Hook::cuGetProcAddress_v2_ptsz, name, function, version, flags, status);
}

#define HP_ENTRY_POINT(symbol, stream_flag)                                                        \
  HITPROOF_EXPORT int symbol(const char* name, void** function, std::uint64_t flags,               \
                             int* status) {                                                        \
    using Real = int (*)(const char*, void**, std::uint64_t, int*);                                \
    const Real real = reinterpret_cast<Real>(real_function(Hook::symbol));                         \
    if (real == nullptr) return result_not_found;                                                  \
    return entry_point(Hook::symbol, name, function, runtime_version(), flags | stream_flag,       \
                       real(name, function, flags, status));                                       \
  }
HP_ENTRY_POINT(cudaGetDriverEntryPoint, 0)
HP_ENTRY_POINT(cudaGetDriverEntryPoint_ptsz, 2)

#define HP_ENTRY_POINT_BY_VERSION(symbol, stream_flag)                                             \
  HITPROOF_EXPORT int symbol(const char* name, void** function, unsigned version,                  \
                             std::uint64_t flags, int* status) {                                   \
    using Real = int (*)(const char*, void**, unsigned, std::uint64_t, int*);                      \
    const Real real = reinterpret_cast<Real>(real_function(Hook::symbol));                         \
    if (real == nullptr) return result_not_found;                                                  \
    return entry_point(Hook::symbol, name, function, version, flags | stream_flag,                 \
                       real(name, function, version, flags, status));                              \
  }
HP_ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion, 0)
HP_ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz, 2)
