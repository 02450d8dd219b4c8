#include "cli/output.h"

#include "cli/formats/formats.h"

#include <algorithm>
#include <filesystem>

namespace hitproof::cli {
namespace {

struct Offer {
  const char* name;
  Format format;
  bool document;
  std::int64_t slices;
};

// A trace viewer takes tens of thousands of slices; a page that is read on a phone does not.
const Offer offers[] = {
    {"latex", Format::latex, false, 0},
    {"csv", Format::csv, false, 0},
    {"json", Format::json, true, 0},
    {"html", Format::html, true, 600},
    {"svg", Format::svg, false, 600},
    {"pdf", Format::pdf, false, 600},
    {"sarif", Format::sarif, true, 0},
    {"junit", Format::junit, true, 0},
    {"perfetto", Format::perfetto, true, 20000},
};

const Offer* offer_of(Format format) {
  for (const Offer& o : offers) {
    if (o.format == format) return &o;
  }
  return nullptr;
}

} // namespace

void Output::archive(const audit::Dossier& dossier) {
  for (const audit::Table& t : dossier.tables)
    table(t);
}

std::vector<std::string> Output::parts(const audit::Dossier& dossier) const {
  std::vector<std::string> names;
  for (const audit::Table& t : dossier.tables)
    names.push_back(t.id);
  return names;
}

void Output::part(const audit::Dossier& dossier, const std::string& name) {
  for (const audit::Table& t : dossier.tables) {
    if (t.id == name) table(t);
  }
}

std::unique_ptr<Output> make_output(Format format, std::ostream& stream, bool color) {
  switch (format) {
  case Format::csv:
    return make_csv_output(stream);
  case Format::latex:
    return make_latex_output(stream);
  case Format::json:
    return make_json_output(stream);
  case Format::html:
    return make_html_output(stream);
  case Format::svg:
    return make_svg_output(stream);
  case Format::pdf:
    return make_pdf_output(stream);
  case Format::sarif:
    return make_sarif_output(stream);
  case Format::junit:
    return make_junit_output(stream);
  case Format::perfetto:
    return make_perfetto_output(stream);
  case Format::text:
    break;
  }
  return make_text_output(stream, color);
}

const std::vector<std::string>& export_formats() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Offer& o : offers)
      list.emplace_back(o.name);
    return list;
  }();
  return names;
}

bool format_of(const std::string& name, Format* format) {
  for (const Offer& o : offers) {
    if (name != o.name) continue;
    *format = o.format;
    return true;
  }
  return false;
}

bool is_document(Format format) {
  const Offer* o = offer_of(format);
  return o && o->document;
}

bool takes_together(Format format) { return !is_document(format) || format == Format::json; }

std::int64_t slices_of(Format format) {
  const Offer* o = offer_of(format);
  return o ? o->slices : 0;
}

std::string head_of(const audit::Column& column, const char* open, const char* close) {
  return column.unit.empty() ? column.name : column.name + open + column.unit + close;
}

bool is_number(const std::string& cell) {
  const std::size_t from = cell.empty() || cell[0] != '-' ? 0 : 1;
  const bool shape = cell.find_first_not_of("0123456789,.", from) == std::string::npos;
  const bool dots = std::count(cell.begin(), cell.end(), '.') <= 1;
  return shape && dots && cell.size() > from && cell[from] >= '0' && cell[from] <= '9' &&
         cell.back() >= '0' && cell.back() <= '9';
}

std::string plain_number(const std::string& cell) {
  std::string out = cell;
  std::erase(out, ',');
  return out;
}

std::string name_of(const audit::Report& report) {
  auto path = std::filesystem::path(report.path).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() || name == "." || name == ".." ? report.path : name;
}

const char* effect_name(audit::Verdict effect) {
  return effect == audit::Verdict::pass ? "note" : audit::verdict_words(effect);
}

} // namespace hitproof::cli
