#include "cli/manual/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>

namespace hitproof::cli::manual {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return text;
}

std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> pieces;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(between, from), text.size());
    pieces.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return pieces;
}

// CLI11 appends what its checks say: "TEXT:{a,b}", "INT:INT in [1 - 64]".
void read_checks(const std::string& said, OptionText& option) {
  if (said.size() > 2 && said.front() == '{' && said.back() == '}') {
    option.choices = split(said.substr(1, said.size() - 2), ',');
    return;
  }
  const std::size_t open = said.find(" in [");
  const std::size_t dash = said.find(" - ", open);
  if (open == std::string::npos || dash == std::string::npos || said.back() != ']') return;
  const std::size_t first = open + 5;
  option.range =
      said.substr(first, dash - first) + " to " + said.substr(dash + 3, said.size() - dash - 4);
}

Takes takes_of(const std::string& type, const OptionText& option) {
  static const std::map<std::string, Takes> kinds = {
      {"DIR", Takes::folder}, {"FILE", Takes::file}, {"KEY", Takes::file},
      {"PUB", Takes::file},   {"LIST", Takes::file}, {"COMMAND", Takes::program}};
  if (!option.choices.empty()) return Takes::choice;
  const auto kind = kinds.find(type);
  return kind == kinds.end() ? Takes::word : kind->second;
}

OptionText read_option(const CLI::Option& from) {
  OptionText option;
  for (const std::string& name : from.get_snames())
    option.names.push_back("-" + name);
  for (const std::string& name : from.get_lnames())
    option.names.push_back("--" + name);
  option.words = from.get_description();
  option.required = from.get_required();
  option.variable = from.get_envname();
  if (from.get_items_expected_max() == 0) return option;

  const std::string said = from.get_type_name();
  const std::size_t colon = said.find(':');
  const std::string type = said.substr(0, colon);
  if (colon != std::string::npos) read_checks(said.substr(colon + 1), option);
  option.takes = takes_of(type, option);
  option.preset = from.get_default_str();
  const bool several = from.get_expected_max() >= CLI::detail::expected_max_vector_size;
  option.commas = several && from.get_delimiter() != '\0';
  option.again = several && !from.get_allow_extra_args();
  option.many = several && from.get_allow_extra_args();
  if (from.get_positional())
    option.value = from.get_name(true);
  else if (type == "TEXT")
    option.value = upper(from.get_lnames().front());
  else
    option.value = type == "UINT" || type == "INT" ? "N" : type;
  return option;
}

std::string path_of(const CLI::App& app) {
  const CLI::App* above = app.get_parent();
  return above == nullptr ? app.get_name() : path_of(*above) + " " + app.get_name();
}

void read_options(const CLI::App& app, CommandText& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const bool known =
        std::any_of(command.options.begin(), command.options.end(), [&](const OptionText& there) {
          return !option->get_lnames().empty() && !there.names.empty() &&
                 there.names.back() == "--" + option->get_lnames().back();
        });
    if (!known)
      (option->get_positional() ? command.arguments : command.options)
          .push_back(read_option(*option));
  }
}

} // namespace

CommandText read_command(const CLI::App& app) {
  CommandText command;
  command.path = path_of(app);
  command.name = app.get_name();
  command.summary = app.get_description();
  command.footer = app.get_footer();
  read_options(app, command);
  if (app.get_fallthrough() && app.get_parent() != nullptr)
    read_options(*app.get_parent(), command);
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    command.commands.push_back(read_command(*below));
  return command;
}

std::vector<const CommandText*> all_of(const CommandText& top) {
  std::vector<const CommandText*> list = {&top};
  for (const CommandText& below : top.commands) {
    const auto more = all_of(below);
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

std::string head_of(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names)
    head += (head.empty() ? "" : ", ") + name;
  if (option.value.empty()) return head;
  const std::string value = option.value + (option.commas ? ",..."
                                            : option.many ? "..."
                                                          : std::string());
  if (!option.names.empty()) return head + " " + value;
  const std::string shown = (option.takes == Takes::program ? "-- " : "") + value;
  return option.required ? shown : "[" + shown + "]";
}

std::string sentence_of(const OptionText& option) {
  std::vector<std::string> facts;
  if (option.required) facts.emplace_back("required");
  if (!option.choices.empty()) {
    std::string list;
    for (const std::string& choice : option.choices)
      list += (list.empty() ? "" : ", ") + choice;
    facts.push_back((option.commas || option.many ? "any of: " : "one of: ") + list);
  }
  if (!option.range.empty()) facts.push_back(option.range);
  if (option.again) facts.emplace_back("may be given again");
  if (!option.preset.empty()) facts.push_back("default: " + option.preset);
  if (!option.variable.empty()) facts.push_back("environment: " + option.variable);
  std::string sentence = option.words;
  for (std::size_t i = 0; i < facts.size(); ++i)
    sentence += (i == 0 ? " [" : "; ") + facts[i];
  return facts.empty() ? sentence : sentence + "]";
}

std::string usage_of(const CommandText& command) {
  std::string usage = command.path;
  for (const OptionText& option : command.options) {
    if (option.required) usage += " " + head_of(option);
  }
  usage += " [options]";
  for (const OptionText& argument : command.arguments)
    usage += " " + head_of(argument);
  return command.commands.empty() ? usage : usage + " COMMAND";
}

std::string inner_path_of(const CommandText& command) {
  const std::size_t space = command.path.find(' ');
  return space == std::string::npos ? "" : command.path.substr(space + 1);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> examples_of(const CommandText& command) {
  std::vector<std::string> lines;
  for (const std::string& line : split(command.footer, '\n')) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string::npos) lines.push_back(line.substr(first));
  }
  return lines;
}

} // namespace hitproof::cli::manual
