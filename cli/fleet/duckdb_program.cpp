#include "cli/fleet/duckdb_program.h"

#include "schema/shell_word.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::cli {
namespace {

using schema::Code;
using schema::Status;

// The module, made to answer as the command line does: a statement a line, results as text.
constexpr const char* python_shell = R"py(
import sys, duckdb
connection = duckdb.connect()
for line in sys.stdin:
    found = connection.execute(line).fetchall()
    if line.startswith("SELECT"):
        for row in found:
            print(row[0], flush=True)
)py";

} // namespace

const char* const duckdb_remedy =
    "pip install duckdb (then HITPROOF_DUCKDB=/path/of/that/python), or get the command line from "
    "duckdb.org or by pip install duckdb-cli (then HITPROOF_DUCKDB=/path/of/duckdb)";

DuckDb::~DuckDb() { end(); }

void DuckDb::end() noexcept {
  if (socket_ >= 0) ::close(socket_); // its input ends, and so does it
  socket_ = -1;
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Status DuckDb::start(const std::string& log) {
  const char* named = std::getenv("HITPROOF_DUCKDB");
  if (named != nullptr && *named != '\0') return try_program(named, log);
  if (try_program("duckdb", log).ok() || try_program("python3", log).ok()) return {};
  return Status(Code::unsupported,
                "Parquet files are written by DuckDB, which is not on this machine (looked for "
                "HITPROOF_DUCKDB, duckdb, and python3 with the module duckdb)");
}

// What a program is, it says by its version: "Python 3.11.2", or "v1.5.5 (Variegata) ...".
Status DuckDb::try_program(const std::string& program, const std::string& log) {
  const std::string ask = schema::shell_word(program) + " --version 2>/dev/null";
  std::array<char, 256> text{};
  if (FILE* pipe = ::popen(ask.c_str(), "r")) {
    if (std::fgets(text.data(), text.size(), pipe) == nullptr) text[0] = '\0';
    ::pclose(pipe);
  }
  const std::string said = text.data();
  const bool python = said.starts_with("Python");
  if (!python && !said.starts_with("v"))
    return Status(Code::unsupported, program + " is neither DuckDB's command line nor a Python");
  Status status = launch(program, python, log);
  std::string version;
  if (status.ok() &&
      (!send_all("SELECT version();\n") || !read_line(version) || !version.starts_with("v")))
    status = Status(Code::unsupported, program + " does not run DuckDB: " + last_words());
  if (status.ok()) version_ = "DuckDB " + version + " (" + program + ")";
  if (!status.ok()) end();
  return status;
}

Status DuckDb::launch(const std::string& program, bool python, const std::string& log) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::from_errno(errno, "make a socket");
  log_ = log;
  buffer_.clear();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    ::dup2(ends[1], 0);
    ::dup2(ends[1], 1);
    if (errors >= 0) ::dup2(errors, 2);
    if (python)
      ::execlp(program.c_str(), program.c_str(), "-c", python_shell, nullptr);
    else // no file of the user's settings, no headers, stop at the first error
      ::execlp(program.c_str(), program.c_str(), "-init", "/dev/null", "-batch", "-bail",
               "-noheader", "-list", ":memory:", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  return pid_ > 0 ? Status() : Status::from_errno(errno, "start " + program);
}

bool DuckDb::send_all(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

bool DuckDb::read_line(std::string& line) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    char bytes[4096];
    const ssize_t n = ::read(socket_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(n));
  }
}

// The end of what it complained about, on one line.
std::string DuckDb::last_words() {
  std::ifstream file(log_);
  std::ostringstream text;
  text << file.rdbuf();
  std::string words = text.str();
  if (words.size() > 600) words = words.substr(words.size() - 600);
  for (char& c : words)
    if (c == '\n') c = ' ';
  return words.empty() ? "it ended without a word" : words;
}

Status DuckDb::run(const std::string& statements) {
  const std::string mark = "ran-" + std::to_string(++marks_);
  const bool sent = send_all(statements + "SELECT '" + mark + "';\n");
  std::string line;
  while (sent && read_line(line)) {
    if (line == mark) return {};
  }
  end();
  return Status(Code::io_error, "DuckDB: " + last_words());
}

} // namespace hitproof::cli
