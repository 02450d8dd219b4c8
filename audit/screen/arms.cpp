#include "audit/screen/arms.h"

#include "audit/rule.h"

#include <algorithm>
#include <future>

namespace hitproof::audit::screen {
namespace {

// One request's share of a step, as control_arms.sql compares it.
struct Shape {
  std::int64_t request, rank, step;
  std::int64_t start, tokens, drafts, requests, batch;

  bool before(const Shape& o) const {
    return std::tie(request, rank, step) < std::tie(o.request, o.rank, o.step);
  }
  // Steps are numbered otherwise in another arm; only their order counts.
  bool like(const Shape& o) const {
    return std::tie(rank, start, tokens, drafts, requests, batch) ==
           std::tie(o.rank, o.start, o.tokens, o.drafts, o.requests, o.batch);
  }
};
using Shapes = std::vector<Shape>;

Shapes read_shapes(const schema::TableMap& map) {
  struct Step {
    std::int64_t step, rank, process, requests, tokens;
    bool before(const Step& o) const {
      return std::tie(step, rank, process) < std::tie(o.step, o.rank, o.process);
    }
  };
  Sequences unused(map.file_bytes());
  std::vector<Step> steps;
  scan(map, "step", {"step", "rank", "requests", "tokens"}, unused,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i)
           steps.push_back(
               {column(0)[i], column(1)[i], rows.integers(0)[i], column(2)[i], column(3)[i]});
       });
  const auto before = [](const auto& a, const auto& b) { return a.before(b); };
  std::sort(steps.begin(), steps.end(), before);
  auto at = steps.begin();
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (!steps[i - 1].before(steps[i])) throw Unsuited("a step that began twice");
  Shapes shapes;
  scan(map, "step_request", {"request", "rank", "step", "start", "tokens", "drafts"}, unused,
       [&](const schema::PageRows& rows) {
         const auto column = [&](std::size_t n) { return rows.integers(first_column + n); };
         for (std::size_t i = 0; i < rows.rows(); ++i) {
           const Step sought{column(2)[i], column(1)[i], rows.integers(0)[i], 0, 0};
           // A request's share of a step mostly follows its share of the step before.
           if (at != steps.end() && at->before(sought)) ++at;
           if (at == steps.end() || at->before(sought) || sought.before(*at))
             at = std::lower_bound(steps.begin(), steps.end(), sought, before);
           if (at == steps.end() || sought.before(*at)) continue;
           shapes.push_back({column(0)[i], column(1)[i], column(2)[i], column(3)[i], column(4)[i],
                             column(5)[i], at->requests, at->tokens});
         }
       });
  std::sort(shapes.begin(), shapes.end(), before);
  for (std::size_t i = 1; i < shapes.size(); ++i)
    if (!shapes[i - 1].before(shapes[i])) throw Unsuited("a request twice in one step");
  return shapes;
}

std::pair<Shapes::const_iterator, Shapes::const_iterator> of(const Shapes& shapes,
                                                             std::int64_t request) {
  const auto begin =
      std::lower_bound(shapes.begin(), shapes.end(), request,
                       [](const Shape& s, std::int64_t value) { return s.request < value; });
  auto end = begin;
  while (end != shapes.end() && end->request == request)
    ++end;
  return {begin, end};
}

bool alike(const Shapes& a, std::int64_t request, const Shapes& b, std::int64_t control_request) {
  const auto [first, last] = of(a, request);
  const auto [control_first, control_last] = of(b, control_request);
  return first != last && std::equal(first, last, control_first, control_last,
                                     [](const Shape& x, const Shape& y) { return x.like(y); });
}

bool replace(std::string& sql, const std::string& what, const std::string& with) {
  const std::size_t at = sql.find(what);
  if (at == std::string::npos) return false;
  sql.replace(at, what.size(), with);
  return true;
}

} // namespace

std::string with_body(const std::string& sql, const std::string& name, const std::string& body) {
  const std::size_t begin = sql.find("\n" + name + " AS (");
  if (begin == std::string::npos) return "";
  const std::size_t open = sql.find('(', begin);
  int depth = 0;
  for (std::size_t at = open; at < sql.size(); ++at) {
    depth += sql[at] == '(' ? 1 : sql[at] == ')' ? -1 : 0;
    if (depth == 0) return sql.substr(0, open + 1) + body + sql.substr(at);
  }
  return "";
}

std::optional<Plan> plan_arms(Context& context, const schema::TableMap& candidate) {
  if (!context.has_reference()) return std::nullopt;
  const std::string rule = rule_sql("control_arms");
  // The query's own text decides which generations are a pair.
  std::string pairs = rule.substr(0, rule.find("\nshape AS ("));
  if (pairs.empty() || pairs.back() != ',') return std::nullopt;
  pairs.back() = ' ';
  pairs += "SELECT op, request, control_request, equal_tokens FROM pair";
  const std::string few = " WHERE request IN (SELECT ";
  std::string sql = with_body(rule, "pair",
                              "SELECT op, request, control_request, equal_tokens FROM "
                              "temp.pairs_to_compare");
  if (sql.empty() ||
      !replace(sql, "FROM step_request q ",
               "FROM (SELECT * FROM step_request" + few +
                   "request FROM temp.pairs_to_compare)) q ") ||
      !replace(sql, "FROM reference.step_request q\n",
               "FROM (SELECT * FROM reference.step_request" + few +
                   "control_request FROM temp.pairs_to_compare)) q\n"))
    return std::nullopt;
  auto recording = schema::Recording::open_file(context.reference_path());
  if (!recording.ok()) return std::nullopt;
  const auto map = schema::TableMap::of(*recording);
  if (!map.ok()) return std::nullopt;
  try {
    auto beside = std::async(std::launch::async, [&] { return read_shapes(*map); });
    const Shapes shapes = read_shapes(candidate);
    const Shapes control_shapes = beside.get();
    Plan plan;
    plan.sql = sql;
    plan.prepare = {"DROP TABLE IF EXISTS temp.pairs_to_compare",
                    "CREATE TEMP TABLE pairs_to_compare (op INTEGER, request INTEGER, "
                    "control_request INTEGER, equal_tokens INTEGER)"};
    auto q = context.query(pairs);
    while (q.next()) {
      if (alike(shapes, q.integer(1), control_shapes, q.integer(2))) continue;
      std::string values;
      for (int i = 0; i < 4; ++i)
        values += (i == 0 ? "" : ", ") + std::to_string(q.integer(i));
      plan.prepare.push_back("INSERT INTO temp.pairs_to_compare VALUES (" + values + ")");
    }
    require(q.status());
    return plan;
  } catch (const Unsuited&) {
    return std::nullopt;
  }
}

} // namespace hitproof::audit::screen
