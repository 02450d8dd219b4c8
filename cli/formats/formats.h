// The formats behind Output, one file each, and what they share. Only output.cpp includes this
// beside them.
#pragma once

#include "cli/output.h"

namespace hitproof::cli {

std::unique_ptr<Output> make_text_output(std::ostream& stream, bool color);
std::unique_ptr<Output> make_csv_output(std::ostream& stream);
std::unique_ptr<Output> make_latex_output(std::ostream& stream);
std::unique_ptr<Output> make_json_output(std::ostream& stream);
std::unique_ptr<Output> make_html_output(std::ostream& stream);
std::unique_ptr<Output> make_svg_output(std::ostream& stream);
std::unique_ptr<Output> make_pdf_output(std::ostream& stream);
std::unique_ptr<Output> make_sarif_output(std::ostream& stream);
std::unique_ptr<Output> make_junit_output(std::ostream& stream);
std::unique_ptr<Output> make_perfetto_output(std::ostream& stream);

// A document about archives: what is said in passing has no place in it.
class Document : public Output {
 public:
  void heading(const std::string&) override {}
  void line(const std::string&) override {}
  void detail(const std::string&) override {}
  void table(const audit::Table&) override {}
  void verdict(const std::string&, const std::string&) override {}
  void archive(const audit::Dossier& dossier) override = 0;
  std::vector<std::string> parts(const audit::Dossier&) const override { return {}; }
  void part(const audit::Dossier&, const std::string&) override {}
};

// The column's name with its unit between `open` and `close`.
std::string head_of(const audit::Column& column, const char* open, const char* close);

// "2,447,265,792", "12", "-3.5": a cell that is one number, and that number without grouping.
bool is_number(const std::string& cell);
std::string plain_number(const std::string& cell);

// The last part of the archive's path: a name for a page, a suite, a run.
std::string name_of(const audit::Report& report);

// What stands in a document's list for an effect: "fail", "inconclusive", "note".
const char* effect_name(audit::Verdict effect);

} // namespace hitproof::cli
