// SARIF 2.1.0 for code scanning: one run an archive, one rule object a rule family, one result a
// kind of violation. Fingerprints are made of names alone, never of rows, ids, addresses or times,
// so that two recordings of the same defect are one alert.
//
// Within what GitHub accepts of one file: 20 runs, 25,000 results a run, of which a report has some
// tens. Further archives are refused by saying so (export, before it writes).
#include "audit/rule.h"
#include "audit/trace.h"
#include "cli/escape.h"
#include "cli/formats/formats.h"
#include "schema/sha256.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text(const std::string& words) { return {{"text", printable(words)}}; }

const char* level_of(audit::Verdict effect) {
  return effect == audit::Verdict::fail           ? "error"
         : effect == audit::Verdict::inconclusive ? "warning"
                                                  : "note";
}

Json rule_object(const audit::Rule& rule) {
  std::string help =
      std::string("What a pass says: ") + rule.proves + "\n\nViolations that this rule finds:\n";
  for (const audit::Sentence& s : rule.sentences)
    help += std::string("- ") + s.violation + ": " + s.words + "\n";
  help += "\nList them in the sqlite3 shell:\n";
  for (const char* query : rule.queries)
    help += std::string("hitproof audit --sql ") + query + " | sqlite3 data/recording.sqlite\n";
  return {{"id", std::string("hitproof/") + rule.name},
          {"name", rule.name},
          {"shortDescription", text(std::string("Rule ") + rule.name)},
          {"fullDescription", text(rule.proves)},
          {"help", text(help)},
          {"defaultConfiguration", {{"level", "error"}}},
          {"properties", {{"tags", {"cache-recovery", "evidence"}}}}};
}

// A recording is a database: the location is the file, the line its first.
Json location(const std::string& path) {
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", uri_path(path)}}}, {"region", {{"startLine", 1}}}}}};
}

Json witness_flow(const audit::Finding& f, const std::string& path) {
  Json steps = Json::array();
  for (const audit::WitnessRecord& w : f.witness) {
    Json where = location(path);
    where["message"] = text(w.words + " [" + w.table + "]");
    steps.push_back({{"location", std::move(where)}});
  }
  return Json::array({{{"threadFlows", Json::array({{{"locations", std::move(steps)}}})}}});
}

std::string fingerprint(const audit::Report& report, const std::string& rule,
                        const std::string& violation, audit::Verdict effect) {
  return schema::to_hex(schema::sha256("hitproof finding 1\n" + rule + "\n" + violation + "\n" +
                                       effect_name(effect) + "\n" + report.arm + "\n" +
                                       report.lookup + "\n" + report.preset + "\n"));
}

class SarifOutput : public Document {
 public:
  explicit SarifOutput(std::ostream& stream) : out_(stream) {}

  void archive(const audit::Dossier& d) override {
    const std::string path =
        (d.report.path.empty() || d.report.path[0] == '/' ? name_of(d.report) : d.report.path) +
        "/data/recording.sqlite";
    Json results = Json::array();
    for (const audit::RuleReport& r : d.report.rules) {
      for (const audit::Finding& f : r.findings)
        results.push_back(finding_result(d.report, f, path));
      add_missing(d.report, r, path, results);
    }
    Json run;
    run["tool"]["driver"] = driver();
    // GitHub tells runs apart by this name.
    run["automationDetails"] = {{"id", "hitproof/" + printable(name_of(d.report)) + "/"}};
    run["artifacts"] =
        Json::array({{{"location", {{"uri", uri_path(path)}}}, {"roles", {"analysisTarget"}}}});
    run["invocations"] = Json::array({{{"executionSuccessful", true}}});
    run["columnKind"] = "utf16CodeUnits";
    run["results"] = std::move(results);
    run["properties"] = {{"verdict", audit::verdict_name(d.report.verdict)},
                         {"sentence", printable(d.report.sentence())},
                         {"device", printable(d.report.device)}};
    out_ << (any_ ? ",\n"
                  : "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", "
                    "\"version\": \"2.1.0\", \"runs\": [\n")
         << run.dump(2, ' ', false, Json::error_handler_t::replace);
    any_ = true;
  }
  void finish() override { out_ << "\n]}\n"; }
  std::string suffix() const override { return "sarif"; }

 private:
  static Json driver() {
    Json rules = Json::array();
    for (const audit::Rule* rule : audit::all_rules())
      rules.push_back(rule_object(*rule));
    return {
        {"name", "hitproof"}, {"semanticVersion", HITPROOF_VERSION}, {"rules", std::move(rules)}};
  }

  // Its place in the list of rule objects, which holds every rule, judged in this report or not.
  static std::size_t index_of(const std::string& rule) {
    const auto rules = audit::all_rules();
    return static_cast<std::size_t>(
        std::find_if(rules.begin(), rules.end(),
                     [&](const audit::Rule* r) { return rule == r->name; }) -
        rules.begin());
  }

  static Json result(const audit::Report& report, const std::string& rule,
                     const std::string& violation, audit::Verdict effect, const std::string& words,
                     const std::string& path) {
    Json j = {
        {"ruleId", "hitproof/" + rule}, {"ruleIndex", index_of(rule)}, {"level", level_of(effect)}};
    j["message"] = text(words);
    j["locations"] = Json::array({location(path)});
    j["partialFingerprints"] = {
        {"hitproofFinding/v1", fingerprint(report, rule, violation, effect)}};
    return j;
  }

  static Json finding_result(const audit::Report& report, const audit::Finding& f,
                             const std::string& path) {
    const std::string words = f.violation + " (" + std::to_string(f.count) +
                              (f.count == 1 ? " time): " : " times): ") + f.words;
    Json j = result(report, f.rule, f.violation, f.effect, words, path);
    if (!f.witness.empty()) j["codeFlows"] = witness_flow(f, path);
    j["properties"] = {{"violation", f.violation}, {"count", f.count}};
    if (!f.query.empty()) j["properties"]["query"] = printable(f.query);
    return j;
  }

  // A rule that did not see enough is an alert too: it has not passed.
  static void add_missing(const audit::Report& report, const audit::RuleReport& r,
                          const std::string& path, Json& results) {
    if (r.verdict != audit::Verdict::inconclusive || r.missing.empty()) return;
    std::string words = "inconclusive: ";
    for (const std::string& m : r.missing)
      words += (&m == &r.missing.front() ? "" : "; ") + m;
    results.push_back(result(report, r.name, "missing", audit::Verdict::inconclusive, words, path));
  }

  std::ostream& out_;
  bool any_ = false;
};

} // namespace

std::unique_ptr<Output> make_sarif_output(std::ostream& stream) {
  return std::make_unique<SarifOutput>(stream);
}

} // namespace hitproof::cli
