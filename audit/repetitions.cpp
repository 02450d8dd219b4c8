// What only declared repetitions have: one group of times, and continuations that must agree.
#include "audit/context.h"
#include "audit/tables.h"
#include "audit/together_parts.h"
#include "audit/trace.h"
#include "schema/plan.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

namespace hitproof::audit {
namespace {

// By operation: the prompt and its kind, then the generated ids.
struct Generation {
  std::string input;
  std::vector<std::int64_t> tokens;
  bool operator==(const Generation&) const = default;
};
using Generations = std::map<std::int64_t, Generation>;

Generations read_generations(Context& context, const std::string& where) {
  Generations out;
  auto q = context.query("SELECT o.op, HEX(o.prompt) || o.kind, t.token FROM " + where +
                         "study_operation o JOIN " + where +
                         "study_token t ON t.op = o.op ORDER BY o.op, t.position");
  while (q.next()) {
    Generation& g = out[q.integer(0)];
    if (g.input.empty()) g.input = q.text(1);
    g.tokens.push_back(q.integer(2));
  }
  require(q.status());
  return out;
}

// Of the generations of the same operation with the same input: how many, and how many are equal.
std::string agreement(const Generations& first, const Generations& other) {
  std::int64_t compared = 0, equal = 0;
  for (const auto& [op, g] : other) {
    const auto found = first.find(op);
    if (found == first.end() || found->second.input != g.input) continue;
    ++compared;
    equal += found->second == g;
  }
  return compared == 0 ? "-" : grouped(equal) + " of " + grouped(compared);
}

// The same in SQL: `first` is the first archive's arm, attached, `where` this one's.
Trace agreement_trace(const std::string& file, const std::string& before,
                      const std::string& where) {
  const std::string pairs =
      " FROM " + where +
      "study_operation o JOIN first.study_operation f ON f.op = o.op AND "
      "f.prompt = o.prompt AND f.kind = o.kind WHERE EXISTS (SELECT 1 FROM " +
      where +
      "study_token t WHERE t.op = o.op) AND EXISTS (SELECT 1 FROM first.study_token t "
      "WHERE t.op = o.op)";
  const auto lacks = [&](const std::string& here, const std::string& there) {
    return " AND NOT EXISTS (SELECT 1 FROM " + here + "study_token a LEFT JOIN " + there +
           "study_token b ON b.op = a.op AND b.position = a.position WHERE a.op = o.op AND "
           "(b.token IS NULL OR b.token <> a.token))";
  };
  return {"generations.sql", before + "ATTACH " + sql_quoted(file) + " AS first; ",
          "SELECT COUNT(*)" + pairs + lacks(where, "first.") + lacks("first.", where) +
              "; SELECT COUNT(*)" + pairs + ";"};
}

std::string recording_of(const std::string& dir) { return dir + "/data/recording.sqlite"; }
std::string control_of(const std::string& dir) { return dir + "/data/reference/recording.sqlite"; }

std::string first_line_that_differs(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string here, there;
  while (std::getline(left, here)) {
    if (!std::getline(right, there) || here != there) return "'" + here + "'";
  }
  return "its length";
}

Timings apart(const std::vector<Dossier>& members) {
  Timings out;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Timings& t = members[m].timings;
    const std::string number = std::to_string(m + 1) + ": ";
    for (TimingGroup g : t.groups) {
      g.condition = number + g.condition;
      g.trace.archive = members[m].report.path;
      out.groups.push_back(std::move(g));
    }
    for (TimingPoint p : t.points) {
      p.condition = number + p.condition;
      out.points.push_back(std::move(p));
    }
    out.left_out += t.left_out;
    out.delayed |= t.delayed;
  }
  return out;
}

double rounded(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", value);
  return std::strtod(text, nullptr);
}

// Least, median and most over the values of all members, and the statement that gives them again.
TimingGroup group_of(const std::vector<Dossier>& members, const std::vector<TimedArms>& arms,
                     const std::string& condition, std::int64_t length,
                     std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  TimingGroup g;
  g.condition = condition;
  g.prompt_tokens = length;
  g.points = static_cast<std::int64_t>(n);
  g.least = rounded(values.front());
  g.median = rounded((values[(n - 1) / 2] + values[n / 2]) / 2);
  g.most = rounded(values.back());
  std::string before, all;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Report& r = members[m].report;
    if (m > 0)
      before += "ATTACH " + sql_quoted(recording_of(r.path)) + " AS " + arms[m].own.where + "; ";
    if (arms[m].control)
      before += "ATTACH " + sql_quoted(control_of(r.path)) + " AS " + arms[m].control->where + "; ";
    all += (all.empty() ? "SELECT v FROM (" : ") UNION ALL SELECT v FROM (") +
           group_values(arms[m], condition, length);
  }
  // SQLite attaches ten files at most, two a run; of more runs no one statement gives the numbers.
  constexpr std::size_t most_attached = 5;
  if (members.size() <= most_attached) {
    g.trace = {"timings.sql", before, one_line(spread_of(all + ")")) + ";",
               members.front().report.path};
  }
  return g;
}

