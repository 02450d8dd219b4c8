#include "engine/runtime/last_words.h"

#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>
#include <unistd.h>

namespace hitproof::engine {
namespace {

constexpr int exit_environment = 2;

[[noreturn]] void end_with_last_words() {
  const std::exception_ptr error = std::current_exception();
  std::fprintf(stderr, "hitproof-engine: %s\n",
               error ? last_words(error).c_str() : "ended by std::terminate without a cause");
  std::fflush(stderr);
  // Not exit(): destructors would wait for threads that wait for this one.
  _exit(exit_environment);
}

} // namespace

std::string last_words(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "no memory left; a study needs up to 8 GiB: end other programs, choose a smaller "
           "--preset, or raise the limit (ulimit -v, or the container's)";
  } catch (const std::system_error& e) {
    if (e.code().value() == EAGAIN || e.code().value() == ENOMEM) {
      return std::string("cannot start a thread (") + e.what() +
             "): no memory or no process left; raise the limits (ulimit -u, ulimit -v, or the "
             "container's)";
    }
    return e.what();
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "ended by an exception of an unknown kind";
  }
}

void speak_last_words_on_terminate() { std::set_terminate(end_with_last_words); }

} // namespace hitproof::engine
