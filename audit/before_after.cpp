#include "audit/before_after.h"

#include "audit/table_row.h"
#include "audit/tables.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const ReloadRow* reload_of(const Report& report, std::int64_t prompt_tokens) {
  for (const ReloadRow& row : report.reloads) {
    if (row.prompt_tokens == prompt_tokens) return &row;
  }
  return nullptr;
}

std::string label_of(const ReloadRow& row) {
  return row.label < 0 ? "ranks disagree" : std::to_string(row.label);
}

Trace trace_of(const Report& report, const ReloadRow& row, const char* figure) {
  const auto found = row.traces.find(figure);
  if (found == row.traces.end()) return {};
  Trace trace = found->second;
  trace.archive = report.path;
  return trace;
}

void put(Row& out, const std::string& cell, const Report& report, const ReloadRow& row,
         const char* figure) {
  const bool any = cell.find_first_of("0123456789") != std::string::npos;
  out.put(cell, any ? trace_of(report, row, figure) : Trace{});
}

} // namespace

Table boundary_before_after(const Report& before, const Report& after) {
  Table t;
  t.id = "boundary_before_after";
  t.title = "Boundary matrix: full lookup (before) and strict lookup (after)";
  t.columns = {{"N", "tokens"},           {"B before", "tokens"},
               {"p before", "tokens"},    {"first diff before", "index"},
               {"B = p after", "tokens"}, {"suffix", "tokens"},
               {"chunks", "count"},       {"H2D rows / rank", "count"},
               {"H2D / rank", "bytes"},   {"first diff after", "index"}};
  for (const ReloadRow& r : after.reloads) {
    Row row;
    put(row, std::to_string(r.prompt_tokens), after, r, "prompt_tokens");
    if (const ReloadRow* b = reload_of(before, r.prompt_tokens)) {
      put(row, label_of(*b), before, *b, "label");
      put(row, std::to_string(b->computed), before, *b, "computed");
      put(row, difference_of(*b), before, *b, "first_difference");
    } else {
      for (int i = 0; i < 3; ++i)
        row.words("-");
    }
    if (r.label == r.computed)
      put(row, std::to_string(r.computed), after, r, "computed");
    else
      row.put(label_of(r) + " / " + std::to_string(r.computed),
              joined(r.label < 0 ? Trace{} : trace_of(after, r, "label"),
                     trace_of(after, r, "computed")));
    put(row, std::to_string(r.scheduled), after, r, "scheduled");
    put(row, std::to_string(r.chunks), after, r, "chunks");
    put(row, per_rank(r.rows), after, r, "rows");
    put(row, per_rank(r.bytes), after, r, "bytes");
    put(row, difference_of(r), after, r, "first_difference");
    std::move(row).into(t);
  }
  return t;
}

} // namespace hitproof::audit
