#include "engine/front/children.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// From here to exec only calls that are safe after fork. Exit status 127 says that exec failed, as
// in a shell.
[[noreturn]] void become(const ChildSpec& spec, char* const* argv, int log_fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127); // the front died before the line above
  setpgid(0, 0);
  if (log_fd >= 0) dup2(log_fd, STDERR_FILENO);
  // Standard output belongs to the front's own answers.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  // The front's blocked and ignored signals would pass through exec.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  for (const int fd : spec.inherited)
    fcntl(fd, F_SETFD, 0);
  execv("/proc/self/exe", argv);
  _exit(127);
}

} // namespace

Children::~Children() {
  kill_all();
  wait_all(10000);
}

void Children::start(const ChildSpec& spec) {
  Fd log;
  if (!spec.log_path.empty()) {
    log = Fd(open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log) fail("cannot write the log of " + spec.role + " at " + spec.log_path);
  }
  std::vector<std::string> words = {"hitproof-engine"};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("cannot start " + spec.role);
  if (pid == 0) become(spec, argv.data(), log.get(), parent);
  Child child;
  child.role = spec.role;
  child.log_path = spec.log_path;
  child.pid = pid;
  child.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!child.pidfd) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    errno = error;
    fail("cannot watch " + spec.role + " (pidfd_open, Linux 5.3 or later)");
  }
  children_.push_back(std::move(child));
}

void Children::reap(Child& child) {
  if (child.ended) return;
  const pid_t got = waitpid(child.pid, &child.status, WNOHANG);
  if (got == child.pid) child.ended = true;
}

bool Children::wait_all(int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (Child& child : children_) {
    while (!child.ended) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left < 0) return false;
      pollfd watched{child.pidfd.get(), POLLIN, 0};
      if (poll(&watched, 1, static_cast<int>(left)) < 0 && errno != EINTR) return false;
      reap(child);
    }
  }
  return true;
}

void Children::kill_all() {
  for (const Child& child : children_)
    if (!child.ended) kill(child.pid, SIGKILL);
}

namespace {

// What a process said last, where it says it into a log of its own; empty where it said nothing.
std::string last_line(const std::string& path) {
  std::ifstream log(path);
  std::string last;
  for (std::string line; std::getline(log, line);)
    if (!line.empty()) last = line;
  constexpr std::size_t most = 600;
  return last.size() > most ? last.substr(0, most) + "..." : last;
}

} // namespace

std::string Children::describe(const Child& child) {
  std::string text = child.role + " (process " + std::to_string(child.pid) + ") ";
  if (WIFSIGNALED(child.status)) {
    const int number = WTERMSIG(child.status);
    text += "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  } else if (WEXITSTATUS(child.status) == 127) {
    text += "could not be started";
  } else {
    text += "ended with status " + std::to_string(WEXITSTATUS(child.status));
  }
  if (child.log_path.empty()) return text + "; its messages are above";
  text += "; its log is " + child.log_path;
  const std::string last = last_line(child.log_path);
  if (!last.empty()) return text + " and ends: " + last;
  // The system or the C++ runtime ends a process so when it cannot even say that memory ran out.
  if (WIFSIGNALED(child.status))
    text += " and is empty: most often no memory was left; end other programs, or raise the limit "
            "(ulimit -v, or the container's)";
  return text;
}

} // namespace hitproof::engine
