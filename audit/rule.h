// A rule family: what it proves, the queries that list its violations, the sentences that say them,
// and the judgement. One file each under rules/, with its .sql beside it.
#pragma once

#include "audit/context.h"
#include "audit/report.h"

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::audit {

// What a violation rests on. `absence`: on a record that is not there, which proves nothing where
// records are missing (the recording was cut short, or some were dropped); then it is inconclusive.
enum class RestsOn { records, absence };

// One kind of violation in words. Placeholders: {rank} {transfer} {request} {entry} {block}
// {process} {op} {expected} {actual}.
struct Sentence {
  const char* violation;
  const char* words;
  RestsOn rests_on = RestsOn::records;
};

struct Rule {
  const char* name;
  const char* proves;
  std::span<const Sentence> sentences;
  std::span<const char* const> witness_tables; // cited in findings, see witness.h
  std::span<const char* const> queries;        // names of the embedded .sql files
  void (*judge)(Context&, const Rule&, RuleReport&);
  bool optional = false; // left out of a report where it does not apply
  int cost = 0;          // over many records beside the other rules: the dearest begin first
};

// The ten families (docs/rules/README.md) in the order of every report, and the cross-check.
std::span<const Rule* const> all_rules() noexcept;

// The text of audit/rules/<name>.sql as embedded at build; null where there is none.
const char* rule_sql(std::string_view name) noexcept;

// One row of a violation query.
struct Violation {
  std::string id;
  Verdict effect = Verdict::fail;
  Subject subject;
};

// Runs a violation query, gathers its rows into one finding a kind (shown by the earliest, with its
// witness), appends them to `report`; `each` sees every row.
void collect(Context& context, const Rule& rule, const char* sql_name, RuleReport& report,
             const std::function<void(const Violation&)>& each = {});

// Adds a finding that no query made.
void add_finding(Context& context, const Rule& rule, RuleReport& report, const Violation& violation,
                 std::int64_t count = 1);

// The verdict that follows from findings, missing inputs and observations. A rule that observed
// nothing is inconclusive, whatever else holds.
void conclude(RuleReport& report);

// Ends a rule that has no subject in the control arm. True where it does not apply.
bool not_applicable_to_control(Context& context, RuleReport& report);

extern const Rule pages_rule, poison_rule, tails_rule, waits_rule, boundary_rule, generations_rule,
    order_rule, keys_rule, control_rule, evidence_rule, crosscheck_rule;

} // namespace hitproof::audit
