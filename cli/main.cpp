// The program `hitproof`: gathers the subcommands, reads the command line, runs one of them.
#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
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

bool color_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  return (!no_color || !*no_color) && isatty(STDOUT_FILENO) != 0;
}

// CLI11 would only say that a subcommand is required.
bool names_a_command(int argc, char** argv, const std::vector<std::unique_ptr<Command>>& commands) {
  if (argc < 2 || argv[1][0] == '-') return true;
  std::string known;
  for (const auto& command : commands) {
    if (std::string(argv[1]) == command->name()) return true;
    known += (known.empty() ? "" : ", ") + std::string(command->name());
  }
  complain("no command '" + std::string(argv[1]) + "'", "choose one of: " + known);
  return false;
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "Proves, or refutes, that a cache hit resumed from the right state.\n"
      "Exit codes: 0 pass, 1 finding, 2 usage or environment, 3 inconclusive, 4 archive damaged."};
  app.name("hitproof");
  app.set_version_flag("--version", std::string("hitproof ") + HITPROOF_VERSION);
  app.require_subcommand(1);

  auto commands = all_commands();
  std::vector<CLI::App*> subs;
  for (auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    sub->add_flag("--json", command->common.json, "Print one JSON document instead of text");
    sub->add_flag("--quiet", command->common.quiet, "No progress and no talk on stderr");
    sub->footer(std::string("Examples:\n") + command->examples());
    command->common.color = color_wanted();
    command->add(*sub);
    subs.push_back(sub);
  }

  if (!names_a_command(argc, argv, commands)) return exit_usage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are answers (0); every other parse error is wrong use.
    return app.exit(error) == 0 ? exit_pass : exit_usage;
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    if (subs[i]->parsed()) return commands[i]->run();
  }
  return exit_usage;
}

} // namespace

void complain(const std::string& message, const std::string& remedy) {
  std::fprintf(stderr, "hitproof: %s\n", message.c_str());
  if (!remedy.empty()) std::fprintf(stderr, "  what to do: %s\n", remedy.c_str());
}

} // namespace hitproof::cli

int main(int argc, char** argv) {
  try {
    const int code = hitproof::cli::run_program(argc, argv);
    // A full disk behind stdout shows only now; an answer that nobody can read is none.
    std::cout.flush();
    if (std::cout) return code;
    hitproof::cli::complain("writing to stdout failed",
                            "make room where it goes, or send it elsewhere");
    return hitproof::cli::exit_usage;
  } catch (const std::exception& error) {
    hitproof::cli::complain(error.what());
    return hitproof::cli::exit_usage;
  }
}
