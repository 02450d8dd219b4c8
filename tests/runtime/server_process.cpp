#include "tests/runtime/server_process.h"

#include "engine/runtime/cache_server.h"

#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {

ServerProcess::ServerProcess(uint64_t limit_bytes, const std::string& break_name,
                             bool exit_with_front) {
  Listener listener = listen_at("");
  address_ = listener.address;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    inherit(listener.fd.get());
    ::execl("/proc/self/exe", "server", "--server", std::to_string(listener.fd.get()).c_str(),
            std::to_string(limit_bytes).c_str(), break_name.c_str(), exit_with_front ? "1" : "0",
            nullptr);
    ::_exit(127);
  }
}

ServerProcess::~ServerProcess() {
  if (ended_) return;
  kill(SIGKILL);
  exit_status();
}

void ServerProcess::kill(int signal) { ::kill(pid_, signal); }

int ServerProcess::exit_status() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int serve_as_cache_server(int argc, char** argv) {
  if (argc != 6 || std::strcmp(argv[1], "--server") != 0) return -1;
  ServerOptions options;
  options.listen_fd = std::atoi(argv[2]);
  options.limit_bytes = std::strtoull(argv[3], nullptr, 10);
  options.break_name = argv[4];
  options.exit_with_front = argv[5][0] == '1';
  return run_cache_server(options);
}

} // namespace hitproof::engine
