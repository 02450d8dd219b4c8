#include "audit/shown_paths.h"

#include "audit/tables.h"

#include <cstdio>

namespace hitproof::audit {
namespace {

constexpr std::size_t shown_first = 30, shown_last = 10;

std::string name_of(const OrderPath& path) {
  return (path.load ? "load " : "save ") + std::to_string(path.transfer);
}

std::string count_of(std::size_t n, const char* what) {
  return grouped(static_cast<std::int64_t>(n)) + " " + what + (n == 1 ? "" : "s");
}

} // namespace

std::vector<std::size_t> shown_of(const OrderPath& path) {
  const std::size_t all = path.records.size();
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < all; ++i)
    if (all <= shown_first + shown_last || i < shown_first || i >= all - shown_last)
      shown.push_back(i);
  return shown;
}

std::string sentence_of(const OrderPath& path) {
  const std::string from = path.load ? "the end of its last copy" : "the step that wrote its pages";
  const std::string to = path.load ? "the step that first reads it" : "its copies";
  std::string out = (path.load ? "Load " : "Save ") + std::to_string(path.transfer) + ", rank " +
                    std::to_string(path.rank) + ": ";
  if (path.proved)
    out += count_of(path.records.size(), "record") + " lead from " + from + " to " + to + ".";
  else
    out += "no path of recorded calls leads from " + from + " to " + to +
           "; the longest way that was found has " + count_of(path.records.size(), "record") + ".";
  const std::size_t left_out = path.records.size() - shown_of(path).size();
  if (left_out > 0) out += " " + count_of(left_out, "record") + " between are left out.";
  return out;
}

std::string scope_of_paths(const RuleReport& rule) {
  std::int64_t unproved = 0;
  for (const Finding& f : rule.findings)
    if (f.violation == "path_not_proved") unproved += f.count;
  return "A path proves the order of " + grouped(rule.figure("loads_proved_by_path")) +
         " loads and of " + grouped(rule.figure("saves_proved_by_path")) + " saves" +
         (unproved == 0 ? "."
                        : "; for " + count_of(static_cast<std::size_t>(unproved), "transfer") +
                              " none was found.") +
         " Shown is the earliest of each kind.";
}

Table path_table(const Report& report) {
  Table t;
  t.id = "order_paths";
  t.title = "Paths of recorded calls that prove an order";
  t.columns = {{"path", "", false}, {"proved", "", false}, {"rank", ""},      {"record", ""},
               {"at", "ms"},        {"call", "", false},   {"row", "", false}};
  const Trace again = {"hitproof audit " + report.path + " --json", "", ""};
  for (const RuleReport& rule : report.rules) {
    for (const OrderPath& path : rule.paths) {
      for (const std::size_t i : shown_of(path)) {
        const PathRecord& r = path.records[i];
        char moment[48];
        std::snprintf(moment, sizeof moment, "%.3f", r.at_ms);
        t.rows.push_back({name_of(path), path.proved ? "yes" : "no", std::to_string(path.rank),
                          std::to_string(i + 1), moment, r.words,
                          r.table + " " + std::to_string(r.process) + "." +
                              std::to_string(r.thread) + "." + std::to_string(r.seq)});
        t.traces.push_back({{}, {}, again, again, again, {}, {}});
      }
    }
    if (rule.paths.empty()) continue;
    t.notes.push_back(scope_of_paths(rule));
    for (const OrderPath& path : rule.paths)
      t.notes.push_back(sentence_of(path));
  }
  return t;
}

} // namespace hitproof::audit
