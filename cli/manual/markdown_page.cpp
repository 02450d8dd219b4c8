// docs/commands.md.
#include "cli/manual/manual.h"
#include "cli/manual/texts.h"

namespace hitproof::cli::manual {
namespace {

// Text between signs that Markdown would take for its own.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string("\\`*_<>|[]").find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string row(const std::string& left, const std::string& right) {
  return "| " + left + " | " + right + " |\n";
}

std::string table_of(const char* title, const std::vector<OptionText>& options) {
  std::string rows;
  for (const OptionText& option : options)
    rows += row(code(head_of(option)), plain(sentence_of(option)));
  return rows.empty() ? rows : "\n" + row(title, "") + "|---|---|\n" + rows;
}

// What GitHub makes of "## hitproof study boundary".
std::string anchor(const std::string& path) {
  std::string name = path;
  for (char& c : name)
    c = c == ' ' ? '-' : c;
  return "#" + name;
}

std::string section(const CommandText& command) {
  std::string text = "\n## " + command.path + "\n\n" + plain(command.summary) + ".\n\n    " +
                     usage_of(command) + "\n";
  text += table_of("argument", command.arguments) + table_of("option", command.options);
  if (!command.commands.empty()) {
    text += "\n" + row("command", "") + "|---|---|\n";
    for (const CommandText& below : command.commands)
      text += row("[" + code(below.name) + "](" + anchor(below.path) + ")", plain(below.summary));
    return text; // the examples stand with the commands below
  }
  if (command.footer.empty()) return text;
  text += "\nExamples:\n\n";
  for (const std::string& line : examples_of(command))
    text += "    " + line + "\n";
  return text;
}

template <typename Text>
std::string rows_of(const std::vector<Text>& list, const char* Text::*left) {
  std::string text = "|---|---|\n";
  for (const Text& item : list)
    text += row(code(item.*left), plain(item.words));
  return text;
}

} // namespace

std::string markdown_page(const CommandText& program) {
  std::string text =
      "# The command line\n\nMade by the program itself: `hitproof help --markdown`, "
      "the words of every `--help`. `make docs` writes it anew,\nand the manual page "
      "`docs/hitproof.1`.\n\n" +
      plain(wrapped(program.summary, 120, 0, 0)) + "\n";
  for (const std::string& paragraph : opening())
    text += "\n" + plain(wrapped(paragraph, 120, 0, 0)) + "\n";
  text += "\n    " + usage_of(program) + "\n\n" + row("command", "") + "|---|---|\n";
  for (const CommandText& below : program.commands)
    text += row("[" + code(below.name) + "](" + anchor(below.path) + ")", plain(below.summary));
  text += table_of("option", program.options);

  text += "\n## Exit codes\n\n| code | | |\n|---|---|---|\n";
  for (const ExitText& exit : exit_texts())
    text +=
        "| " + std::to_string(exit.code) + " | " + exit.name + " | " + plain(exit.words) + " |\n";
  text += "\n" + plain(wrapped(exit_note(), 120, 0, 0)) + "\n";

  for (const CommandText* command : all_of(program)) {
    if (command != &program) text += section(*command);
  }

  text += "\n## Environment\n\n" + row("variable", "") + rows_of(variables(), &VariableText::name) +
          "\nSet by the program for the processes that it starts, or by tests:\n\n" +
          row("variable", "") + rows_of(inner_variables(), &VariableText::name);
  text += "\n## Files\n\nDIR stands for the folder of an archive; `schema/FORMAT.md` has every "
          "column.\n\n" +
          row("file", "") + rows_of(files(), &FileText::path);
  return text;
}

} // namespace hitproof::cli::manual
