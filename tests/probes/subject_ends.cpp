// Programs that end, or are replaced, where nothing may be allocated or waited for, or half:
// results must be as without the probe.
#include "tests/probes/subject.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace subject {
namespace {

// The handler comes in on a thread that has recorded nothing and is at work in malloc().
int ended_in_malloc(int, char**) {
  small_copy();
  std::signal(SIGUSR1, [](int) { _exit(5); });
  std::atomic<bool> begun{false};
  std::thread allocates([&] {
    for (begun = true;;) {
      void* p[50];
      for (int i = 0; i < 50; ++i)
        p[i] = std::malloc(3000 + 100 * static_cast<std::size_t>(i));
      for (void* each : p)
        std::free(each);
    }
  });
  while (!begun)
    sched_yield();
  usleep(20000);
  pthread_kill(allocates.native_handle(), SIGUSR1);
  for (;;)
    pause();
}

// A crash handler of a thread that has recorded nothing, on a stack of 8 KiB with nothing around
// it.
int ended_on_a_small_stack(int, char**) {
  small_copy();
  std::thread([] {
    constexpr std::size_t page = 4096, around = 10 * page, bytes = 2 * page;
    char* const memory =
        static_cast<char*>(mmap(nullptr, 2 * around + bytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (mprotect(memory + around, bytes, PROT_READ | PROT_WRITE) != 0) _exit(91);
    stack_t stack{};
    stack.ss_sp = memory + around;
    stack.ss_size = bytes;
    if (sigaltstack(&stack, nullptr) != 0) _exit(92);
    struct sigaction action {};
    action.sa_handler = [](int) { _exit(6); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    pthread_kill(pthread_self(), SIGUSR1);
  }).join();
  return 93;
}

// Threads that are cancelled at any instruction while their execs fail.
int cancelled_in_exec(int, char**) {
  small_copy();
  for (int i = 0; i < 20; ++i) {
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
          for (;;)
            execl("/nonexistent", "none", static_cast<char*>(nullptr));
        },
        nullptr);
    usleep(1000 + 37 * static_cast<useconds_t>(i));
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) return 91;
  }
  small_copy();
  return 0;
}

// A child with its parent's memory copied, of which no handler of pthread_atfork() heard.
int child_of_clone(int, char**) {
  small_copy();
  alignas(16) static char stack[1 << 16];
  const pid_t child =
      clone([](void*) -> int { std::exit(6); }, stack + sizeof stack, SIGCHLD, nullptr);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 6 ? 0 : 91;
}

int in_the_background(int, char**) {
  small_copy();
  return daemon(1, 1) == 0 ? 0 : 91;
}

sigjmp_buf before_the_call;

// The last call of the program is left by a jump, and nothing comes after it.
int left_at_the_end(int, char**) {
  Memory m;
  std::signal(SIGALRM, [](int) { siglongjmp(before_the_call, 1); });
  if (sigsetjmp(before_the_call, 1) == 0) {
    SUBJECT_OK(cudaLaunchHostFunc(
        m.stream,
        [](void*) {
          await_sleep(getpid()); // the first thread's number too
          syscall(SYS_tgkill, getpid(), getpid(), SIGALRM);
          sleep(3600);
        },
        nullptr));
    cudaStreamSynchronize(m.stream);
  }
  std::exit(7);
}

} // namespace

const Scenario end_scenarios[] = {{"ended_in_malloc", ended_in_malloc},
                                  {"ended_on_a_small_stack", ended_on_a_small_stack},
                                  {"cancelled_in_exec", cancelled_in_exec},
                                  {"child_of_clone", child_of_clone},
                                  {"in_the_background", in_the_background},
                                  {"left_at_the_end", left_at_the_end},
                                  {nullptr, nullptr}};

} // namespace subject
