#include "probes/hook_table.h"

#include "probes/foreign_hooks.h"
#include "probes/libraries.h"
#include "probes/process_state.h"

#include <cstring>
#include <dlfcn.h>

// The exported wrappers, for their addresses only.
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  extern "C" void symbol();
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  extern "C" void symbol();
#define HP_LOADER(symbol) extern "C" void hitproof_address_of_##symbol() __asm__(#symbol);
#include "probes/hooks.def"

// First and last address of this library, from the linker.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char _end[] __attribute__((visibility("hidden")));

namespace hitproof::probes {
namespace {
constexpr Level RUNTIME = Level::runtime, DRIVER = Level::driver;
constexpr auto as_pointer = [](void (*function)()) { return reinterpret_cast<void*>(function); };
} // namespace

const HookEntry hook_table[hook_count] = {
    {"", "", 0, Level::loader, false, {}},
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  {#symbol, #asked, since, level, per_thread, {as_pointer(&::symbol)}},
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  {#symbol, #asked, since, level, per_thread, {as_pointer(&::symbol)}},
#define HP_LOADER(symbol)                                                                          \
  {#symbol, #symbol, 0, Level::loader, false, {as_pointer(&::hitproof_address_of_##symbol)}},
#include "probes/hooks.def"
};

HookState hook_state[hook_count];

namespace {

// A library of this name that is mapped already; never loads one.
void* mapped(const char* soname) noexcept { return dlopen(soname, RTLD_NOLOAD | RTLD_LAZY); }

void* next_symbol(const char* symbol) noexcept {
  const DlsymFunction dlsym_ = real_dlsym();
  return dlsym_ == nullptr ? nullptr : dlsym_(RTLD_NEXT, symbol);
}

// By the library itself: opened by dlopen with RTLD_LOCAL it is not in the global scope, and there
// another library may have the name before it.
void* symbol_of_mapped(const char* symbol, const char* const* sonames) noexcept {
  const DlsymFunction dlsym_ = real_dlsym();
  if (dlsym_ == nullptr) return nullptr;
  for (; *sonames != nullptr; ++sonames) {
    void* library = mapped(*sonames);
    if (library == nullptr) continue;
    void* found = dlsym_(library, symbol);
    dlclose(library); // RTLD_NOLOAD counted a reference
    if (found != nullptr) return found;
  }
  return nullptr;
}

const char* const driver_names[] = {"libcuda.so.1", "libcuda.so", nullptr};
const char* const runtime_names[] = {"libcudart.so.13", "libcudart.so.12", nullptr};

bool of_cuda(const char* symbol) noexcept { return symbol[0] == 'c' && symbol[1] == 'u'; }

const char* const* names_for(const char* symbol) noexcept {
  return std::strncmp(symbol, "cuda", 4) == 0 ? runtime_names : driver_names;
}

void* library_symbol(const char* symbol, const char* const* sonames) noexcept {
  void* next = next_symbol(symbol);
  if (next != nullptr && in_cuda_library(next)) return next;
  void* found = symbol_of_mapped(symbol, sonames);
  return found != nullptr ? found : next;
}

// Another library has the call too: behind the probe, where `found` is its function, or before it,
// where the program's linked calls go to.
void look_for_foreign(HookState& state, const char* symbol, const void* found) noexcept {
  char path[256];
  if (foreign_file(found, path) != nullptr) {
    remember_tool(state, found);
    if (!state.foreign.exchange(true)) note_foreign_hook(symbol, path);
    return;
  }
  const void* first = real_dlsym()(RTLD_DEFAULT, symbol);
  if (first != nullptr && !is_wrapper(first) && foreign_file(first, path) != nullptr)
    note_foreign_hook(symbol, path);
}

} // namespace

void* find_real(Hook hook) noexcept {
  HookState& state = hook_state[index_of(hook)];
  const char* const symbol = hook_table[index_of(hook)].symbol;
  void* found = next_symbol(symbol);
  if (found == nullptr) found = state.library.load(std::memory_order_acquire);
  if (found == nullptr) found = symbol_of_mapped(symbol, names_for(symbol));
  state.looked.store(true, std::memory_order_relaxed);
  if (found == nullptr || is_wrapper(found)) return nullptr;
  if (of_cuda(symbol)) look_for_foreign(state, symbol, found);
  state.real.store(found, std::memory_order_release);
  stay_out_if_ambiguous();
  return found;
}

void* library_function(Hook hook) noexcept {
  HookState& state = hook_state[index_of(hook)];
  void* const real = real_function(hook);
  if (!state.foreign.load(std::memory_order_acquire)) return real;
  void* known = state.library.load(std::memory_order_acquire);
  if (known == nullptr) {
    const char* const symbol = hook_table[index_of(hook)].symbol;
    known = symbol_of_mapped(symbol, names_for(symbol));
    state.library.store(known, std::memory_order_release);
  }
  return known;
}

void* find_driver_symbol(const char* symbol) noexcept {
  return library_symbol(symbol, driver_names);
}

void* find_runtime_symbol(const char* symbol) noexcept {
  return library_symbol(symbol, runtime_names);
}

Hook hook_named(const char* symbol) noexcept {
  // Every name in the list begins with cu, but for the loader's own: most look-ups end here.
  if (symbol == nullptr || symbol[0] != 'c' || symbol[1] != 'u') return Hook::none;
  for (std::size_t i = 1; i < hook_count; ++i) {
    if (std::strcmp(hook_table[i].symbol, symbol) == 0) return static_cast<Hook>(i);
  }
  return Hook::none;
}

Hook hook_asked(const char* name, std::uint32_t version, std::uint64_t flags) noexcept {
  constexpr std::uint64_t per_thread_flag = 2;
  const bool per_thread = (flags & per_thread_flag) != 0;
  Hook best = Hook::none;
  std::uint32_t best_since = 0;
  bool best_fits = false;
  for (std::size_t i = 1; i < hook_count; ++i) {
    const HookEntry& entry = hook_table[i];
    if (entry.level != Level::driver || std::strcmp(entry.asked, name) != 0) continue;
    if (version != 0 && entry.since > version) continue;
    if (entry.per_thread && !per_thread) continue;
    // The newest form that the version allows, and of its twins the one for the stream asked for.
    const bool fits = entry.per_thread == per_thread;
    if (best == Hook::none || entry.since > best_since ||
        (entry.since == best_since && fits && !best_fits)) {
      best = static_cast<Hook>(i);
      best_since = entry.since;
      best_fits = fits;
    }
  }
  return best != Hook::none ? best : hook_named(name);
}

void* wrapper_for_version(Hook hook, std::uint32_t version) noexcept {
  HookState& state = hook_state[index_of(hook)];
  for (std::size_t slot = 1; slot < version_slots; ++slot) {
    void* wrapper = versioned_wrapper(hook, slot);
    if (wrapper == nullptr) break;
    std::uint32_t taken = 0;
    // The last slot is shared by all further versions: the newest stands.
    if (slot + 1 == version_slots)
      state.version[slot].store(version, std::memory_order_relaxed);
    else if (!state.version[slot].compare_exchange_strong(taken, version) && taken != version)
      continue;
    return wrapper;
  }
  return wrapper_for_library(hook);
}

void* wrapper_for_library(Hook hook) noexcept {
  if (hook_state[index_of(hook)].foreign.load(std::memory_order_acquire)) {
    for (const DirectWrapper* part :
         {direct_copy, direct_graph, direct_memory, direct_order, direct_loader}) {
      for (; part->hook != Hook::none; ++part) {
        if (part->hook == hook) return part->wrapper;
      }
    }
  }
  return hook_table[index_of(hook)].wrapper[0];
}

bool is_wrapper(const void* function) noexcept {
  return function >= __ehdr_start && function < _end;
}

} // namespace hitproof::probes
