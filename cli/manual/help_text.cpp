#include "cli/manual/manual.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace hitproof::cli::manual {
namespace {

constexpr std::size_t width = 100, column = 26;

// "  HEAD      words", the words in a column of their own, on a new line where the head is long.
std::string entry(const std::string& head, const std::string& words) {
  std::string line = "  " + head;
  if (line.size() + 2 > column)
    line += "\n" + std::string(column, ' ');
  else
    line.resize(column, ' ');
  return line + wrapped(words, width, column, column) + "\n";
}

std::string list_of(const char* title, const std::vector<OptionText>& options) {
  std::string text;
  for (const OptionText& option : options)
    text += entry(head_of(option), sentence_of(option));
  return text.empty() ? text : "\n" + std::string(title) + ":\n" + text;
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(read_command(*app));
  }
};

} // namespace

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent,
                    std::size_t first) {
  std::istringstream words(text);
  std::string out;
  std::size_t at = first;
  for (std::string word; words >> word;) {
    const bool begins = out.empty() || out.back() == ' ';
    if (!begins && at + 1 + word.size() > columns) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!begins) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

std::string brief(const std::string& words) {
  return words.substr(0, std::min(words.find("; "), words.find(". ")));
}

std::string help_text(const CommandText& command) {
  std::string text = wrapped(command.summary, width, 0, 0) + "\nUsage: " + usage_of(command) + "\n";
  text += list_of("Arguments", command.arguments) + list_of("Options", command.options);
  if (!command.commands.empty()) text += "\nCommands:\n";
  for (const CommandText& below : command.commands)
    text += entry(below.name, below.summary);
  if (command.footer.empty()) return text;
  // The examples of a command are commands, and those stay on their lines.
  if (command.footer.front() == ' ') {
    text += "\nExamples:\n";
    for (const std::string& line : examples_of(command))
      text += "  " + line + "\n";
    return text;
  }
  return text + "\n" + wrapped(command.footer, width, 0, 0) + "\n";
}

std::shared_ptr<CLI::FormatterBase> make_help_formatter() {
  return std::make_shared<HelpFormatter>();
}

} // namespace hitproof::cli::manual
