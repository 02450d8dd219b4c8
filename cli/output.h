// Where results go: one abstract output with text, CSV and LaTeX behind it. No
// subcommand formats by itself; it hands over titles, tables and sentences.
//
//   auto out = make_output(Format::text, std::cout, color);
//   out->table(table); out->verdict("PASS: ...", "hitproof verify out/demo");
#pragma once

#include "audit/table.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace hitproof::cli {

enum class Format { text, csv, latex };

class Output {
 public:
  virtual ~Output() = default;

  // A title over what follows.
  virtual void heading(const std::string& text) = 0;
  // A sentence or paragraph.
  virtual void line(const std::string& text) = 0;
  // Lines that belong to the one before, indented.
  virtual void detail(const std::string& text) = 0;
  virtual void table(const audit::Table& table) = 0;
  // The last words: a verdict in plain words, then the next command to type (left out where empty).
  virtual void verdict(const std::string& sentence, const std::string& next_command) = 0;

  // Suffix of a file in this format: "txt", "csv", "tex".
  virtual std::string suffix() const = 0;
};

// `color` matters for text alone. The stream must outlive the output.
std::unique_ptr<Output> make_output(Format format, std::ostream& stream, bool color = false);

// Control characters and broken UTF-8 of a recording, made visible: no text of an archive may move
// the cursor of whoever reads it.
std::string printable(const std::string& text);

// A field as RFC 4180 wants it, and text as LaTeX wants it.
std::string csv_field(const std::string& text);
std::string latex_text(const std::string& text);

} // namespace hitproof::cli
