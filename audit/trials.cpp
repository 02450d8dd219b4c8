#include "audit/trials.h"

#include "audit/study_tables.h"
#include "audit/table_row.h"
#include "audit/timings.h"
#include "audit/trace.h"

#include <string>

namespace hitproof::audit {
namespace {

constexpr const char* times_source = "timings.sql";

// What is counted, with the statements that count it: a number, or n of m.
struct Cell {
  std::string n, m;
};

class Trials {
 public:
  Trials(const TimedArms& arms, std::int64_t prompt_tokens)
      : arms_(arms), length_(std::to_string(prompt_tokens)) {}

  Cell measured() const { return {counted("o.warmup = 0"), ""}; }
  Cell set_aside() const { return {counted("o.warmup <> 0"), ""}; }

  // What all immediate repeats of one arm did, and what they were credited with.
  static std::string repeats(const std::string& of_arm) {
    return "SELECT CASE WHEN COUNT(DISTINCT v) = 1 THEN MIN(v) WHEN COUNT(*) > 0 THEN 'various' "
           "END FROM (" +
           of_arm + ")";
  }
  Cell own_repeats() const { return {repeats(of(arms_.own, did, admitted, repeated)), ""}; }
  Cell control_repeats() const {
    return {arms_.control ? repeats(of(*arms_.control, did, admitted, repeated)) : "SELECT NULL",
            ""};
  }

  // External, with B = p, and bytes came from the host on every rank.
  Cell reloads() const {
    const std::string all =
        "FROM study_operation o LEFT JOIN admission a ON a.request = o.request LEFT JOIN (SELECT "
        "t.request, COUNT(DISTINCT t.rank) AS ranks FROM transfer t JOIN copy c ON c.transfer = "
        "t.transfer WHERE t.direction = 1 AND c.bytes > 0 AND c.result = 0 GROUP BY t.request) h "
        "ON h.request = o.request WHERE o.warmup = 0 AND o.kind = 'reload' AND o.prompt_tokens = " +
        length_;
    return {"SELECT COUNT(DISTINCT o.request) " + all +
                " AND a.source >= 2 AND a.label_boundary = a.computed AND h.ranks = (SELECT "
                "COUNT(DISTINCT rank) FROM entry WHERE origin = 0)",
            "SELECT COUNT(DISTINCT o.request) " + all};
  }

  // Inputs whose answers are the same, token by token, in every condition of both arms.
  Cell agreeing() const {
    const std::string tokens =
        of_both("HEX(o.prompt) AS prompt, t.position AS place, t.token AS id",
                "JOIN %study_token t ON t.op = o.op", "o.warmup = 0");
    const std::string by_place =
        "(SELECT prompt, place, COUNT(*) AS n, MIN(id) AS least, MAX(id) AS "
        "most FROM (" +
        tokens + ") GROUP BY prompt, place)";
    // The conditions of the paper: two of the control, three of the candidate.
    const std::string conditions = arms_.control ? "5" : "3";
    return {"SELECT COUNT(*) FROM (SELECT prompt FROM " + by_place +
                " GROUP BY prompt HAVING MIN(n) = MAX(n) AND MAX(n) = " + conditions +
                " AND SUM(CASE WHEN least = most THEN 0 ELSE 1 END) = 0)",
            "SELECT COUNT(DISTINCT prompt) FROM (" + tokens + ")"};
  }

 private:
  // A SELECT over the generations of both arms, % standing for the arm's tables.
  std::string of_both(const std::string& what, const std::string& join,
                      const std::string& holds) const {
    std::string sql = of(arms_.own, what, join, holds);
    if (arms_.control) sql += " UNION ALL " + of(*arms_.control, what, join, holds);
    return sql;
  }
  std::string of(const TimedArm& arm, const std::string& what, const std::string& join,
                 const std::string& holds) const {
    return at("SELECT " + what + " FROM %study_operation o " + join +
                  " WHERE o.kind <> 'reset' AND " + holds + " AND o.prompt_tokens = " + length_,
              arm.where.empty() ? "" : arm.where + ".");
  }
  std::string counted(const std::string& holds) const {
    return "SELECT COUNT(*) FROM (" + of_both("o.op", "", holds) + ")";
  }

  static inline const std::string admitted = "JOIN %admission a ON a.request = o.request",
                                  repeated = "o.warmup = 0 AND o.kind = 'repeat'",
                                  did = path_words("a.source") +
                                        " || ', p = ' || CAST(a.computed AS VARCHAR(40)) AS v";
  const TimedArms& arms_;
  std::string length_;
};

} // namespace

Table trials_table(Context& context) {
  Table t;
  t.id = "performance_trials";
  t.title = "Trials: what the requests did, by prompt length";
  t.columns = {{"N", "tokens"},
               {"measured", "requests"},
               {"set aside", "requests"},
               {"OFF repeats", "", false},
               {"ON repeats", "", false},
               {"reloads with B = p and H2D on every rank", ""},
               {"inputs with equal answers", ""}};
  const TimedArms arms = timed_arms(context, "", "reference");
  if (context.fact("study") != "performance" || !arms.own.tells_warmups) return t;
  for (const std::int64_t n : context.numbers(
           "SELECT DISTINCT prompt_tokens FROM study_operation ORDER BY prompt_tokens")) {
    const Trials trials(arms, n);
    Row row;
    row.number(context, times_source,
               "SELECT MAX(prompt_tokens) FROM study_operation WHERE prompt_tokens = " +
                   std::to_string(n));
    for (const Cell& cell : {trials.measured(), trials.set_aside()})
      row.number(context, times_source, cell.n);
    for (const Cell& cell : {trials.control_repeats(), trials.own_repeats()})
      row.text(context, times_source, cell.n);
    for (const Cell& cell : {trials.reloads(), trials.agreeing()})
      row.number_of(context, times_source, cell.n, cell.m);
    std::move(row).into(t);
  }
  t.notes = {
      "An input is a prompt in all its conditions: cold and repeated in the control arm, cold, "
      "repeated and reloaded in the candidate.",
      one_recording_note};
  return t;
}

} // namespace hitproof::audit
