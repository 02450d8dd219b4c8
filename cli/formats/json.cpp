// One JSON document: verdicts, figures and tables of every archive, each number with the query that
// gives it again.
#include "cli/formats/formats.h"

#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

using Json = nlohmann::ordered_json;

Json trace_json(const audit::Trace& trace) {
  if (trace.source.empty()) return nullptr;
  Json j = {{"source", trace.source}};
  j["statement"] = trace.statement.empty() ? Json(nullptr) : Json(trace.script());
  if (!trace.archive.empty()) j["archive"] = trace.archive;
  return j;
}

// A cell of one number is that number; "-" stands for none; anything else stays words.
Json cell_json(const std::string& cell, bool number) {
  if (!number) return cell;
  if (cell == "-") return nullptr;
  if (!is_number(cell)) return cell;
  const std::string plain = plain_number(cell);
  return plain.find('.') == std::string::npos ? Json(std::stoll(plain)) : Json(std::stod(plain));
}

Json table_json(const audit::Table& t) {
  Json j = {{"id", t.id}, {"title", t.title}};
  j["columns"] = Json::array();
  for (const audit::Column& c : t.columns) {
    j["columns"].push_back({{"name", c.name},
                            {"unit", c.unit.empty() ? Json(nullptr) : Json(c.unit)},
                            {"type", c.number ? "number" : "text"}});
  }
  j["rows"] = Json::array();
  for (const auto& row : t.rows) {
    Json cells = Json::array();
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(cell_json(row[i], i < t.columns.size() && t.columns[i].number));
    j["rows"].push_back(std::move(cells));
  }
  j["traces"] = Json::array();
  for (const auto& row : t.traces) {
    Json cells = Json::array();
    for (const audit::Trace& trace : row)
      cells.push_back(trace_json(trace));
    j["traces"].push_back(std::move(cells));
  }
  j["notes"] = t.notes;
  return j;
}

Json finding_json(const audit::Finding& f) {
  Json j = {{"rule", f.rule},   {"violation", f.violation},       {"effect", effect_name(f.effect)},
            {"count", f.count}, {"trace", trace_json(f.counted)}, {"words", f.words}};
  j["witness"] = Json::array();
  for (const audit::WitnessRecord& w : f.witness) {
    j["witness"].push_back({{"table", w.table},
                            {"process", w.process},
                            {"thread", w.thread},
                            {"seq", w.seq},
                            {"at_ms", w.at_ms},
                            {"words", w.words}});
  }
  j["query"] = f.query;
  return j;
}

Json rule_json(const audit::RuleReport& r) {
  Json j = {{"rule", r.name},
            {"verdict", audit::verdict_name(r.verdict)},
            {"proves", r.proves},
            {"observations", r.observations},
            {"trace", trace_json(r.observed)},
            {"bound", r.bound}};
  j["figures"] = Json::array();
  for (const audit::Figure& f : r.figures) {
    Json figure = {{"name", f.name}};
    std::visit([&](const auto& value) { figure["value"] = value; }, f.value);
    figure["trace"] = trace_json(f.trace);
    j["figures"].push_back(std::move(figure));
  }
  j["missing"] = r.missing;
  j["findings"] = Json::array();
  for (const audit::Finding& f : r.findings)
    j["findings"].push_back(finding_json(f));
  return j;
}

class JsonOutput : public Document {
 public:
  explicit JsonOutput(std::ostream& stream) : out_(stream) {}

  void archive(const audit::Dossier& d) override {
    Json j = {{"archive", d.report.path},        {"verdict", audit::verdict_name(d.report.verdict)},
              {"sentence", d.report.sentence()}, {"arm", d.report.arm},
              {"lookup", d.report.lookup},       {"device", d.report.device},
              {"preset", d.report.preset},       {"reference", d.report.has_reference}};
    j["facts"] = d.facts;
    j["rules"] = Json::array();
    for (const audit::RuleReport& r : d.report.rules)
      j["rules"].push_back(rule_json(r));
    j["tables"] = Json::array();
    for (const audit::Table& t : d.tables)
      j["tables"].push_back(table_json(t));
    j["exclusions"] = d.report.exclusions;
    // One archive at a time is written, so that many do not have to fit into memory.
    out_ << (any_ ? ",\n"
                  : "{\"format\": \"hitproof-export\", \"version\": 1, \"generator\": "
                    "\"hitproof " HITPROOF_VERSION "\", \"archives\": [\n")
         << j.dump(2, ' ', false, Json::error_handler_t::replace);
    any_ = true;
  }
  void together(const audit::Dossier& d) override {
    together_ = Json::object();
    together_["tables"] = Json::array();
    for (const audit::Table& t : d.tables)
      together_["tables"].push_back(table_json(t));
  }
  void finish() override {
    out_ << "\n]";
    if (!together_.is_null())
      out_ << ", \"together\": " << together_.dump(2, ' ', false, Json::error_handler_t::replace);
    out_ << "}\n";
  }
  std::string suffix() const override { return "json"; }

 private:
  std::ostream& out_;
  bool any_ = false;
  Json together_; // null where there are no tables over several archives
};

} // namespace

std::unique_ptr<Output> make_json_output(std::ostream& stream) {
  return std::make_unique<JsonOutput>(stream);
}

} // namespace hitproof::cli
