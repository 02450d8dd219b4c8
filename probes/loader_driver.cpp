// Look-ups through CUDA itself: cuGetProcAddress in both forms, which libcudart uses for all it
// calls, and the runtime's entry-point queries. The answer of the real call is replaced by the
// wrapper that fits name, version and stream flag; for its own name cuGetProcAddress answers
// itself, because the runtime goes on with that pointer.
#include "probes/coverage.h"
#include "probes/cuda_abi.h"
#include "probes/foreign_hooks.h"
#include "probes/hook_table.h"
#include "probes/intercept.h"
#include "probes/libraries.h"

#include <cstring>

namespace hitproof::probes {
namespace {

// The form with the symbol status came with 12000; before, the call has four arguments.
constexpr std::uint32_t with_status = 12000;

Hook self_for(const char* name, std::uint32_t version, std::uint64_t flags) noexcept {
  if (std::strcmp(name, "cuGetProcAddress") == 0) {
    if (version < with_status) return Hook::cuGetProcAddress;
    constexpr std::uint64_t per_thread = 2;
    return (flags & per_thread) != 0 && real_function(Hook::cuGetProcAddress_v2_ptsz) != nullptr
               ? Hook::cuGetProcAddress_v2_ptsz
               : Hook::cuGetProcAddress_v2;
  }
  const Hook hook = hook_named(name);
  return hook_table[index_of(hook)].level == Level::loader ? hook : Hook::none;
}

// Puts the wrapper in place of what the real call answered. Not for another library's hook that
// came back: it asks for what its own function goes on to.
void replace(const char* name, void** function, std::uint32_t version,
             std::uint64_t flags) noexcept {
  if (name == nullptr || function == nullptr || *function == nullptr || is_wrapper(*function))
    return;
  if (stay_out_if_ambiguous() || !recording()) return;
  const Hook self = self_for(name, version, flags);
  if (self != Hook::none) {
    *function = wrapper_for_library(self);
    return;
  }
  const Hook hook = hook_asked(name, version, flags);
  if (hook == Hook::none) {
    count_unknown_name(name);
    return;
  }
  // What libcuda does not export by name can be reached only this way.
  HookState& state = hook_state[index_of(hook)];
  char path[256];
  if (foreign_file(*function, path) != nullptr) {
    remember_tool(state, *function);
    state.asked.store(*function, std::memory_order_release);
    if (!state.foreign.exchange(true)) note_foreign_hook(name, path);
  } else {
    void* expected = nullptr;
    state.real.compare_exchange_strong(expected, *function);
    // A tool that took its hook back, and its library with it.
    void* gone = state.asked.load(std::memory_order_acquire);
    if (gone != nullptr && object_of(gone).end == 0)
      state.asked.compare_exchange_strong(gone, nullptr);
  }
  *function = wrapper_for_version(hook, version);
}

void seen(Hook hook) noexcept {
  hook_state[index_of(hook)].calls.fetch_add(1, std::memory_order_relaxed);
}

int proc_address(Hook self, unsigned slot, const void* from, const char* name, void** function,
                 int version, std::uint64_t flags, int* status) {
  using Real = int (*)(const char*, void**, int, std::uint64_t, int*);
  const Onward onward(self, slot, from);
  const Real real = onward.as<Real>();
  if (real == nullptr) return result_not_found;
  const int result = real(name, function, version, flags, status);
  if (onward.came_back()) return result;
  seen(self);
  if (result == result_success) {
    replace(name, function, static_cast<std::uint32_t>(version),
            self == Hook::cuGetProcAddress_v2_ptsz ? flags | 2 : flags);
  }
  return result;
}

int entry_point(const Onward& onward, Hook self, const char* name, void** function,
                unsigned version, std::uint64_t flags, int result) noexcept {
  if (onward.came_back()) return result;
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

template <unsigned Slot>
int get_proc_address(const char* name, void** function, int version, std::uint64_t flags) {
  using Real = int (*)(const char*, void**, int, std::uint64_t);
  const Onward onward(Hook::cuGetProcAddress, Slot, __builtin_return_address(0));
  const Real real = onward.as<Real>();
  if (real == nullptr) return result_not_found;
  const int result = real(name, function, version, flags);
  if (onward.came_back()) return result;
  seen(Hook::cuGetProcAddress);
  if (result == result_success) replace(name, function, static_cast<std::uint32_t>(version), flags);
  return result;
}

template <unsigned Slot, Hook Self>
int get_proc_address_2(const char* name, void** function, int version, std::uint64_t flags,
                       int* status) {
  return proc_address(Self, Slot, __builtin_return_address(0), name, function, version, flags,
                      status);
}

// `stream_flag`: what the call's own form adds to the flags.
template <unsigned Slot, Hook Self, std::uint64_t stream_flag>
int driver_entry_point(const char* name, void** function, std::uint64_t flags, int* status) {
  using Real = int (*)(const char*, void**, std::uint64_t, int*);
  const Onward onward(Self, Slot, __builtin_return_address(0));
  const Real real = onward.as<Real>();
  if (real == nullptr) return result_not_found;
  return entry_point(onward, Self, name, function, runtime_version(), flags | stream_flag,
                     real(name, function, flags, status));
}

template <unsigned Slot, Hook Self, std::uint64_t stream_flag>
int driver_entry_point_by_version(const char* name, void** function, unsigned version,
                                  std::uint64_t flags, int* status) {
  using Real = int (*)(const char*, void**, unsigned, std::uint64_t, int*);
  const Onward onward(Self, Slot, __builtin_return_address(0));
  const Real real = onward.as<Real>();
  if (real == nullptr) return result_not_found;
  return entry_point(onward, Self, name, function, version, flags | stream_flag,
                     real(name, function, version, flags, status));
}

constexpr auto as_pointer = [](auto* function) { return reinterpret_cast<void*>(function); };

} // namespace

const DirectWrapper direct_loader[] = {
    {Hook::cuGetProcAddress, as_pointer(&get_proc_address<direct_slot>)},
#define HP_DIRECT(symbol, ...)                                                                     \
  { Hook::symbol, as_pointer(&__VA_ARGS__) }
    HP_DIRECT(cuGetProcAddress_v2, get_proc_address_2<direct_slot, Hook::cuGetProcAddress_v2>),
    HP_DIRECT(cuGetProcAddress_v2_ptsz,
              get_proc_address_2<direct_slot, Hook::cuGetProcAddress_v2_ptsz>),
    HP_DIRECT(cudaGetDriverEntryPoint,
              driver_entry_point<direct_slot, Hook::cudaGetDriverEntryPoint, 0>),
    HP_DIRECT(cudaGetDriverEntryPoint_ptsz,
              driver_entry_point<direct_slot, Hook::cudaGetDriverEntryPoint_ptsz, 2>),
    HP_DIRECT(
        cudaGetDriverEntryPointByVersion,
        driver_entry_point_by_version<direct_slot, Hook::cudaGetDriverEntryPointByVersion, 0>),
    HP_DIRECT(
        cudaGetDriverEntryPointByVersion_ptsz,
        driver_entry_point_by_version<direct_slot, Hook::cudaGetDriverEntryPointByVersion_ptsz, 2>),
    {Hook::none, nullptr}};

} // namespace hitproof::probes

using namespace hitproof::probes;

HITPROOF_EXPORT int cuGetProcAddress(const char* name, void** function, int version,
                                     std::uint64_t flags) {
  return get_proc_address<0>(name, function, version, flags);
}

#define HP_PROC_ADDRESS(symbol)                                                                    \
  HITPROOF_EXPORT int symbol(const char* name, void** function, int version, std::uint64_t flags,  \
                             int* status) {                                                        \
    return get_proc_address_2<0, Hook::symbol>(name, function, version, flags, status);            \
  }
HP_PROC_ADDRESS(cuGetProcAddress_v2)
HP_PROC_ADDRESS(cuGetProcAddress_v2_ptsz)

#define HP_ENTRY_POINT(symbol, stream_flag)                                                        \
  HITPROOF_EXPORT int symbol(const char* name, void** function, std::uint64_t flags,               \
                             int* status) {                                                        \
    return driver_entry_point<0, Hook::symbol, stream_flag>(name, function, flags, status);        \
  }
HP_ENTRY_POINT(cudaGetDriverEntryPoint, 0)
HP_ENTRY_POINT(cudaGetDriverEntryPoint_ptsz, 2)

#define HP_ENTRY_POINT_BY_VERSION(symbol, stream_flag)                                             \
  HITPROOF_EXPORT int symbol(const char* name, void** function, unsigned version,                  \
                             std::uint64_t flags, int* status) {                                   \
    return driver_entry_point_by_version<0, Hook::symbol, stream_flag>(name, function, version,    \
                                                                       flags, status);             \
  }
HP_ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion, 0)
HP_ENTRY_POINT_BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz, 2)
