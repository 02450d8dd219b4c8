// Completion for fish.
#include "cli/manual/manual.h"

namespace hitproof::cli::manual {
namespace {

// fish has rules of its own, in which \ works inside of single quotes too.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// -x: a value and no file; -r: a value, and files are offered.
std::string value_of(const OptionText& option) {
  switch (option.takes) {
  case Takes::choice:
    return option.commas ? " -x -a " + quoted("(__fish_append , " + joined(option.choices) + ")")
                         : " -x -a " + quoted(joined(option.choices));
  case Takes::folder:
    return " -x -a '(__fish_complete_directories)'";
  case Takes::file:
    return " -r -F";
  case Takes::program:
    return " -x -a '(__hitproof_program)'";
  case Takes::word:
    return " -x";
  case Takes::nothing:
    break;
  }
  return "";
}

std::string line_of(const std::string& condition, const std::string& rest) {
  return "complete -c hitproof -n " + quoted(condition) + rest + "\n";
}

std::string text_of(const CommandText& command) {
  const std::string path = inner_path_of(command);
  const std::string condition = "__hitproof_at" + (path.empty() ? "" : " " + path);
  std::string text;
  for (const OptionText& option : command.options) {
    std::string names;
    for (const std::string& name : option.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += line_of(condition, names + value_of(option) + " -d " + quoted(brief(option.words)));
  }
  for (const CommandText& below : command.commands)
    text += line_of(condition, " -a " + below.name + " -d " + quoted(below.summary));
  if (!command.arguments.empty()) {
    const OptionText& argument = command.arguments.front();
    const std::string value = value_of(argument);
    if (argument.takes == Takes::file)
      text += line_of(condition, " -F");
    else if (const std::size_t at = value.find(" -a "); at != std::string::npos)
      text += line_of(condition, value.substr(at) + " -d " + quoted(argument.value));
  }
  return text;
}

// True where the words before the cursor, options left out, begin with this path and do not lead
// into a command below it.
std::string helper(const CommandText& program) {
  std::string paths;
  for (const CommandText* command : all_of(program)) {
    if (command != &program && !command->commands.empty()) {
      for (const CommandText& below : command->commands)
        paths += " '" + inner_path_of(below) + "'";
    }
  }
  std::string names;
  for (const CommandText& below : program.commands)
    names += " " + below.name;
  return "function __hitproof_at\n"
         "    set -l words (string match -v -- '-*' (commandline -opc)[2..-1])\n"
         "    set -l path\n"
         "    if contains -- \"$words[1]\"" +
         names +
         "\n        set path $words[1]\n"
         "        if contains -- \"$words[1..2]\"" +
         paths +
         "\n            set path $words[1..2]\n        end\n    end\n"
         "    test \"$path\" = \"$argv\"\nend\n\n"
         // What follows -- is completed as a line of its own.
         "function __hitproof_program\n"
         "    set -l words (commandline -opc)\n"
         "    set -l at (contains -i -- -- $words); or return\n"
         "    set -e words[1..$at]\n"
         "    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))\n"
         "end\n\n";
}

} // namespace

std::string fish_completion(const CommandText& program) {
  std::string text = "# fish completion for hitproof. Made by: hitproof completion fish\n\n" +
                     helper(program) + "complete -c hitproof -f\n";
  for (const CommandText* command : all_of(program))
    text += text_of(*command);
  return text;
}

} // namespace hitproof::cli::manual
