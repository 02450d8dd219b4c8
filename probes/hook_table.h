// The table of hooks, made from hooks.def: ids, names, real functions, wrappers, counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#ifdef HP_ONLY
#error "the table needs the whole list"
#endif

namespace hitproof::probes {

enum class Hook : std::uint32_t {
  none = 0,
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  symbol,
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after) symbol,
#define HP_LOADER(symbol) symbol,
#include "probes/hooks.def"
  count
};
inline constexpr std::size_t hook_count = static_cast<std::size_t>(Hook::count);
constexpr std::size_t index_of(Hook hook) { return static_cast<std::size_t>(hook); }

enum class Level : std::uint32_t { runtime = 0, driver = 1, loader = 2 };

// A copy hook has its exported wrapper and three more, each for one version by which programs asked
// cuGetProcAddress for it: the version of a call is then known from the pointer it came through.
inline constexpr std::size_t version_slots = 4;
// Every hook has one more, for programs that looked the call up in the CUDA library itself: where
// other libraries have hooks, such a call goes past them.
inline constexpr unsigned direct_slot = version_slots;

struct HookEntry {
  const char* symbol;
  const char* asked;
  std::uint32_t since;
  Level level;
  bool per_thread;
  void* wrapper[version_slots]; // [0] is the exported one; null where there is no such slot
};
extern const HookEntry hook_table[hook_count];

struct alignas(64) HookState {
  std::atomic<void*> real{nullptr};    // what comes next behind the probe
  std::atomic<void*> library{nullptr}; // the CUDA library's own, where a look-up has shown it
  std::atomic<void*> asked{nullptr};   // another library's hook, as cuGetProcAddress answered it
  std::atomic<void*> handed{nullptr};  // the same, as another library's dlsym answered it
  std::atomic<bool> looked{false};
  std::atomic<bool> foreign{false}; // one of these is another library's hook
  // The object of the newest of them, which calls what comes after it.
  std::atomic<std::uint64_t> tool_begin{0}, tool_end{0};
  std::atomic<std::uint64_t> calls{0}, bytes{0}, dropped{0};
  std::atomic<std::uint32_t> version[version_slots]{};
};
extern HookState hook_state[hook_count];

// The real function, found at first use; null where no mapped library has it.
void* find_real(Hook hook) noexcept;
inline void* real_function(Hook hook) noexcept {
  void* real = hook_state[index_of(hook)].real.load(std::memory_order_acquire);
  return real != nullptr ? real : find_real(hook);
}
// The CUDA library's own, past the hooks of other libraries; null where there is none.
void* library_function(Hook hook) noexcept;
// The same, for a call that is not in the list; `symbol` of libcuda, or of libcudart.
void* find_driver_symbol(const char* symbol) noexcept;
void* find_runtime_symbol(const char* symbol) noexcept;

// By exported name; Hook::none where the list does not have it.
Hook hook_named(const char* symbol) noexcept;
// The hook that cuGetProcAddress answers for (name, version, flags); Hook::none where none.
Hook hook_asked(const char* name, std::uint32_t version, std::uint64_t flags) noexcept;
// The wrapper in one of the slots for versions; null where the hook has no such slot.
void* versioned_wrapper(Hook hook, std::size_t slot) noexcept; // wrappers_copy.cpp
// The wrapper to hand out for a pointer that was asked for with `version`.
void* wrapper_for_version(Hook hook, std::uint32_t version) noexcept;
// The wrapper to hand out for what was looked up in the CUDA library.
void* wrapper_for_library(Hook hook) noexcept;
struct DirectWrapper {
  Hook hook;
  void* wrapper;
};
extern const DirectWrapper direct_copy[], direct_graph[], direct_memory[], direct_order[],
    direct_loader[]; // each ends with Hook::none
// True for any function of the probe itself.
bool is_wrapper(const void* function) noexcept;

} // namespace hitproof::probes
