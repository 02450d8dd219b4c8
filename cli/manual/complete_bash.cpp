// Completion for bash: plain bash 4, without the package bash-completion.
#include "cli/manual/manual.h"

namespace hitproof::cli::manual {
namespace {

std::string action_of(const OptionText& option) {
  switch (option.takes) {
  case Takes::choice:
    return (option.commas ? "_hitproof_list '" : "_hitproof_words '") + joined(option.choices) +
           "'";
  case Takes::folder:
    return "_hitproof_paths -d";
  case Takes::file:
    return "_hitproof_paths -f";
  case Takes::program:
    return "_hitproof_paths -c";
  case Takes::word:
  case Takes::nothing:
    break;
  }
  return ":";
}

std::string values_of(const CommandText& command, const std::string& path) {
  std::string text;
  for (const OptionText& option : command.options) {
    if (option.takes == Takes::nothing) continue;
    std::string labels;
    for (const std::string& name : option.names)
      labels += (labels.empty() ? "'" : " | '") + path + ":" + name + "'";
    text += "    " + labels + ") " + action_of(option) + "; return ;;\n";
  }
  return text;
}

std::string options_of(const CommandText& command, const std::string& path) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return "      '" + path + "') _hitproof_words '" + joined(names) + "' ;;\n";
}

std::string arguments_of(const CommandText& command, const std::string& path) {
  std::string action;
  if (!command.commands.empty()) {
    std::vector<std::string> names;
    for (const CommandText& below : command.commands)
      names.push_back(below.name);
    action = "_hitproof_words '" + joined(names) + "'";
  } else if (!command.arguments.empty()) {
    action = action_of(command.arguments.front());
  }
  return action.empty() || action == ":" ? "" : "    '" + path + "') " + action + " ;;\n";
}

const char* const helpers = R"bash(
_hitproof_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

# The last of several values with commas between.
_hitproof_list() {
  local before=
  [[ $cur == *,* ]] && before=${cur%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
  compopt -o nospace 2>/dev/null
}

_hitproof_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

_hitproof() {
  local cur prev command word i
  COMPREPLY=()
  command=
  cur=${COMP_WORDS[COMP_CWORD]}
  prev=${COMP_WORDS[COMP_CWORD - 1]}
  # --name=value comes as three words.
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      # What follows is a program with words of its own.
      if ((COMP_CWORD == i + 1)); then _hitproof_paths -c; else _hitproof_paths -f; fi
      return
    fi
)bash";

} // namespace

std::string bash_completion(const CommandText& program) {
  std::string labels, values, options, arguments;
  for (const CommandText* command : all_of(program)) {
    const std::string path = inner_path_of(*command);
    values += values_of(*command, path);
    options += options_of(*command, path);
    arguments += arguments_of(*command, path);
    for (const CommandText& below : command->commands)
      labels += (labels.empty() ? "'" : " | '") + path + " " + below.name + "'";
  }
  return std::string("# bash completion for hitproof. Made by: hitproof completion bash\n") +
         helpers + "    case \"$command $word\" in\n    " + labels +
         ") command=${command:+$command }$word ;;\n    esac\n  done\n" +
         "  case \"$command:$prev\" in\n" + values + "  esac\n  if [[ $cur == -* ]]; then\n" +
         "    case $command in\n" + options + "    esac\n    return\n  fi\n" +
         "  case $command in\n" + arguments + "  esac\n}\n\ncomplete -F _hitproof hitproof\n";
}

} // namespace hitproof::cli::manual
