// hitproof help: the words of --help, of one command or of all, also as the documents that are made
// of them.
#include "cli/command.h"
#include "cli/manual/manual.h"
#include "cli/manual/texts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const manual::OptionText& option) {
  ordered_json j = {{"names", option.names}, {"value", option.value}, {"words", option.words}};
  j["required"] = option.required;
  j["choices"] = option.choices;
  if (!option.preset.empty()) j["default"] = option.preset;
  if (!option.variable.empty()) j["environment"] = option.variable;
  return j;
}

ordered_json json_of(const manual::CommandText& command) {
  ordered_json j = {{"command", command.path},
                    {"summary", command.summary},
                    {"usage", manual::usage_of(command)}};
  for (const char* part : {"arguments", "options", "commands"})
    j[part] = ordered_json::array();
  for (const auto& argument : command.arguments)
    j["arguments"].push_back(json_of(argument));
  for (const auto& option : command.options)
    j["options"].push_back(json_of(option));
  for (const auto& below : command.commands)
    j["commands"].push_back(json_of(below));
  if (command.commands.empty()) j["examples"] = manual::examples_of(command);
  return j;
}

struct HelpCommand : Command {
  const CLI::App* program = nullptr;
  std::vector<std::string> path;
  bool markdown = false, man = false;

  const char* name() const override { return "help"; }
  const char* summary() const override {
    return "Show what a command does, or write the manual of all";
  }
  const char* examples() const override {
    return "  hitproof help export\n"
           "  hitproof help study boundary\n"
           "  hitproof help --man > hitproof.1\n";
  }
  void add(CLI::App& app) override {
    program = app.get_parent();
    std::vector<std::string> names;
    const manual::CommandText all = manual::read_command(*program);
    for (const manual::CommandText* command : manual::all_of(all)) {
      if (command->path != program->get_name()) names.push_back(command->name);
    }
    app.add_option("COMMAND", path, "The command; none: the program")
        ->check(CLI::IsMember(names))
        ->type_name("NAME");
    auto* page = app.add_flag("--markdown", markdown, "All commands as a page in Markdown");
    app.add_flag("--man", man, "All commands as a manual page (roff)")->excludes(page);
  }

  int run() override {
    const manual::CommandText all = manual::read_command(*program);
    if (markdown || man) {
      const std::string page =
          man ? manual::man_page(all, HITPROOF_VERSION) : manual::markdown_page(all);
      if (common.json)
        std::cout << ordered_json{{"format", man ? "man" : "markdown"}, {"page", page}}.dump(2)
                  << "\n";
      else
        std::cout << page;
      return exit_pass;
    }
    const manual::CommandText* found = &all;
    for (const std::string& word : path) {
      const auto& below = found->commands;
      const auto at = std::find_if(below.begin(), below.end(),
                                   [&](const auto& command) { return command.name == word; });
      if (at == below.end()) {
        complain("no command '" + word + "' of " + found->path,
                 found->path + " --help lists what there is");
        return exit_usage;
      }
      found = &*at;
    }
    if (common.json)
      std::cout << json_of(*found).dump(2) << "\n";
    else
      std::cout << manual::help_text(*found);
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_help_command() { return std::make_unique<HelpCommand>(); }

} // namespace hitproof::cli
