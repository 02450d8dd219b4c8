// The command line as plain data, read from CLI11's tree: what the help, the manual and the
// completions are all written from, so that they cannot say different things.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hitproof::cli::manual {

// What may follow an option, or stand for an argument, as far as a shell can complete it.
enum class Takes { nothing, word, choice, folder, file, program };

struct OptionText {
  std::vector<std::string> names;   // "-h", "--help"; empty for an argument without a name
  std::string value;                // placeholder, "DIR"; empty for a flag
  std::vector<std::string> choices; // the only values allowed, where there are such
  std::string range;                // "1 to 64"
  std::string preset;               // value without the option
  std::string variable;             // of the environment, taken where the option is not given
  std::string words;                // what it does
  Takes takes = Takes::nothing;
  bool required = false;
  bool many = false;   // several values may follow
  bool again = false;  // several values, each after the option's name
  bool commas = false; // several values with commas between
};

struct CommandText {
  std::string path;    // "hitproof study boundary"
  std::string name;    // "boundary"
  std::string summary; // one line
  std::string footer;  // examples, one a line after two spaces; of the program: its exit codes
  std::vector<OptionText> arguments, options;
  std::vector<CommandText> commands;
};

// `app` and everything below it. Options without a group (test aids) are left out; options that a
// command takes over from the one above it are listed with both.
CommandText read_command(const CLI::App& app);

// All commands of a tree that have no commands below them, and the others, top first.
std::vector<const CommandText*> all_of(const CommandText& top);

// "--format FORMAT", "-h, --help", "[DIR...]" (an argument as the usage line has it).
std::string head_of(const OptionText& option);
// "what it does [one of: a, b; default: a]": the same words in every text.
std::string sentence_of(const OptionText& option);
// "hitproof keygen --out KEY [options]"
std::string usage_of(const CommandText& command);
// "study boundary": the path behind the program's name; empty for the program.
std::string inner_path_of(const CommandText& command);
// With one space between.
std::string joined(const std::vector<std::string>& words);
// The footer's lines without their indent.
std::vector<std::string> examples_of(const CommandText& command);

} // namespace hitproof::cli::manual
