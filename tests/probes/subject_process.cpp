// Programs that treat their process badly: results must be as without the probe.
#include "tests/probes/subject.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace subject {
namespace {

bool wants(const char* name) { return std::getenv(name) != nullptr; }

// CUDA before main, and after it.
__attribute__((constructor)) void early() {
  if (wants("SUBJECT_EARLY")) small_copy();
}
__attribute__((destructor)) void late() {
  if (wants("SUBJECT_LATE")) small_copy();
}

int idle(int, char**) {
  std::puts("nothing to do with a device");
  return 3;
}

int threads(int, char**) {
  Memory m;
  for (int round = 0; round < 6; ++round) {
    std::vector<std::thread> crowd;
    for (int t = 0; t < 8; ++t) {
      crowd.emplace_back([&m, t] {
        cudaStream_t s = nullptr;
        SUBJECT_OK(cudaStreamCreate(&s));
        for (int i = 0; i < 20; ++i) {
          SUBJECT_OK(cudaMemcpyAsync(m.device + t * 4096, m.pinned + t * 4096, 100,
                                     cudaMemcpyHostToDevice, s));
          void* p = nullptr;
          SUBJECT_OK(cudaMalloc(&p, 256));
          SUBJECT_OK(cudaFree(p));
        }
        SUBJECT_OK(cudaStreamSynchronize(s));
        SUBJECT_OK(cudaStreamDestroy(s));
      });
    }
    for (auto& t : crowd)
      t.join();
  }
  return 0;
}

// As NCCL does at every collective operation.
int short_threads(int, char**) {
  Memory m;
  for (int i = 0; i < 500; ++i) {
    std::thread([&m] {
      SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, 100, cudaMemcpyHostToDevice, m.stream));
    }).join();
  }
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  return 0;
}

int children(int, char** argv) {
  Memory m;
  SUBJECT_OK(cudaMemcpy(m.device, m.pinned, 10, cudaMemcpyHostToDevice));
  int sum = 0;
  for (int kind = 0; kind < 3; ++kind) {
    const pid_t child = fork();
    if (child == 0) {
      if (kind == 0) _exit(1);
      if (kind == 1) std::exit(2);
      execl("/proc/self/exe", argv[0], "idle", static_cast<char*>(nullptr));
      _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    sum += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
  }
  SUBJECT_OK(cudaMemcpy(m.device, m.pinned, 11, cudaMemcpyHostToDevice));
  std::fflush(stdout);
  return sum == 1 + 2 + 3 ? 0 : 92;
}

int replaced(int, char** argv) {
  small_copy();
  execl("/proc/self/exe", argv[0], "once", static_cast<char*>(nullptr));
  return 92;
}

// Another thread is in a call that never returns when the program is replaced.
int replaced_at_work(int, char** argv) {
  Memory m;
  SUBJECT_OK(cudaLaunchHostFunc(
      m.stream, [](void*) { std::this_thread::sleep_for(std::chrono::hours(1)); }, nullptr));
  std::atomic<long> at_work{0};
  std::thread waits([&] {
    at_work = syscall(SYS_gettid);
    cudaStreamSynchronize(m.stream);
  });
  while (at_work == 0)
    std::this_thread::yield();
  await_sleep(at_work);
  execl("/proc/self/exe", argv[0], "idle", static_cast<char*>(nullptr));
  return 93;
}

// What might have been the end was none.
int not_replaced(int, char** argv) {
  small_copy();
  execl("/nonexistent", argv[0], static_cast<char*>(nullptr));
  small_copy();
  small_copy();
  return 0;
}

// Every way to replace a program, in children that share their parent's memory and in such that do
// not; and attempts that fail.
int replaced_in_children(int, char**) {
  small_copy();
  char shell[] = "sh", option[] = "-c", script[] = "exit $SUBJECT_STATUS",
       status[] = "SUBJECT_STATUS=7";
  char* const arguments[] = {shell, option, script, nullptr};
  char* const environment[] = {status, nullptr};
  setenv("SUBJECT_STATUS", "5", 1);
  constexpr int ways = 9;
  constexpr int expected[ways] = {5, 5, 7, 5, 5, 7, 7, 7, 7};
  const auto replace = [&](int way) {
    switch (way) {
    case 0:
      return execl("/bin/sh", shell, option, script, static_cast<char*>(nullptr));
    case 1:
      return execlp("sh", shell, option, script, static_cast<char*>(nullptr));
    case 2:
      return execle("/bin/sh", shell, option, script, static_cast<char*>(nullptr), environment);
    case 3:
      return execv("/bin/sh", arguments);
    case 4:
      return execvp("sh", arguments);
    case 5:
      return execvpe("sh", arguments, environment);
    case 6:
      return execve("/bin/sh", arguments, environment);
    case 7:
      return fexecve(open("/bin/sh", O_RDONLY), arguments, environment);
    default:
      return execveat(AT_FDCWD, "/bin/sh", arguments, environment, 0);
    }
  };
  for (int way = 0; way < ways; ++way) {
    for (const bool shares_memory : {false, true}) {
      const pid_t child = shares_memory ? vfork() : fork();
      if (child == 0) {
        replace(way);
        _exit(99);
      }
      int ended = 0;
      waitpid(child, &ended, 0);
      if (!WIFEXITED(ended) || WEXITSTATUS(ended) != expected[way]) return 100 + way;
    }
  }
  const pid_t child = vfork();
  if (child == 0) {
    execv("/no/such/program", arguments);
    _exit(9);
  }
  int ended = 0;
  waitpid(child, &ended, 0);
  if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 9) return 98;
  errno = 0;
  return execv("/no/such/program", arguments) == -1 && errno == ENOENT ? 0 : 97;
}

