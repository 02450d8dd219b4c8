// The program `hitproof`: gathers the subcommands, reads the command line, runs one of them.
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/manual/manual.h"
#include "cli/manual/texts.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <new>
#include <unistd.h>
#include <vector>

namespace hitproof::cli {

#define HITPROOF_COMMAND(name) HITPROOF_DECLARE_COMMAND(name)
#include "cli/commands.inc"
#undef HITPROOF_COMMAND

namespace {

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> list;
#define HITPROOF_COMMAND(name) list.push_back(make_##name##_command());
#include "cli/commands.inc"
#undef HITPROOF_COMMAND
  return list;
}

// A stream that was closed leaves its number to the next file that is opened, a recording perhaps,
// and what is printed would go there. What stands in for it takes nothing, so that it still fails.
void hold_places_of_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool color_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return (!no_color || !*no_color) && isatty(STDOUT_FILENO) != 0;
}

std::string names_below(const CLI::App& app) {
  std::string names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + sub->get_name();
  return names;
}

// CLI11 would only say that a word was not expected.
bool names_a_command(int argc, char** argv, const CLI::App& app) {
  if (argc < 2 || argv[1][0] == '-') return true;
  const std::string word = argv[1];
  if (!app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; }).empty())
    return true;
  complain("no command '" + word + "'", "choose one of: " + names_below(app));
  return false;
}

// The deepest command that the words have led to.
const CLI::App& reached(const CLI::App& app) {
  const auto below = app.get_subcommands();
  return below.empty() ? app : reached(*below.front());
}

int wrong_use(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = reached(app);
  const manual::CommandText command = manual::read_command(at);
  const std::string help = command.path + " --help";
  const bool lacks = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> unknown = app.remaining(true);
  // A word that was not understood is more often why something is lacking than the other way round.
  if (lacks && !unknown.empty())
    complain(command.path + " does not know '" + unknown.front() + "'",
             help + " lists what it knows");
  else if (lacks && !command.commands.empty())
    complain(command.path + " needs a command",
             "choose one of: " + names_below(at) + "; " + help + " says what they do");
  else if (lacks)
    complain(error.what(), "the form is: " + manual::usage_of(command));
  else
    complain(error.what(), help + " lists the options and their values");
  return exit_usage;
}

int run_program(int argc, char** argv) {
  CLI::App app{"Proves, or refutes, that a cache hit resumed from the right state."};
  app.name("hitproof");
  app.footer(manual::exit_line());
  app.formatter(manual::make_help_formatter());
  app.set_version_flag("--version", std::string("hitproof ") + HITPROOF_VERSION);
  app.require_subcommand(1);
  bool parse_only = false;
  app.add_flag("--parse-only", parse_only, "Test aid: read the command line and stop")->group("");

  auto commands = all_commands();
  std::vector<CLI::App*> subs;
  for (auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    sub->add_flag("--json", command->common.json, "Print one JSON document instead of text");
    sub->add_flag("--quiet", command->common.quiet, "No progress and no talk on stderr");
    sub->footer(command->examples());
    command->common.color = color_wanted();
    command->add(*sub);
    subs.push_back(sub);
  }

  if (!names_a_command(argc, argv, app)) return exit_usage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are answers (0); every other parse error is wrong use.
    if (error.get_exit_code() != 0) return wrong_use(app, error);
    return app.exit(error);
  }
  for (size_t i = 0; i < commands.size() && !parse_only; ++i) {
    if (subs[i]->parsed()) return commands[i]->run();
  }
  return parse_only ? exit_pass : exit_usage;
}

} // namespace

void complain(const std::string& message, const std::string& remedy) {
  std::fprintf(stderr, "hitproof: %s\n", message.c_str());
  if (!remedy.empty()) std::fprintf(stderr, "  what to do: %s\n", remedy.c_str());
}

} // namespace hitproof::cli

int main(int argc, char** argv) {
  hitproof::cli::hold_places_of_closed_streams();
  hitproof::cli::outlive(SIGXFSZ); // a limit on file sizes is an error to report, not a death
  try {
    const int code = hitproof::cli::run_program(argc, argv);
    // A full disk behind stdout shows only now; an answer that nobody can read is none.
    std::cout.flush();
    if (std::cout) return code;
    hitproof::cli::complain("writing to stdout failed",
                            "make room where it goes, or send it elsewhere");
    return hitproof::cli::exit_usage;
  } catch (const std::bad_alloc&) {
    hitproof::cli::complain("no memory left",
                            "end other programs, or raise the limit (ulimit -v, or "
                            "the container's), and run the same command again");
    return hitproof::cli::exit_usage;
  } catch (const std::exception& error) {
    hitproof::cli::complain(error.what(),
                            "look whether the machine has room, lets you have as many threads and "
                            "files as it takes (ulimit -a), and the files can be read, and run "
                            "the same command again; if it stays, report it with this message");
    return hitproof::cli::exit_usage;
  }
}
