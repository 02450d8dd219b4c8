// DuckDB as a program beside this one: its command line, or a Python that has the module. Nothing
// of it is linked. It gets statements, a line each, and says when it has run them.
#pragma once

#include "schema/status.h"

#include <string>
#include <sys/types.h>

namespace hitproof::cli {

// How to get it, for messages.
extern const char* const duckdb_remedy;

class DuckDb {
 public:
  DuckDb() = default;
  DuckDb(const DuckDb&) = delete;
  DuckDb& operator=(const DuckDb&) = delete;
  ~DuckDb(); // ends it

  // Starts the program that HITPROOF_DUCKDB names, else `duckdb`, else `python3` with the module
  // duckdb; what it complains about goes to `log`. Errors: unsupported where none is there.
  schema::Status start(const std::string& log);

  // Runs statements, one a line, none of which gives rows. The first error ends the program and is
  // the Status (io_error, with DuckDB's words).
  schema::Status run(const std::string& statements);

  // "DuckDB v1.5.5 (/usr/bin/duckdb)".
  const std::string& version() const noexcept { return version_; }

 private:
  schema::Status try_program(const std::string& program, const std::string& log);
  schema::Status launch(const std::string& program, bool python, const std::string& log);
  bool send_all(const std::string& text);
  bool read_line(std::string& line);
  std::string last_words();
  void end() noexcept;

  pid_t pid_ = -1;
  int socket_ = -1;
  int marks_ = 0;
  std::string buffer_, log_, version_;
};

} // namespace hitproof::cli