int gone_quickly(int, char**) {
  small_copy();
  at_quick_exit(small_copy);
  std::quick_exit(6);
}

int gone(int, char**) {
  small_copy();
  _exit(5);
}

int killed(int, char**) {
  small_copy();
  raise(SIGKILL);
  return 92;
}

int thrown(int, char**) {
  small_copy();
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

// Ways out of a call that are no return: the tool of foreign_hook.cpp takes them.
int left(Memory& m, std::size_t bytes) {
  return cudaMemcpyAsync(m.device, m.pinned, bytes, cudaMemcpyHostToDevice, m.stream);
}
void three_copies(Memory& m) {
  for (std::size_t bytes = 101; bytes < 104; ++bytes) {
    SUBJECT_OK(left(m, bytes));
    says({"cudaMemcpyAsync", 0, h2d, bytes, m.pinned, m.device, m.stream});
  }
}

int left_by_exception(int, char**) {
  Memory m;
  try {
    left(m, 70007);
    return 92;
  } catch (int) {
    three_copies(m);
  }
  return 0;
}

int left_by_jump(int, char**) {
  static Memory m;
  static sigjmp_buf place;
  static sigjmp_buf* const where = &place;
  std::memcpy(m.pinned, &where, sizeof where);
  if (sigsetjmp(place, 1) == 0) left(m, 70008);
  three_copies(m);
  return 0;
}

int left_by_cancellation(int, char**) {
  Memory m;
  std::thread waiting([&] { left(m, 70009); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pthread_cancel(waiting.native_handle());
  waiting.join();
  three_copies(m);
  return 0;
}

int error_number(int, char**) {
  Memory m;
  errno = 123;
  SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, 10, cudaMemcpyHostToDevice, m.stream));
  if (errno != 123) return 92;
  if (cudaMemcpyAsync(nullptr, m.pinned, 10, cudaMemcpyHostToDevice, m.stream) == 0) return 93;
  cudaGetLastError();
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  return errno == 123 ? 0 : 94;
}

// Many hooked calls in a loop, for the cost of one.
int churn(int, char**) {
  Memory m;
  for (int i = 0; i < 40000; ++i)
    cudaStreamQuery(m.stream);
  return 0;
}

} // namespace

const Scenario process_scenarios[] = {{"idle", idle},
                                      {"threads", threads},
                                      {"short_threads", short_threads},
                                      {"children", children},
                                      {"replaced", replaced},
                                      {"replaced_in_children", replaced_in_children},
                                      {"replaced_at_work", replaced_at_work},
                                      {"not_replaced", not_replaced},
                                      {"gone", gone},
                                      {"gone_quickly", gone_quickly},
                                      {"killed", killed},
                                      {"thrown", thrown},
                                      {"error_number", error_number},
                                      {"churn", churn},
                                      {"left_by_exception", left_by_exception},
                                      {"left_by_jump", left_by_jump},
                                      {"left_by_cancellation", left_by_cancellation},
                                      {nullptr, nullptr}};

} // namespace subject
