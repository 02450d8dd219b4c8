// Child processes of the program: started with an environment of their own, their output kept in a
// log, never left behind.
//
// A child gets SIGKILL from the kernel when this process dies, however it dies, so a killed study
// leaves nothing running. All failures are returned, none thrown.
#pragma once

#include "schema/status.h"

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace hitproof::cli {

struct ProcessOptions {
  std::vector<std::string> command; // command[0] is looked up in PATH unless it has a slash
  std::map<std::string, std::string> set_env; // added to or replacing the inherited environment
  std::vector<std::string> unset_env;
  std::string log_path;          // stderr goes here; empty: inherited
  bool capture_stdout = false;   // stdout can be read line by line; otherwise as log or inherited
  bool log_stdout = false;       // stdout goes into the log too
  bool stdout_on_stderr = false; // stdout goes where this process has its stderr
};

class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills (SIGKILL) and reaps what still runs.
  ~Process();

  // Starts the child. Errors: program not found or not executable (named), log file cannot be
  // written.
  schema::Status start(const ProcessOptions& options);

  // Next line of the captured output, without its newline; false when the deadline passed or the
  // output ended. timeout_ms < 0 waits for ever.
  bool read_line(std::string* line, int timeout_ms);

  // True while the child has not ended. Reaps it when it has.
  bool running();

  // Asks the child to end (SIGTERM), then makes it (SIGKILL) after grace_ms. Returns the wait
  // status.
  int stop(int grace_ms);

  // Waits for the end; the wait status as of waitpid.
  int wait();

  void send_signal(int signal_number);
  pid_t pid() const { return pid_; }
  int status() const { return status_; }
  bool ended() const { return pid_ > 0 && reaped_; }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::string buffer_;
};

// "exited with code 3" or "was killed by signal 9 (Killed)".
std::string describe_exit(int wait_status);

// Absolute path of a file that is installed beside this program: relative to the folder of the
// executable.
std::string beside_program(const std::string& relative);

} // namespace hitproof::cli
