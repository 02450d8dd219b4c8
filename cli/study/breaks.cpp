// toml++ is used without exceptions in the whole program: two settings of it must not meet in one.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include "cli/study/breaks.h"

#include "cli/breaks_data.inc"

#include <algorithm>
#include <stdexcept>
#include <toml++/toml.h>

namespace hitproof::cli {
namespace {

std::vector<std::string> names(const toml::table& entry, const char* key) {
  std::vector<std::string> list;
  if (const auto* array = entry[key].as_array())
    for (const auto& item : *array)
      list.push_back(item.value_or(std::string()));
  return list;
}

bool in(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

} // namespace

const std::vector<BreakSpec>& break_specs() {
  static const std::vector<BreakSpec> specs = [] {
    std::vector<BreakSpec> list;
    const toml::parse_result parsed = toml::parse(breaks_toml);
    if (!parsed)
      throw std::runtime_error("breaks.toml: " + std::string(parsed.error().description()));
    const toml::table& file = parsed.table();
    for (const auto& node : *file["break"].as_array()) {
      const auto& entry = *node.as_table();
      BreakSpec spec{entry["name"].value_or(std::string()), entry["what"].value_or(std::string()),
                     names(entry, "must"), names(entry, "never_pass"), names(entry, "may")};
      if (spec.name.empty() || (spec.must.empty() && spec.never_pass.empty()))
        throw std::runtime_error(
            "breaks.toml: an entry without name, or without a rule that must object");
      list.push_back(std::move(spec));
    }
    return list;
  }();
  return specs;
}

const BreakSpec* find_break(const std::string& name) {
  for (const auto& spec : break_specs())
    if (spec.name == name) return &spec;
  return nullptr;
}

std::vector<std::string> judge_break(const BreakSpec& spec, const audit::Report& report) {
  std::vector<std::string> wrong;
  for (const auto& name : spec.must) {
    const auto* rule = report.rule(name);
    if (!rule || rule->verdict != audit::Verdict::fail)
      wrong.push_back("rule " + name + " should fail and does not");
  }
  for (const auto& name : spec.never_pass) {
    const auto* rule = report.rule(name);
    if (!rule || rule->verdict == audit::Verdict::pass ||
        rule->verdict == audit::Verdict::not_applicable)
      wrong.push_back("rule " + name + " passes and must not");
  }
  for (const auto& rule : report.rules) {
    const bool expected =
        in(spec.must, rule.name) || in(spec.never_pass, rule.name) || in(spec.may, rule.name);
    if (!expected &&
        (rule.verdict == audit::Verdict::fail || rule.verdict == audit::Verdict::inconclusive))
      wrong.push_back("rule " + rule.name + " is " + audit::verdict_name(rule.verdict) +
                      " and should be silent");
  }
  return wrong;
}

std::string rules_with(const audit::Report& report, audit::Verdict verdict) {
  std::string text;
  for (const auto& rule : report.rules)
    if (rule.verdict == verdict) text += (text.empty() ? "" : ", ") + rule.name;
  return text.empty() ? "-" : text;
}

} // namespace hitproof::cli