Timings pooled(const std::vector<Dossier>& members, const TogetherOptions& options) {
  Timings out;
  out.runs = options.names;
  std::vector<std::pair<std::string, std::int64_t>> order;
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> values;
  std::vector<TimedArms> arms;
  for (std::size_t m = 0; m < members.size(); ++m) {
    out.delayed |= members[m].timings.delayed;
    if (m == 0) {
      for (const TimingGroup& g : members[m].timings.groups)
        order.emplace_back(g.condition, g.prompt_tokens);
    }
    Context context(members[m].report.path);
    // In statements over all of them the first is the file that is opened, the others attached.
    const std::string name = m == 0 ? "" : "run" + std::to_string(m + 1);
    arms.push_back(timed_arms(context, name, m == 0 ? "reference" : name + "_control"));
    for (TimingPoint p : read_all_points(context)) {
      const std::pair group(p.condition, p.prompt_tokens);
      if (std::find(order.begin(), order.end(), group) == order.end()) order.push_back(group);
      values[group].push_back(p.ttft_ms);
      p.run = m;
      if (static_cast<std::int64_t>(out.points.size()) < point_limit)
        out.points.push_back(std::move(p));
      else
        ++out.left_out;
    }
  }
  for (const auto& group : order)
    out.groups.push_back(group_of(members, arms, group.first, group.second, values[group]));
  return out;
}

} // namespace

schema::Status check_repetitions(const std::vector<Dossier>& members) {
  const auto refused = [&](std::size_t m, const std::string& why) {
    return schema::Status(schema::Code::invalid_argument,
                          members[m].report.path + " is no repetition of " +
                              members.front().report.path + ": " + why);
  };
  std::string plan;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Report& first = members.front().report;
    const Report& r = members[m].report;
    // The order of the arms is the one thing in which repetitions may differ.
    auto read = schema::read_plan(r.path + "/data/plan.toml");
    if (!read.ok()) return refused(m, "its plan cannot be read: " + read.status().message());
    std::sort(read->arms.begin(), read->arms.end());
    const std::string text = schema::write_plan(*read);
    if (m == 0) {
      plan = text;
      continue;
    }
    if (text != plan)
      return refused(m, "their plans differ, first in " + first_line_that_differs(plan, text));
    if (r.arm != first.arm || r.lookup != first.lookup || r.device != first.device ||
        r.preset != first.preset)
      return refused(m, "arm, lookup, device or preset differ");
    for (std::size_t other = 0; other < m; ++other) {
      const auto& here = members[m].facts;
      const auto& there = members[other].facts;
      const auto a = here.find("started_unix_ns"), b = there.find("started_unix_ns");
      if (a != here.end() && b != there.end() && a->second == b->second)
        return refused(m, "it is the same recording as " + members[other].report.path);
    }
  }
  return {};
}

void add_agreement(const std::vector<Dossier>& members, Table& table) {
  const Report& first = members.front().report;
  Context first_context(first.path);
  const Generations own = read_generations(first_context, "");
  const bool control = first_context.has_reference();
  const Generations others =
      control ? read_generations(first_context, "reference.") : Generations();
  std::vector<std::string> row = {"generations equal to those of 1", "-", "-"};
  std::vector<Trace> traces(3);
  for (std::size_t m = 1; m < members.size(); ++m) {
    const std::string& dir = members[m].report.path;
    Context context(dir);
    std::string cells[2] = {"-", "-"};
    Trace made[2];
    const bool is_control = context.is_control();
    cells[is_control ? 0 : 1] = agreement(own, read_generations(context, ""));
    made[is_control ? 0 : 1] = agreement_trace(recording_of(first.path), "", "");
    if (!is_control && control && context.has_reference()) {
      cells[0] = agreement(others, read_generations(context, "reference."));
      made[0] = agreement_trace(control_of(first.path),
                                "ATTACH " + sql_quoted(control_of(dir)) + " AS reference; ",
                                "reference.");
    }
    for (std::size_t arm = 0; arm < 2; ++arm) {
      row.push_back(cells[arm]);
      made[arm].archive = dir;
      traces.push_back(cells[arm] == "-" ? Trace{} : made[arm]);
    }
  }
  table.rows.push_back(std::move(row));
  table.traces.push_back(std::move(traces));
}

Timings timings_together(const std::vector<Dossier>& members, const TogetherOptions& options) {
  const std::string& device = members.front().report.device;
  for (const Dossier& d : members) {
    if (d.report.device != device) return {};
  }
  return options.repetitions ? pooled(members, options) : apart(members);
}

} // namespace hitproof::audit
