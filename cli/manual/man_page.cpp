// docs/hitproof.1, with the macros of man(7).
#include "cli/manual/manual.h"
#include "cli/manual/texts.h"

#include <sstream>

namespace hitproof::cli::manual {
namespace {

// What roff would take for its own, and hyphens that shall stay hyphens when they are copied.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '"')
      out += "\\(dq";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '`')
      out += "\\(ga";
    else
      out += c;
  }
  return out;
}

// Text that is filled; no line may begin with what roff takes for a request.
std::string filled(const std::string& text) {
  std::istringstream lines(wrapped(roff(text), 78, 0, 0));
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += (line.front() == '.' ? "\\&" : "") + line + "\n";
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fP"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fP"; }

std::string heading(const std::string& title) { return ".SH " + title + "\n"; }

// "\fB\-\-format\fP \fIFORMAT\fP"
std::string head(const OptionText& option) {
  if (option.names.empty()) return italic(head_of(option));
  std::string out;
  for (const std::string& name : option.names)
    out += (out.empty() ? "" : ", ") + bold(name);
  if (option.value.empty()) return out;
  const std::string names_alone = head_of(option);
  return out + " " + italic(names_alone.substr(names_alone.rfind(' ') + 1));
}

std::string tagged(const std::string& tag, const std::string& words) {
  return ".TP\n" + tag + "\n" + filled(words);
}

// A command in pieces between which a shell lets a line be broken.
std::vector<std::string> pieces_of(const std::string& command) {
  std::vector<std::string> pieces(1);
  char quote = '\0';
  for (const char c : command) {
    if (c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    if (c == ' ' && quote == '\0')
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  return pieces;
}

// Commands, each on a line of its own; a long one goes on after a backslash, as a shell takes it.
std::string displayed(const std::vector<std::string>& commands) {
  std::string out = ".PP\n.nf\n.RS 4\n";
  for (const std::string& command : commands) {
    std::string line;
    for (const std::string& piece : pieces_of(command)) {
      if (!line.empty() && line.size() + piece.size() > 64) {
        out += line + " \\e\n";
        line = "   ";
      }
      line += (line.empty() ? "" : " ") + roff(piece);
    }
    out += line + "\n";
  }
  return out + ".RE\n.fi\n";
}

std::string section(const CommandText& command) {
  std::string text = ".SS " + roff(command.path) + "\n" + filled(command.summary + ".");
  text += displayed({usage_of(command)});
  for (const OptionText& argument : command.arguments)
    text += tagged(head(argument), sentence_of(argument));
  for (const OptionText& option : command.options)
    text += tagged(head(option), sentence_of(option));
  if (!command.commands.empty()) {
    for (const CommandText& below : command.commands)
      text += tagged(bold(below.name), below.summary + ".");
    return text;
  }
  if (!command.footer.empty()) text += ".PP\nExamples:\n" + displayed(examples_of(command));
  return text;
}

std::string variables_text(const std::vector<VariableText>& list) {
  std::string text;
  for (const VariableText& variable : list)
    text += tagged(bold(variable.name), variable.words);
  return text;
}

} // namespace

std::string man_page(const CommandText& program, const std::string& version) {
  std::string text = ".\\\" Made by the program itself: hitproof help --man\n.TH HITPROOF 1 " +
                     std::string(texts_date) + " \"hitproof " + version +
                     "\" \"User Commands\"\n.nh\n.ad l\n";
  text += heading("NAME") + "hitproof \\- prove or refute that a cache hit resumed from the right "
                            "state\n";
  text += heading("SYNOPSIS") + bold("hitproof") + " " + italic("COMMAND") + " [" +
          italic("options") + "]\n.br\n" + bold("hitproof") + " " + italic("COMMAND") + " " +
          bold("--help") + "\n.br\n" + bold("hitproof --version") + "\n";
  text += heading("DESCRIPTION") + filled(program.summary);
  for (const std::string& paragraph : opening())
    text += ".PP\n" + filled(paragraph);
  text += heading("OPTIONS");
  for (const OptionText& option : program.options)
    text += tagged(head(option), sentence_of(option));
  text += heading("COMMANDS");
  for (const CommandText* command : all_of(program)) {
    if (command != &program) text += section(*command);
  }
  text += heading("EXIT STATUS");
  for (const ExitText& exit : exit_texts())
    text += tagged(bold(std::to_string(exit.code)), std::string(exit.name) + ": " + exit.words);
  text += ".PP\n" + filled(exit_note());
  text += heading("ENVIRONMENT") + variables_text(variables()) +
          ".PP\nSet by the program for the processes that it starts, or by tests:\n" +
          variables_text(inner_variables());
  text += heading("FILES") + italic("DIR") + " stands for the folder of an archive.\n";
  for (const FileText& file : files())
    text += tagged(italic(file.path), file.words);
  text += heading("EXAMPLES");
  std::vector<std::string> commands;
  for (std::size_t i = 0; i < tour().size(); ++i) {
    const ExampleText& example = tour()[i];
    if (*example.words != '\0')
      text += (i == 0 ? "" : ".PP\n") + filled(std::string(example.words) + ":");
    commands.emplace_back(example.command);
    if (i + 1 < tour().size() && *tour()[i + 1].words == '\0') continue;
    text += displayed(commands);
    commands.clear();
  }
  text += heading("SEE ALSO") + ".BR sqlite3 (1),\n.BR sha256sum (1),\n.BR openssl (1)\n";
  return text;
}

} // namespace hitproof::cli::manual
