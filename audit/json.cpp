#include "audit/json.h"

#include <nlohmann/json.hpp>

namespace hitproof::audit {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& into, const char* key, const std::optional<std::int64_t>& value) {
  if (value) into[key] = *value;
}

Json subject_json(const Subject& s) {
  Json j = Json::object();
  put(j, "rank", s.rank);
  put(j, "transfer", s.transfer);
  put(j, "request", s.request);
  put(j, "entry", s.entry);
  put(j, "block", s.block);
  put(j, "process", s.process);
  put(j, "op", s.op);
  put(j, "at_ns", s.at_ns);
  if (!s.expected.empty()) j["expected"] = s.expected;
  if (!s.actual.empty()) j["actual"] = s.actual;
  return j;
}

template <class Record> Json records_json(const std::vector<Record>& records) {
  Json j = Json::array();
  for (const WitnessRecord& r : records) {
    j.push_back({{"table", r.table},
                 {"process", r.process},
                 {"thread", r.thread},
                 {"seq", r.seq},
                 {"at_ms", r.at_ms},
                 {"words", r.words}});
  }
  return j;
}

Json path_json(const OrderPath& p) {
  Json j;
  j["of"] = p.load ? "load" : "save";
  j["proved"] = p.proved;
  j["transfer"] = p.transfer;
  j["rank"] = p.rank;
  j["request"] = p.request;
  j["records"] = records_json(p.records);
  return j;
}

Json finding_json(const Finding& f) {
  Json j;
  j["violation"] = f.violation;
  j["effect"] = f.effect == Verdict::pass ? "note" : verdict_name(f.effect);
  j["count"] = f.count;
  j["words"] = f.words;
  j["first"] = subject_json(f.first);
  j["witness"] = records_json(f.witness);
  j["query"] = f.query;
  return j;
}

Json rule_json(const RuleReport& r) {
  Json j;
  j["verdict"] = verdict_name(r.verdict);
  j["proves"] = r.proves;
  j["rests_on"] = r.observations;
  j["observations"] = r.observations; // rule tails has a figure of this name instead
  j["bound"] = r.bound;
  for (const Figure& f : r.figures) {
    std::visit([&](const auto& value) { j[f.name] = value; }, f.value);
  }
  j["missing"] = r.missing;
  Json findings = Json::array();
  for (const Finding& f : r.findings)
    findings.push_back(finding_json(f));
  j["findings"] = std::move(findings);
  if (r.paths.empty()) return j;
  j["paths"] = Json::array();
  for (const OrderPath& p : r.paths)
    j["paths"].push_back(path_json(p));
  return j;
}

Json reload_json(const ReloadRow& row) {
  Json j;
  j["request"] = row.request;
  j["prompt_tokens"] = row.prompt_tokens;
  j["label"] = row.label;
  j["content"] = row.content;
  j["content_observed"] = row.content_observed;
  j["computed"] = row.computed;
  j["scheduled"] = row.scheduled;
  j["drafts"] = row.drafts;
  j["chunks"] = row.chunks;
  j["h2d_rows"] = row.rows;
  j["h2d_bytes"] = row.bytes;
  j["first_difference"] = row.first_difference < 0 ? Json(nullptr) : Json(row.first_difference);
  j["compared"] = row.compared;
  j["aligned"] = row.aligned;
  return j;
}

} // namespace

std::string to_json(const Report& report) {
  Json j;
  j["verdict"] = verdict_name(report.verdict);
  j["sentence"] = report.sentence();
  j["archive"] = report.path;
  j["arm"] = report.arm;
  j["lookup"] = report.lookup;
  j["device"] = report.device;
  j["preset"] = report.preset;
  j["reference"] = report.has_reference;
  for (const RuleReport& r : report.rules) {
    if (r.name == "pages")
      j["bytes"] = {{"h2d", r.figure("h2d_bytes")}, {"d2h", r.figure("d2h_bytes")}};
    j[r.name] = rule_json(r);
  }
  Json reloads = Json::array();
  for (const ReloadRow& row : report.reloads)
    reloads.push_back(reload_json(row));
  j["boundary_matrix"] = std::move(reloads);
  j["exclusions"] = report.exclusions;
  // Text in a recording may hold any bytes; what is not UTF-8 is shown as the replacement
  // character.
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace hitproof::audit
