// The texts that are made from the command line: help, manual pages, completions. Each takes the
// program's tree (command_tree.h) and answers a whole text that ends with a newline.
#pragma once

#include "cli/manual/command_tree.h"

#include <memory>
#include <string>

namespace CLI {
class FormatterBase;
}

namespace hitproof::cli::manual {

// What --help prints; at most 100 columns, but for examples.
std::string help_text(const CommandText& command);
// Puts help_text() behind CLI11's --help. To be set before the subcommands are added, which take
// over the formatter of the program.
std::shared_ptr<CLI::FormatterBase> make_help_formatter();

// docs/commands.md.
std::string markdown_page(const CommandText& program);
// docs/hitproof.1: roff with the man macros. `version` is that of the program.
std::string man_page(const CommandText& program, const std::string& version);

// Scripts that complete subcommands, options, values of enumerations, files and folders.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

// Words of `text`, wrapped at `width` columns; every line but the first begins with `indent`
// spaces, and the first is thought to begin at column `first`.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent,
                    std::size_t first);

// What a completion shows beside an option: its words up to the first semicolon or full stop.
std::string brief(const std::string& words);

} // namespace hitproof::cli::manual
