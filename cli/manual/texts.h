// What the manual says beside the options: exit codes, variables of the environment, files. The one
// source of each.
#pragma once

#include <string>
#include <vector>

namespace hitproof::cli::manual {

struct ExitText {
  int code;          // of ExitCode (command.h)
  const char* name;  // as the one line of the help has it
  const char* words; // when it is the answer
};
const std::vector<ExitText>& exit_texts();
// "Exit codes: 0 pass, 1 finding, ..."
std::string exit_line();
// What does not fit into the table.
const char* exit_note();

struct VariableText {
  const char* name;
  const char* words;
};
// For whoever calls the program.
const std::vector<VariableText>& variables();
// Set by the program for the processes that it starts, or aids of the tests.
const std::vector<VariableText>& inner_variables();

struct FileText {
  const char* path;
  const char* words;
};
const std::vector<FileText>& files();

// Commands with a comment each, from the first recording to a signed verdict.
struct ExampleText {
  const char* words;
  const char* command;
};
const std::vector<ExampleText>& tour();

// Paragraphs that open the manual.
const std::vector<std::string>& opening();

// Month of these texts, as manual pages have it (ISO 8601).
inline constexpr const char* texts_date = "2026-11-30";

} // namespace hitproof::cli::manual
