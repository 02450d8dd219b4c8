#include "probes/process_state.h"

#include "poison/pattern.h"
#include "probes/coverage.h"
#include "probes/cupti_bytes.h"
#include "probes/hitproof.h"
#include "probes/intercept.h"
#include "probes/libraries.h"
#include "schema/records.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

namespace hitproof::probes {

std::atomic<Activity> activity{Activity::unknown};
thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec")));

namespace {

Settings current;
SpinLock starting;
std::atomic<bool> hooks_written{false}, forks_watched{false}, ambiguous{false};
std::atomic<std::uint64_t> libraries_seen{0};
std::atomic<pid_t> recorded{0}; // the process whose recording it is

std::uint64_t number(const char* name) noexcept {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

bool says(const char* name, const char* value) noexcept {
  const char* text = std::getenv(name);
  return text != nullptr && std::strcmp(text, value) == 0;
}

Settings read_environment(const char* directory) noexcept {
  Settings s;
  if (says("HITPROOF_PROBES", "off")) return s;
  s.mode = HITPROOF_MODE_LEDGER;
  s.recording_tag = poison::recording_tag(directory);
  if (says("HITPROOF_PROBES", "metadata")) return s;
  if (says("HITPROOF_PROBES", "digests")) {
    s.mode |= HITPROOF_MODE_DIGESTS;
    return s;
  }
  s.mode |=
      HITPROOF_MODE_DIGESTS | HITPROOF_MODE_POISON | HITPROOF_MODE_TAILS | HITPROOF_MODE_COMPARE;
  s.delay_ns = number("HITPROOF_SAVE_DELAY_MS") * 1'000'000u;
  if (s.delay_ns != 0) s.mode |= HITPROOF_MODE_DELAY;
  if (says("HITPROOF_TAIL_EFFECT", "effective")) s.flip = 1;
  if (says("HITPROOF_TAIL_EFFECT", "naive")) s.flip = 2;
  // "observe" records the pooled keys without a flip: what the other two are compared with.
  if (s.flip != 0 || says("HITPROOF_TAIL_EFFECT", "observe")) s.mode |= HITPROOF_MODE_TAIL_EFFECT;
  s.force_drop = static_cast<std::uint32_t>(number("HITPROOF_FORCE_DROP"));
  return s;
}

void after_fork_in_child() noexcept {
  starting.reset();
  thread_state = ThreadState{};
  forget_addresses_after_fork();
  forget_counters_after_fork();
  forget_foreign_hooks_after_fork();
  forget_cupti_after_fork();
  forget_graphs_after_fork();
  forget_device_work_after_fork();
  forget_page_kernels_after_fork();
  forget_transfers_after_fork();
  hooks_written.store(false, std::memory_order_relaxed);
  forget_role_after_fork();
  // The child writes its own process record when it has something to record.
  if (activity.load(std::memory_order_relaxed) == Activity::recording) {
    activity.store(Activity::unknown, std::memory_order_release);
  }
}

void meta(const char* name, std::string_view value) noexcept {
  schema::rec::meta r;
  schema::set_text(r.name, name);
  schema::set_text(r.value, value);
  schema::journal(r);
}

void write_environment() noexcept {
  // By allow-list: what changes how the engine or the probe behaves, nothing that names the
  // machine.
  static constexpr const char* allowed[] = {"CUDA_", "HITPROOF_", "VLLM_", "LMCACHE_"};
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const char* equals = std::strchr(*e, '=');
    if (equals == nullptr) continue;
    for (const char* prefix : allowed) {
      if (std::strncmp(*e, prefix, std::strlen(prefix)) != 0) continue;
      char name[32] = "env:";
      const std::size_t length = static_cast<std::size_t>(equals - *e);
      std::memcpy(name + 4, *e, length < sizeof name - 5 ? length : sizeof name - 5);
      meta(name, equals + 1);
    }
  }
}

} // namespace

const Settings& settings() noexcept { return current; }

bool left_by_jump(const void* here) noexcept {
  ThreadState& t = thread_state;
  const bool stands = t.frame > here && t.frame[1] == t.returns_to; // [0]: the caller's frame
  if (stands) return false;
  t.depth = 0;
  if (schema::JournalWriter* writer = schema::JournalWriter::for_this_thread()) writer->lose();
  return true;
}

void start_recording() noexcept {
  // A hooked call made by the start itself must not start it again.
  static thread_local constinit bool inside = false;
  if (inside) return;
  inside = true;
  const LockGuard guard(starting);
  if (activity.load(std::memory_order_acquire) == Activity::unknown) {
    const char* directory = std::getenv("HITPROOF_DIR");
    if (directory != nullptr && directory[0] == '/') current = read_environment(directory);
    if (current.mode == 0 || ambiguous.load()) {
      activity.store(Activity::inert, std::memory_order_release);
    } else {
      schema::ThreadClock::prepare();
      if (!forks_watched.exchange(true)) {
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
      }
      write_process_record(announced_role());
      meta("probe.version", HITPROOF_VERSION);
      write_environment();
      recorded.store(getpid(), std::memory_order_relaxed);
      schema::JournalWriter::prepare_last_words();
      activity.store(Activity::recording, std::memory_order_release);
    }
  }
  inside = false;
}

bool stay_out_if_ambiguous() noexcept {
  if (ambiguous.load(std::memory_order_relaxed)) return true;
  const std::uint64_t changes = library_changes();
  if (libraries_seen.exchange(changes, std::memory_order_relaxed) == changes) return false;
  const CudaLibraries seen = cuda_libraries();
  if (seen.runtimes < 2 && seen.drivers < 2) return false;
  if (ambiguous.exchange(true)) return true;
  const bool was_recording = recording();
  if (was_recording) {
    write_coverage("path:two_runtimes", static_cast<std::uint64_t>(seen.runtimes + seen.drivers), 0,
                   false, 0);
  }
  activity.store(Activity::inert, std::memory_order_release);
  if (was_recording) {
    char line[256];
    const int n =
        std::snprintf(line, sizeof line,
                      "hitproof: %d libcudart and %d libcuda are mapped in process %d: the "
                      "probe cannot tell whose calls are whose and stays out\n",
                      seen.runtimes, seen.drivers, static_cast<int>(getpid()));
    if (n > 0) write_to_stderr(line, static_cast<std::size_t>(n));
  }
  return true;
}

void write_to_stderr(const char* line, std::size_t bytes) noexcept {
  const int before = errno;
  sigset_t pipe, old, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &old);
  if (write(2, line, bytes) < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    constexpr timespec at_once{};
    while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = before;
}

void write_process_record(const Role& role) noexcept {
  schema::rec::process r;
  schema::set_text(r.role, schema::get_text(role.text));
  char path[512];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n > 0) {
    path[n] = '\0';
    const char* slash = std::strrchr(path, '/');
    schema::set_text(r.exe, slash == nullptr ? path : slash + 1);
  }
  r.parent = static_cast<std::uint32_t>(getppid());
  r.mode = current.mode;
  r.rank = role.rank;
  schema::journal(r);
}

