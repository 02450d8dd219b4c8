#include "audit/selftest/selftest.h"

#include <nlohmann/json.hpp>

namespace hitproof::audit::selftest {
namespace {

using Json = nlohmann::ordered_json;

constexpr int json_version = 1;

const char* outcome_name(const Trial& trial) {
  if (trial.outcome == Outcome::skipped) return "skipped";
  const bool right = trial.outcome == Outcome::answered;
  if (trial.mutation->harmless()) return right ? "silent" : "disturbed";
  return right ? "caught" : "missed";
}

Json mutation_json(const Mutation& m) {
  Json j;
  j["name"] = m.name;
  j["rule"] = m.rule;
  j["violation"] = m.harmless() ? Json(nullptr) : Json(m.violation);
  j["answer"] = answer_name(m.answer);
  j["arm"] = arm_name(m.further.arm);
  j["words"] = m.words;
  j["sql"] = m.sql.empty() ? Json(nullptr) : Json(m.sql);
  j["needs"] = m.further.needs != nullptr ? Json(m.further.needs->words) : Json(nullptr);
  Json may_change = Json::array();
  for (const MayChange& part : m.further.may_change)
    may_change.push_back({{"part", part.path}, {"why", part.why}});
  j["may_change"] = std::move(may_change);
  return j;
}

Json counts_json(const RuleScore& s) {
  Json j;
  if (!s.rule.empty()) j["rule"] = s.rule;
  j["mutations"] = s.mutations;
  j["caught"] = s.caught;
  j["missed"] = s.missed;
  j["harmless"] = s.harmless;
  j["silent"] = s.silent;
  j["disturbed"] = s.disturbed;
  j["skipped"] = s.skipped;
  return j;
}

Json score_json(const Score& score) {
  Json j;
  j["archive"] = score.archive.empty() ? Json(nullptr) : Json(score.archive);
  j["verdict"] = verdict_name(score.verdict());
  j["seconds"] = score.seconds;
  j["total"] = counts_json(score.total());
  Json rules = Json::array();
  for (const RuleScore& row : score.by_rule())
    rules.push_back(counts_json(row));
  j["rules"] = std::move(rules);
  Json trials = Json::array();
  for (const Trial& trial : score.trials) {
    const Mutation& m = *trial.mutation;
    Json t;
    t["name"] = m.name;
    t["rule"] = m.rule;
    t["violation"] = m.harmless() ? Json(nullptr) : Json(m.violation);
    t["answer"] = answer_name(m.answer);
    t["outcome"] = outcome_name(trial);
    t["came"] = trial.came.empty() ? Json(nullptr) : Json(trial.came);
    t["kept"] = trial.kept.empty() ? Json(nullptr) : Json(trial.kept);
    trials.push_back(std::move(t));
  }
  j["trials"] = std::move(trials);
  return j;
}

std::string text_of(const Json& j) {
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace

std::string list_json(const std::vector<const Mutation*>& list) {
  Json j;
  j["selftest"] = json_version;
  Json items = Json::array();
  for (const Mutation* m : list)
    items.push_back(mutation_json(*m));
  j["mutations"] = std::move(items);
  return text_of(j);
}

std::string to_json(const std::vector<Score>& scores) {
  Json j;
  j["selftest"] = json_version;
  j["verdict"] = verdict_name(verdict_of(scores));
  j["sentence"] = sentence_of(scores);
  Json archives = Json::array();
  for (const Score& score : scores)
    archives.push_back(score_json(score));
  j["archives"] = std::move(archives);
  return text_of(j);
}

} // namespace hitproof::audit::selftest
