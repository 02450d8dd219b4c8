// A program leaves without its destructors: another one takes its process over, or it ends at once.
// What its counters say is written before, as at any other end; nobody is left to ask afterwards.
#include "probes/intercept.h"
#include "probes/libraries.h"
#include "probes/process_state.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hitproof::probes {
namespace {

// What comes next behind the probe. Looked up when the library is loaded: a child of vfork() only
// reads it, in its parent's memory.
template <class F> class Next {
 public:
  explicit constexpr Next(const char* name) noexcept : name_(name) {}
  F function() noexcept {
    void* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) {
      found = real_dlsym()(RTLD_NEXT, name_);
      found_.store(found, std::memory_order_release);
    }
    return reinterpret_cast<F>(found);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

using Strings = char* const*;
constinit Next<int (*)(const char*, Strings)> next_execv("execv"), next_execvp("execvp");
constinit Next<int (*)(const char*, Strings, Strings)> next_execve("execve"),
    next_execvpe("execvpe");
constinit Next<int (*)(int, Strings, Strings)> next_fexecve("fexecve");
constinit Next<int (*)(int, const char*, Strings, Strings, int)> next_execveat("execveat");
constinit Next<int (*)(int, int)> next_daemon("daemon");
constinit Next<void (*)(int)> next_exit_now("_exit"), next_Exit_now("_Exit");

__attribute__((constructor)) void look_up() {
  next_execve.function();
  next_execv.function();
  next_execvp.function();
  next_execvpe.function();
  next_fexecve.function();
  next_execveat.function();
  next_daemon.function();
  next_exit_now.function();
  next_Exit_now.function();
  // The first of these handlers, so it comes last; quick_exit() does not call what is exported
  // here.
  at_quick_exit([] {
    if (speaks_at_its_end()) flush_before_leaving(true);
  });
}

[[noreturn]] void end(Next<void (*)(int)>& next, int status) noexcept {
  if (speaks_at_its_end()) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    flush_before_leaving(false); // crash handlers end so, with CUPTI in any state
  }
  if (const auto function = next.function()) function(status);
  for (;;)
    syscall(SYS_exit_group, status);
}

// The strings behind `first` up to the null pointer; with it their number.
std::size_t count(va_list list) noexcept {
  va_list more;
  va_copy(more, list);
  std::size_t n = 2; // `first`, and the null pointer
  while (va_arg(more, const char*) != nullptr)
    ++n;
  va_end(more);
  return n;
}

template <class F, class... Arguments> int call(Next<F>& next, Arguments... arguments) noexcept {
  if (const F function = next.function()) return function(arguments...);
  errno = ENOSYS;
  return -1;
}

// Where it returns, the program goes on. A thread that is cancelled meanwhile, in whatever way,
// unwinds from the end of this, through functions without a handler (the file is compiled without
// exceptions).
template <class F, class... Arguments> int go_on(Next<F>& next, Arguments... arguments) noexcept {
  if (!speaks_at_its_end()) return call(next, arguments...);
  int state = 0, type = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  flush_before_leaving(true);
  const int result = call(next, arguments...);
  if (speaks_at_its_end()) stayed_after_all(); // not in daemon()'s child
  pthread_setcancelstate(state, nullptr);
  pthread_setcanceltype(type, nullptr); // last: only from here is the thread's result the right one
  return result;
}

} // namespace
} // namespace hitproof::probes

using namespace hitproof::probes;

HITPROOF_EXPORT int execve(const char* path, char* const* arguments,
                           char* const* environment) noexcept {
  return go_on(next_execve, path, arguments, environment);
}
HITPROOF_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return go_on(next_execv, path, arguments);
}
HITPROOF_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return go_on(next_execvp, file, arguments);
}
HITPROOF_EXPORT int execvpe(const char* file, char* const* arguments,
                            char* const* environment) noexcept {
  return go_on(next_execvpe, file, arguments, environment);
}
HITPROOF_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) noexcept {
  return go_on(next_fexecve, file, arguments, environment);
}
HITPROOF_EXPORT int execveat(int folder, const char* path, char* const* arguments,
                             char* const* environment, int flags) noexcept {
  return go_on(next_execveat, folder, path, arguments, environment, flags);
}

// The parent ends inside it.
HITPROOF_EXPORT int daemon(int stay, int keep) noexcept { return go_on(next_daemon, stay, keep); }

// The forms with a list of arguments, as the same with an array: on the stack, because they may be
// called where nothing can be allocated. `tail` may read what stands behind the list.
#define HITPROOF_LISTED(name, parameter, tail, call)                                               \
  HITPROOF_EXPORT int name(const char* parameter, const char* first, ...) noexcept {               \
    va_list list;                                                                                  \
    va_start(list, first);                                                                         \
    const std::size_t n = count(list);                                                             \
    auto** const arguments = static_cast<char**>(__builtin_alloca(n * sizeof(char*)));             \
    arguments[0] = const_cast<char*>(first);                                                       \
    for (std::size_t i = 1; i < n; ++i)                                                            \
      arguments[i] = va_arg(list, char*);                                                          \
    tail;                                                                                          \
    va_end(list);                                                                                  \
    return call;                                                                                   \
  }
HITPROOF_LISTED(execl, path, , go_on(next_execv, path, arguments))
HITPROOF_LISTED(execlp, file, , go_on(next_execvp, file, arguments))
HITPROOF_LISTED(execle, path, char* const* const environment = va_arg(list, char* const*),
                go_on(next_execve, path, arguments, environment))

HITPROOF_EXPORT [[noreturn]] void _exit(int status) { end(next_exit_now, status); }
HITPROOF_EXPORT [[noreturn]] void _Exit(int status) noexcept { end(next_Exit_now, status); }
