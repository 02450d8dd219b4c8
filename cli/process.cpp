#include "cli/process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace hitproof::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The environment is built before fork: between fork and exec only async-signal-safe calls are
// allowed, because the recorder's thread may hold the allocator's lock.
std::vector<std::string> build_environment(const ProcessOptions& options) {
  std::vector<std::string> environment;
  for (char** e = environ; *e; ++e) {
    std::string item = *e;
    std::string name = item.substr(0, item.find('='));
    bool dropped = options.set_env.count(name) > 0;
    for (const auto& unset : options.unset_env)
      dropped = dropped || unset == name;
    if (!dropped) environment.push_back(std::move(item));
  }
  for (const auto& [name, value] : options.set_env)
    environment.push_back(name + "=" + value);
  return environment;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::string list = path ? path : "/usr/bin:/bin";
  for (size_t at = 0; at <= list.size();) {
    size_t end = list.find(':', at);
    if (end == std::string::npos) end = list.size();
    std::string candidate = list.substr(at, end - at) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return "";
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& s : strings)
    result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

} // namespace

Process::~Process() {
  if (pid_ > 0 && !reaped_) stop(0);
  if (out_ >= 0) close(out_);
}

schema::Status Process::start(const ProcessOptions& options) {
  if (options.command.empty())
    return schema::Status(schema::Code::invalid_argument, "no command to run");
  std::string program = find_program(options.command[0]);
  if (program.empty())
    return schema::Status(schema::Code::not_found,
                          "cannot run " + options.command[0] + ": not found or not executable");
  int log = -1;
  if (!options.log_path.empty()) {
    log = open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return schema::Status::from_errno(errno, "write " + options.log_path);
  }
  int out[2] = {-1, -1};
  if (options.capture_stdout && pipe2(out, O_CLOEXEC) != 0) {
    if (log >= 0) close(log);
    return schema::Status::from_errno(errno, "make a pipe for " + options.command[0]);
  }
  auto arguments = options.command;
  auto environment = build_environment(options);
  auto argv = pointers(arguments);
  auto envp = pointers(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127); // the parent died before the line above
    if (log >= 0) dup2(log, STDERR_FILENO);
    if (options.capture_stdout)
      dup2(out[1], STDOUT_FILENO);
    else if (log >= 0 && options.log_stdout)
      dup2(log, STDOUT_FILENO);
    else if (options.stdout_on_stderr)
      dup2(STDERR_FILENO, STDOUT_FILENO);
    execve(program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  if (log >= 0) close(log);
  if (out[1] >= 0) close(out[1]);
  out_ = out[0];
  reaped_ = false;
  if (pid_ < 0) return schema::Status::from_errno(errno, "start " + options.command[0]);
  return schema::Status();
}

bool Process::read_line(std::string* line, int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      *line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    if (out_ < 0) return false;
    int left = -1;
    if (timeout_ms >= 0) {
      left = static_cast<int>(
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count());
      if (left <= 0) return false;
    }
    pollfd poll_out{out_, POLLIN, 0};
    int ready = poll(&poll_out, 1, left);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char chunk[4096];
    ssize_t got = read(out_, chunk, sizeof chunk);
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

bool Process::running() {
  if (pid_ <= 0 || reaped_) return false;
  int status = 0;
  pid_t got = waitpid(pid_, &status, WNOHANG);
  if (got == pid_) {
    status_ = status;
    reaped_ = true;
  }
  return !reaped_;
}

int Process::wait() {
  while (pid_ > 0 && !reaped_) {
    int status = 0;
    pid_t got = waitpid(pid_, &status, 0);
    if (got == pid_) {
      status_ = status;
      reaped_ = true;
    } else if (got < 0 && errno != EINTR) {
      reaped_ = true;
    }
  }
  return status_;
}

int Process::stop(int grace_ms) {
  if (!running()) return status_;
  if (grace_ms > 0) {
    kill(pid_, SIGTERM);
    const auto deadline = Clock::now() + std::chrono::milliseconds(grace_ms);
    while (running() && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (running()) kill(pid_, SIGKILL);
  return wait();
}

void Process::send_signal(int signal_number) {
  if (running()) kill(pid_, signal_number);
}

std::string describe_exit(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    int number = WTERMSIG(wait_status);
    return "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
}

std::string beside_program(const std::string& relative) {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / relative).lexically_normal().string();
}

} // namespace hitproof::cli