void write_hook_records_once() noexcept {
  if (hooks_written.load(std::memory_order_relaxed) || hooks_written.exchange(true)) return;
  for (std::size_t i = 1; i < hook_count; ++i) {
    schema::rec::hook r;
    r.id = static_cast<std::uint32_t>(i);
    r.level = static_cast<std::uint32_t>(hook_table[i].level);
    r.installed = real_function(static_cast<Hook>(i)) != nullptr;
    schema::set_text(r.name, hook_table[i].symbol);
    schema::journal(r);
  }
}

namespace {

// Before the program's own constructors where the loader's order allows it; a hooked call that
// comes earlier starts the recording itself.
__attribute__((constructor)) void at_load() {
  if (!recording()) return;
  start_cupti();
  const CudaLibraries seen = cuda_libraries();
  if (stay_out_if_ambiguous()) return;
  if (seen.runtimes + seen.drivers > 0) write_hook_records_once();
}

// A child of clone() has its parent's counters and no handler of pthread_atfork() behind it.
bool of_another() noexcept {
  return activity.load(std::memory_order_acquire) == Activity::recording &&
         recorded.load(std::memory_order_relaxed) != getpid();
}

__attribute__((destructor)) void at_exit() {
  if (of_another() || !recording()) return;
  if (thread_state.depth != 0) left_by_jump(__builtin_frame_address(0));
  flush_cupti();
  flush_coverage();
}

} // namespace

bool speaks_at_its_end() noexcept {
  return activity.load(std::memory_order_acquire) == Activity::recording && !of_another() &&
         thread_state.depth == 0;
}

void flush_before_leaving(bool cupti) noexcept {
  const int before = errno;
  const schema::LastWords last_words;
  if (cupti) flush_cupti();
  flush_coverage();
  errno = before;
}

void stayed_after_all() noexcept {
  const int before = errno;
  const schema::LastWords last_words;
  write_coverage("exec:failed", 0, 0, false, 0);
  errno = before;
}

} // namespace hitproof::probes
