// Makes the exported wrappers of one part of the list: include after defining HP_PART as its file
// and HP_DIRECT as the table of its direct ones. A wrapper is a template over the version slot;
// slot 0 stands behind the exported name, and copies have three more slots whose pointers
// cuGetProcAddress hands out.
#include "probes/intercept.h"
#include "probes/observers.h"

#ifndef HP_PART
#error "wrap.h needs HP_PART"
#endif
#define HP_ONLY HP_PART // only now: the table above is made from the whole list

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define HP_BODY(symbol, is_per_thread, arguments, parameters, before, after)                       \
  using Real = int(*) parameters;                                                                  \
  const Onward onward(Hook::symbol, Slot, __builtin_return_address(0));                            \
  const Real real = onward.as<Real>();                                                             \
  if (real == nullptr) return result_not_found;                                                    \
  if (!observes()) return real arguments;                                                          \
  Call call(                                                                                       \
      Hook::symbol, is_per_thread,                                                                 \
      Slot == 0 || Slot == direct_slot                                                             \
          ? 0                                                                                      \
          : hook_state[index_of(Hook::symbol)].version[Slot].load(std::memory_order_relaxed));     \
  before;                                                                                          \
  call.returned(real arguments);                                                                   \
  after;                                                                                           \
  return call.result;

namespace hitproof::probes {
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  template <unsigned Slot>                                                                         \
  int wrap_##symbol parameters{HP_BODY(symbol, per_thread, arguments, parameters, before,          \
                                       after)} HITPROOF_EXPORT int symbol parameters;
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, none(), after)
#define HP_LOADER(symbol)
#include "probes/hooks.def"

constexpr auto as_pointer = [](auto* function) { return reinterpret_cast<void*>(function); };
const DirectWrapper HP_DIRECT[] = {
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  {Hook::symbol, as_pointer(&wrap_##symbol<direct_slot>)},
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, none(), after)
#define HP_LOADER(symbol)
#include "probes/hooks.def"
    {Hook::none, nullptr}};
} // namespace hitproof::probes

using namespace hitproof::probes;
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  HITPROOF_EXPORT int symbol parameters { return wrap_##symbol<0> arguments; }
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, none(), after)
#define HP_LOADER(symbol)
#include "probes/hooks.def"
