// Where results go: one abstract output with every format behind it. No subcommand formats by
// itself; it hands over titles, tables, sentences and whole archives.
//
//   auto out = make_output(Format::text, std::cout, color);
//   out->table(table); out->verdict("PASS: ...", "hitproof verify out/demo");
//
//   auto page = make_output(Format::html, file);
//   for (const auto& d : dossiers) page->archive(d);
//   page->finish();
//
// text, csv and latex say everything as it comes. The other formats are documents about archives:
// they hold what archive() hands over and leave out the rest.
#pragma once

#include "audit/dossier.h"
#include "audit/table.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace hitproof::cli {

enum class Format { text, csv, latex, json, html, svg, pdf, sarif, junit, perfetto };

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

  // All of one archive that the format has a place for; in csv and latex its tables.
  virtual void archive(const audit::Dossier& dossier);
  // The pieces of an archive that are files of their own: names of its tables, or of its figures.
  // Empty in a format that makes one document of all archives.
  virtual std::vector<std::string> parts(const audit::Dossier& dossier) const;
  virtual void part(const audit::Dossier& dossier, const std::string& name);
  // Tables and figures over all archives (audit/together.h), behind the last of them.
  virtual void together(const audit::Dossier& dossier) { archive(dossier); }
  // After the last archive: whatever closes the document.
  virtual void finish() {}

  // Suffix of a file in this format: "txt", "csv", "tex".
  virtual std::string suffix() const = 0;
};

// `color` matters for text alone. The stream must outlive the output.
std::unique_ptr<Output> make_output(Format format, std::ostream& stream, bool color = false);

// What `export` offers, and the name's format. False where there is none of this name.
const std::vector<std::string>& export_formats();
bool format_of(const std::string& name, Format* format);
// True for the formats in which all archives make one file; false where each table or figure is
// one.
bool is_document(Format format);
// True for the formats that have a place for tables and figures over several archives.
bool takes_together(Format format);
// The timeline that a format shows: slices of each kind, 0 for none.
std::int64_t slices_of(Format format);

} // namespace hitproof::cli
