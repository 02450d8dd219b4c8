// Completion for zsh: one function a command, by _arguments.
#include "cli/manual/manual.h"
#include "schema/shell_word.h"

#include <algorithm>

namespace hitproof::cli::manual {
namespace {

using schema::shell_word;

std::string escaped(const std::string& text, const std::string& signs) {
  std::string out;
  for (const char c : text) {
    if (signs.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string function_of(const CommandText& command) {
  std::string name = "_" + command.path;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string action_of(const OptionText& option) {
  const std::string words = joined(option.choices);
  switch (option.takes) {
  case Takes::choice:
    return option.commas ? "_values -s , " + escaped(option.value, ":") + " " + words
                         : "(" + words + ")";
  case Takes::folder:
    return "_files -/";
  case Takes::file:
    return "_files";
  case Takes::program:
    return "_command_names -e";
  case Takes::word:
  case Takes::nothing:
    break;
  }
  return "";
}

// "(-h --help)"{-h,--help}"[words]:VALUE:action"
std::string option_line(const OptionText& option) {
  const bool several = option.many || option.again;
  std::string rest = "[" + escaped(brief(option.words), "[]:\\") + "]";
  if (option.takes != Takes::nothing)
    rest += ":" + escaped(option.value, ":") + ":" + action_of(option);
  const std::string sign = option.takes == Takes::nothing ? "" : "=";
  if (option.names.size() == 1)
    return shell_word((several ? "*" : "") + option.names[0] + sign + rest);
  std::string all, braces;
  for (const std::string& name : option.names) {
    all += (all.empty() ? "" : " ") + name;
    braces += (braces.empty() ? "" : ",") + name + sign;
  }
  return shell_word("(" + all + ")") + "{" + braces + "}" + shell_word(rest);
}

std::string argument_line(const OptionText& argument) {
  const std::string value = ":" + escaped(argument.value, ":") + ":";
  if (argument.takes == Takes::program) return shell_word("*::" + argument.value + ":_normal");
  return shell_word((argument.many       ? "*"
                     : argument.required ? ""
                                         : ":") +
                    value + action_of(argument));
}

std::string function_text(const CommandText& command) {
  const bool inner = !command.commands.empty();
  std::string text = function_of(command) + "() {\n";
  if (inner) text += "  local curcontext=$curcontext state line\n";
  text += inner ? "  _arguments -C" : "  _arguments -S";
  for (const OptionText& option : command.options)
    text += " \\\n    " + option_line(option);
  for (const OptionText& argument : command.arguments)
    text += " \\\n    " + argument_line(argument);
  if (!inner) return text + "\n}\n\n";
  text += " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n  command)\n"
          "    local -a commands=(\n";
  std::string calls;
  for (const CommandText& below : command.commands) {
    text += "      " + shell_word(below.name + ":" + escaped(below.summary, "\\:")) + "\n";
    calls += "    " + below.name + ") " + function_of(below) + " ;;\n";
  }
  return text + "    )\n    _describe -t commands command commands\n    ;;\n  rest)\n" +
         "    curcontext=${curcontext%:*}-$line[1]:\n    case $line[1] in\n" + calls +
         "    esac\n    ;;\n  esac\n}\n\n";
}

} // namespace

std::string zsh_completion(const CommandText& program) {
  std::string text =
      "#compdef hitproof\n# zsh completion for hitproof. Made by: hitproof completion zsh\n\n";
  for (const CommandText* command : all_of(program))
    text += function_text(*command);
  // Loaded by its first use, or read by a start-up file.
  return text + "if [[ $funcstack[1] == _hitproof ]]; then\n  _hitproof \"$@\"\nelse\n"
                "  compdef _hitproof hitproof\nfi\n";
}

} // namespace hitproof::cli::manual
