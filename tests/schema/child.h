// Runs a function in a forked child, for tests about death and limits.
#pragma once

#include <functional>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::schema {

// The child ends with the function's value as its exit status, running no destructors.
inline pid_t start_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}

inline int wait_status(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

inline int exit_code(pid_t pid) {
  const int status = wait_status(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace hitproof::schema
