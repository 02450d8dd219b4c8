// The probe's dlsym and dlvsym. Programs and libraries that look CUDA calls up by name get the
// wrappers; everything else goes on to the C library by a jump, not by a call: the C library finds
// the caller, on which RTLD_NEXT depends, by its return address, and a wrapper that calls would be
// that caller.
#include "probes/foreign_hooks.h"
#include "probes/hook_table.h"
#include "probes/intercept.h"
#include "probes/libraries.h"

#include <dlfcn.h>

namespace hitproof::probes {

// Where the two exported functions jump to, the next ones behind the probe; filled in by the
// choosers below, which always run first.
extern "C" {
__attribute__((visibility("hidden"))) void* hitproof_next_dlsym = nullptr;
__attribute__((visibility("hidden"))) void* hitproof_next_dlvsym = nullptr;
}

namespace {

// Tells the exported functions to answer null: the probe has the name, but no CUDA library has it.
void* const absent = reinterpret_cast<void*>(~std::uint64_t{0});

using LookUp = void* (*)(void* handle, const char* symbol, const char* version);

// Another tool's dlsym answers with its own function where the C library has CUDA's: the program
// gets that one, through the probe.
void see_answer_of_tool(Hook hook, const char* symbol, const void* answer) noexcept {
  char path[256];
  if (answer == nullptr || is_wrapper(answer) || foreign_file(answer, path) == nullptr) return;
  HookState& state = hook_state[index_of(hook)];
  state.handed.store(const_cast<void*>(answer), std::memory_order_release);
  remember_tool(state, answer);
  if (!state.foreign.exchange(true)) note_foreign_hook(symbol, path);
}

// The pointer to hand out instead of the real one, `absent`, or null to let the call go on to the
// next look-up behind the probe. `look_up` is the C library's, `next` another tool's or null.
void* choose(void* handle, const char* symbol, LookUp look_up, LookUp next,
             const char* version) noexcept {
  // Another preloaded library that wraps CUDA asks for the next one: it must get just that.
  if (handle == RTLD_NEXT || symbol == nullptr) return nullptr;
  const Hook hook = hook_named(symbol);
  if (hook == Hook::none) return nullptr;
  const bool observing = !stay_out_if_ambiguous() && recording();
  void* real = look_up(handle, symbol, version);
  if (real == nullptr) return nullptr;
  // With RTLD_DEFAULT, or a handle of the program, the C library finds our wrapper, because the
  // probe comes early; where no CUDA library has the name, the answer must stay null, whether the
  // probe records or not. The look-up behind the probe leaves the message that dlerror would have
  // had.
  if (is_wrapper(real)) {
    if (real_function(hook) != nullptr) return real;
    return look_up(RTLD_NEXT, symbol, version) == nullptr ? absent : nullptr;
  }
  // A library's own function of that name, or a hook before the probe.
  if (!observing || !in_cuda_library(real)) return nullptr;
  // A library that was closed and opened again lies elsewhere.
  void* known = hook_state[index_of(hook)].library.exchange(real);
  if (known != nullptr && known != real)
    hook_state[index_of(hook)].real.compare_exchange_strong(known, real);
  if (real_function(hook) == nullptr) return nullptr;
  if (next != nullptr) see_answer_of_tool(hook, symbol, next(handle, symbol, version));
  hook_state[index_of(version == nullptr ? Hook::dlsym : Hook::dlvsym)].calls.fetch_add(
      1, std::memory_order_relaxed);
  return wrapper_for_library(hook);
}

} // namespace

extern "C" {

__attribute__((visibility("hidden"))) void* hitproof_choose_dlsym(void* handle,
                                                                  const char* symbol) noexcept {
  if (hitproof_next_dlsym == nullptr) hitproof_next_dlsym = reinterpret_cast<void*>(next_dlsym());
  const LookUp real = [](void* h, const char* s, const char*) { return real_dlsym()(h, s); };
  const LookUp next = [](void* h, const char* s, const char*) { return next_dlsym()(h, s); };
  return choose(handle, symbol, real, next_dlsym() == real_dlsym() ? nullptr : next, nullptr);
}

__attribute__((visibility("hidden"))) void* hitproof_choose_dlvsym(void* handle, const char* symbol,
                                                                   const char* version) noexcept {
  if (hitproof_next_dlvsym == nullptr)
    hitproof_next_dlvsym = reinterpret_cast<void*>(next_dlvsym());
  const LookUp real = [](void* h, const char* s, const char* v) { return real_dlvsym()(h, s, v); };
  const LookUp next = [](void* h, const char* s, const char* v) { return next_dlvsym()(h, s, v); };
  return choose(handle, symbol, real, next_dlvsym() == real_dlvsym() ? nullptr : next, version);
}
}

// Arguments are saved over the choice; with no wrapper chosen the registers and the stack are as
// the caller left them when the C library is entered.
__asm__(R"(
    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call hitproof_choose_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jne 1f
    movq hitproof_next_dlsym(%rip), %rax
    jmp *%rax
1:  cmpq $-1, %rax
    jne 2f
    xorl %eax, %eax
2:  ret
    .cfi_endproc
    .size dlsym, .-dlsym

    .globl dlvsym
    .type dlvsym, @function
dlvsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    call hitproof_choose_dlvsym
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jne 1f
    movq hitproof_next_dlvsym(%rip), %rax
    jmp *%rax
1:  cmpq $-1, %rax
    jne 2f
    xorl %eax, %eax
2:  ret
    .cfi_endproc
    .size dlvsym, .-dlvsym
)");

} // namespace hitproof::probes
