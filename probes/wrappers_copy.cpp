#define HP_PART "probes/hooks_copy.def"
#define HP_DIRECT direct_copy
#include "probes/wrap.h"

namespace hitproof::probes {
namespace {

struct Slots {
  Hook hook;
  void* wrapper[version_slots - 1];
};

const Slots slots[] = {
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  {Hook::symbol,                                                                                   \
   {as_pointer(&wrap_##symbol<1>), as_pointer(&wrap_##symbol<2>), as_pointer(&wrap_##symbol<3>)}},
#define HP_LOADER(symbol)
#include "probes/hooks.def"
};

} // namespace

void* versioned_wrapper(Hook hook, std::size_t slot) noexcept {
  if (slot == 0 || slot >= version_slots) return nullptr;
  for (const Slots& s : slots) {
    if (s.hook == hook) return s.wrapper[slot - 1];
  }
  return nullptr;
}

} // namespace hitproof::probes
