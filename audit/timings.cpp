#include "audit/timings.h"

#include "audit/device.h"
#include "audit/rule.h"
#include "audit/study_tables.h"
#include "audit/trace.h"

#include <cstdlib>

namespace hitproof::audit {
namespace {

constexpr const char* source = "timings.sql";

std::string inside(const TimedArm& arm, const char* table) {
  return (arm.where.empty() ? "" : arm.where + ".") + table;
}

// The rows of one arm, without those that were set aside.
std::string timed_arm(const TimedArm& arm) {
  std::string sql = violations_of(arm.where.empty() ? "timings" : "timings_control");
  const std::string name = "reference.";
  for (std::size_t at = sql.find(name); at != std::string::npos && !arm.where.empty();
       at = sql.find(name, at + 1))
    sql.replace(at, name.size(), arm.where + ".");
  if (!arm.tells_warmups) return sql;
  return "(SELECT * FROM " + sql + " WHERE op NOT IN (SELECT op FROM " +
         inside(arm, "study_operation") + " WHERE warmup <> 0))";
}

// Both arms under one name, each row with its condition. Attempted path names do not decide what a
// request did; its admission does. The immediate repeat of a prompt stands apart from what was
// asked for once, whatever it did.
std::string timed(const TimedArms& arms) {
  std::string both = timed_arm(arms.own);
  if (arms.control)
    both = "(SELECT * FROM " + timed_arm(*arms.control) + " UNION ALL SELECT * FROM " + both + ")";
  return "(SELECT CASE arm WHEN 'control' THEN 'OFF ' ELSE 'ON ' END || " + path_words("path") +
         " || CASE kind WHEN 'repeat' THEN ' on repeat' ELSE '' END AS condition, * FROM " + both +
         ")";
}

TimedArms own_arms(Context& context) { return timed_arms(context, "", "reference"); }

std::string median_of(const std::string& values) {
  return "(SELECT AVG(v) FROM (SELECT v, ROW_NUMBER() OVER (ORDER BY v) AS place, COUNT(*) OVER () "
         "AS n FROM (" +
         values + ") WHERE v IS NOT NULL) WHERE place IN ((n + 1) / 2, (n + 2) / 2))";
}

// A cell that shows what its statement prints; "-" where there is nothing to take a median of.
void put(Context& context, std::vector<std::string>& row, std::vector<Trace>& traces,
         const std::string& values, const char* format) {
  const std::string statement =
      std::string("SELECT COALESCE(printf('") + format + "', " + median_of(values) + "), '-')";
  auto q = context.query(statement);
  // printf of NULL prints 0: ask whether there is a value at all.
  const bool any = context.number("SELECT COUNT(*) FROM (" + values + ") WHERE v IS NOT NULL") > 0;
  const bool read = q.next();
  require(q.status());
  row.push_back(any && read ? q.text(0) : "-");
  traces.push_back(any && read ? traced(context, source, statement) : Trace{});
}

std::vector<TimingPoint> points_of(Context& context, const std::string& rows, std::int64_t most) {
  std::vector<TimingPoint> points;
  auto q = context.query("SELECT condition, op, prompt_tokens, ttft_ms, total_ms FROM " + rows +
                         " ORDER BY arm DESC, op LIMIT " + std::to_string(most)); // -1: all
  while (q.next())
    points.push_back({q.text(0), q.integer(1), q.integer(2), q.real(3), q.real(4)});
  require(q.status());
  return points;
}

void read_points(Context& context, Timings& timings, const std::string& rows) {
  timings.points = points_of(context, rows, point_limit);
  timings.left_out = context.number("SELECT COUNT(*) FROM " + rows) -
                     static_cast<std::int64_t>(timings.points.size());
}

std::string only(const std::string& rows, const char* value, const std::string& condition,
                 std::int64_t length) {
  return std::string("SELECT ") + value + " AS v FROM " + rows +
         " WHERE condition = " + name_list({condition}) +
         " AND prompt_tokens = " + std::to_string(length);
}

void read_groups(Context& context, Timings& timings, const std::string& rows) {
  auto q = context.query("SELECT condition, prompt_tokens, COUNT(*) FROM " + rows +
                         " GROUP BY condition, prompt_tokens ORDER BY MIN(arm) DESC, condition "
                         "DESC, prompt_tokens");
  while (q.next()) {
    TimingGroup g;
    g.condition = q.text(0);
    g.prompt_tokens = q.integer(1);
    g.points = q.integer(2);
    const std::string values = only(rows, "ttft_ms", g.condition, g.prompt_tokens);
    const std::string statement = spread_of(values);
    auto numbers = context.query(statement);
    if (numbers.next()) {
      g.least = std::strtod(numbers.text(0).c_str(), nullptr);
      g.median = std::strtod(numbers.text(1).c_str(), nullptr);
      g.most = std::strtod(numbers.text(2).c_str(), nullptr);
    }
    require(numbers.status());
    g.trace = traced(context, source, statement);
    timings.groups.push_back(std::move(g));
  }
  require(q.status());
}

// OFF divided by ON reload, input by input: the cold run of the same prompt in the control arm.
std::string ratios(const TimedArms& arms, const char* value, std::int64_t length) {
  const std::string v = value;
  return "SELECT c." + v + " / r." + v + " AS v FROM " + timed_arm(*arms.control) + " c JOIN " +
         timed_arm(arms.own) +
         " r ON r.prompt = c.prompt WHERE c.kind = 'cold' AND r.kind = 'reload' AND r.path >= 2 "
         "AND r.prompt_tokens = " +
         std::to_string(length);
}

void add_notes(Context& context, Timings& timings, const std::string& rows) {
  Table& t = timings.table;
  if (!timings.trials && context.number("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM " + rows +
                                        " GROUP BY arm, kind, prompt)") == 1) {
    t.notes.emplace_back("No trial is repeated inside the recording, and none is set aside as a "
                         "warm-up: each prompt was generated once in each way.");
  }
  if (timings.trials)
    t.notes.emplace_back(
        "Each trial has prompts of its own. Warm-ups are set aside: they are in no "
        "median and no ratio.");
  if (const std::string probes = context.fact("probes"); !probes.empty() && probes != "off")
    t.notes.push_back("Probes were on while these times were taken: " + probes + ".");
  t.notes.emplace_back(one_recording_note);
}

void fill_table(Context& context, Timings& timings, const TimedArms& arms) {
  const std::string rows = timed(arms);
  Table& t = timings.table;
  const std::string device = context.fact("device", "unknown device");
  t.id = "performance";
  t.title = "Time to first token by what the request did, device " + device +
            (is_simulated(device) ? " (simulated: no performance claim)" : "") +
            (timings.delayed ? "; saves delayed on purpose" : "");
  t.columns = {
      {"N", "tokens"},         {"OFF recomputed", "ms"}, {"ON recomputed", "ms"},
      {"ON reload", "ms"},     {"TTFT ratio", ""},       {"total ratio", ""},
      {"OFF decode", "tok/s"}, {"ON decode", "tok/s"},   {"fewest in a median", "generations"}};
  for (const std::int64_t n :
       context.numbers("SELECT DISTINCT prompt_tokens FROM " + rows + " ORDER BY prompt_tokens")) {
    std::vector<std::string> row = {std::to_string(n)};
    std::vector<Trace> traces = {
        traced(context, source,
               "SELECT MAX(prompt_tokens) FROM study_operation WHERE prompt_tokens = " +
                   std::to_string(n))};
    for (const char* condition : {"OFF recomputed", "ON recomputed", "ON external reload"})
      put(context, row, traces, only(rows, "ttft_ms", condition, n), "%.1f");
    if (arms.control) {
      put(context, row, traces, ratios(arms, "ttft_ms", n), "%.2f");
      put(context, row, traces, ratios(arms, "total_ms", n), "%.3f");
    } else {
      row.insert(row.end(), 2, "-");
      traces.resize(traces.size() + 2);
    }
    for (const char* arm : {"OFF recomputed", "ON recomputed"})
      put(context, row, traces, only(rows, "rate", arm, n), "%.1f");
    // Generations behind the weakest of the three medians of times to the first token.
    const std::string fewest =
        "SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM " + rows +
        " WHERE prompt_tokens = " + std::to_string(n) + " AND condition IN (" +
        name_list({"OFF recomputed", "ON recomputed", "ON external reload"}) +
        ") GROUP BY condition)";
    const std::int64_t least = context.number(fewest);
    row.push_back(least > 0 ? std::to_string(least) : "-");
    traces.push_back(least > 0 ? traced(context, source, fewest) : Trace{});
    t.rows.push_back(std::move(row));
    t.traces.push_back(std::move(traces));
  }
  add_notes(context, timings, rows);
}

} // namespace

std::string path_words(const std::string& path) {
  return "CASE " + path +
         " WHEN 0 THEN 'recomputed' WHEN 1 THEN 'local reuse' WHEN 2 THEN 'external reload' WHEN 3 "
         "THEN 'local and external' ELSE 'not classified' END";
}

TimedArms timed_arms(Context& context, const std::string& recording, const std::string& control) {
  TimedArms arms;
  arms.own = {recording, context.has_column("", "study_operation", "warmup")};
  if (context.has_reference())
    arms.control = {control, context.has_column("reference", "study_operation", "warmup")};
  return arms;
}

std::string group_values(const TimedArms& arms, const std::string& condition,
                         std::int64_t prompt_tokens) {
  return only(timed(arms), "ttft_ms", condition, prompt_tokens);
}

std::string spread_of(const std::string& values) {
  return "SELECT printf('%.1f', MIN(v)), printf('%.1f', " + median_of(values) +
         "), printf('%.1f', MAX(v)) FROM (" + values + ")";
}

std::vector<TimingPoint> read_all_points(Context& context) {
  return points_of(context, timed(own_arms(context)), -1);
}

Timings read_timings(Context& context) {
  Timings timings;
  const TimedArms arms = own_arms(context);
  const std::string rows = timed(arms);
  timings.delayed = context.number("SELECT COUNT(*) FROM transfer_mark WHERE kind = 2") > 0;
  read_points(context, timings, rows);
  if (timings.points.empty()) return timings;
  read_groups(context, timings, rows);
  timings.trials = context.fact("study") == "performance" && arms.own.tells_warmups;
  fill_table(context, timings, arms);
  return timings;
}

} // namespace hitproof::audit
