#include "probes/foreign_hooks.h"

#include "probes/coverage.h"
#include "probes/intercept.h"
#include "probes/libraries.h"
#include "probes/process_state.h"
#include "schema/journal.h"
#include "schema/records.h"

#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace hitproof::probes {
namespace {

constexpr std::size_t most_named = 4;
char named[most_named][256];
std::size_t named_count = 0;
SpinLock naming;

// True where the file was not named before and there is room to remember it.
bool to_be_named(const char* path) noexcept {
  const LockGuard guard(naming);
  for (std::size_t i = 0; i < named_count; ++i) {
    if (std::strncmp(named[i], path, sizeof named[i] - 1) == 0) return false;
  }
  if (named_count == most_named) return false;
  std::strncpy(named[named_count++], path, sizeof named[0] - 1);
  return true;
}

} // namespace

void note_foreign_hook(const char* symbol, const char* path) noexcept {
  count(Counter::foreign_hook);
  if (!recording() || !to_be_named(path)) return;
  const char* slash = std::strrchr(path, '/');
  schema::rec::meta r;
  char text[80];
  std::snprintf(text, sizeof text, "%s: %s", slash == nullptr ? path : slash + 1, symbol);
  schema::set_text(r.name, "foreign_hook");
  schema::set_text(r.value, text);
  schema::journal(r);
  char line[512];
  const int n = std::snprintf(line, sizeof line,
                              "hitproof: %s has a %s of its own in process %d: what it makes of "
                              "copies cannot be observed, so the audit will not pass; record "
                              "without it (LD_PRELOAD, /etc/ld.so.preload)\n",
                              path, symbol, static_cast<int>(getpid()));
  if (n > 0) write_to_stderr(line, static_cast<std::size_t>(n));
}

void remember_tool(HookState& state, const void* function) noexcept {
  const ObjectRange tool = object_of(function);
  state.tool_begin.store(tool.begin, std::memory_order_relaxed);
  state.tool_end.store(tool.end, std::memory_order_release);
}

void Onward::pass(Hook hook, unsigned slot, const void* from) noexcept {
  const HookState& state = hook_state[index_of(hook)];
  const ObjectRange tool{state.tool_begin.load(std::memory_order_relaxed),
                         state.tool_end.load(std::memory_order_acquire)};
  came_back_ = tool.has(from) || is_wrapper(from);
  // A linked call goes to the next one that has the name, whoever makes it, as without the probe.
  if (slot == 0) return;
  void* const asked = state.asked.load(std::memory_order_acquire);
  void* answered = slot == direct_slot ? state.handed.load(std::memory_order_acquire) : asked;
  // A call without slots for versions has one pointer for both ways of looking it up.
  if (answered == nullptr && versioned_wrapper(hook, 1) == nullptr) answered = asked;
  function_ = answered != nullptr && !came_back_ ? answered : library_function(hook);
}

void forget_foreign_hooks_after_fork() noexcept { naming.reset(); }

} // namespace hitproof::probes
