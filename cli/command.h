// One subcommand of the program `hitproof`: a name, one line of summary, its options, and what it
// does.
//
// A subcommand lives in one file, cli/cmd_<name>.cpp, as one struct derived from Command, and
// offers itself by a function make_<name>_command() (declared with HITPROOF_DECLARE_COMMAND below
// by the generated list). cli/CMakeLists.txt names the subcommands in the order in which the help
// shows them; one whose file does not exist yet is left out, so each may arrive on its own.
//
// Rules for all of them: results go to stdout, talk and progress to stderr; the last line of a
// textual result is a verdict in plain words, then the next command to type; exit codes are those
// of ExitCode.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace hitproof::cli {

enum ExitCode : int {
  exit_pass = 0,         // what was asked for holds
  exit_finding = 1,      // at least one rule found a violation
  exit_usage = 2,        // wrong use, or the environment does not allow it
  exit_inconclusive = 3, // nothing wrong was seen, but not enough was seen either
  exit_damaged = 4       // the archive is not what was written
};

// Options that every subcommand has, filled in before run() is called.
struct CommonOptions {
  bool json = false;  // one JSON document on stdout instead of text
  bool quiet = false; // no talk and no progress on stderr
  bool color = false; // stdout is a terminal and NO_COLOR is not set
};

struct Command {
  virtual ~Command() = default;

  virtual const char* name() const = 0;
  // One line for the list of subcommands.
  virtual const char* summary() const = 0;
  // Examples, shown at the end of the subcommand's help; lines start with "  hitproof ...".
  virtual const char* examples() const = 0;
  // Adds the command's own options to `app`, its subcommand. --json and --quiet are there already.
  virtual void add(CLI::App& app) = 0;
  // Does the work; the answer is an ExitCode. An exception that leaves it is printed and ends in
  // exit_usage.
  virtual int run() = 0;

  CommonOptions common;
};

// Prints `message` to stderr as "hitproof: message", and below it what to do next: a command to
// type, or what to change. No problem is reported without it, not with --quiet either.
void complain(const std::string& message, const std::string& remedy);

#define HITPROOF_DECLARE_COMMAND(name) std::unique_ptr<Command> make_##name##_command();

} // namespace hitproof::cli
