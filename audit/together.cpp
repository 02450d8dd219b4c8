#include "audit/together.h"

#include "audit/before_after.h"
#include "audit/study_tables.h"
#include "audit/together_parts.h"

#include <algorithm>

namespace hitproof::audit {
namespace {

// Numbers of archives as the heads and first columns show them.
std::string number_of(std::size_t member) { return std::to_string(member + 1); }

const Table* table_of(const Dossier& d, const std::string& id) {
  for (const Table& t : d.tables) {
    if (t.id == id) return &t;
  }
  return nullptr;
}

Trace about(Trace trace, const Dossier& d) {
  if (!trace.source.empty()) trace.archive = d.report.path;
  return trace;
}

class Maker {
 public:
  Maker(const std::vector<Dossier>& members, const TogetherOptions& options)
      : members_(members), options_(options) {}

  // Rows below one another, each with the number of its archive.
  Table stacked(const std::string& id) const {
    Table t;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const Table* from = table_of(members_[m], id);
      if (!from) continue;
      if (t.id.empty()) begin(t, *from);
      for (std::size_t r = 0; r < from->rows.size(); ++r) {
        std::vector<std::string> row = {number_of(m)};
        row.insert(row.end(), from->rows[r].begin(), from->rows[r].end());
        t.rows.push_back(std::move(row));
        std::vector<Trace> traces(1);
        for (std::size_t c = 0; c < from->columns.size(); ++c)
          traces.push_back(r < from->traces.size() ? about(from->traces[r][c], members_[m])
                                                   : Trace{});
        t.traces.push_back(std::move(traces));
      }
    }
    finish(t);
    return t;
  }

  // Columns beside one another; rows are matched by their first cell.
  Table beside(const std::string& id) const {
    Table t;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const Table* from = table_of(members_[m], id);
      if (!from) continue;
      if (t.id.empty()) {
        t.id = from->id;
        t.title = from->title;
        t.columns = {from->columns[0]};
      }
      for (std::size_t c = 1; c < from->columns.size(); ++c) {
        Column column = from->columns[c];
        column.name = number_of(m) + " " + column.name;
        t.columns.push_back(column);
      }
      for (std::size_t r = 0; r < from->rows.size(); ++r)
        add_cells(t, *from, r, members_[m]);
      for (std::size_t r = 0; r < t.rows.size(); ++r) {
        t.rows[r].resize(t.columns.size(), "-");
        t.traces[r].resize(t.columns.size());
      }
    }
    return t;
  }

  // What stands under every table: which archive has which number, and what was done with them.
  void finish(Table& t) const {
    if (t.id.empty()) return;
    add_notes(t);
    std::string who = options_.repetitions ? "Declared repetitions of one plan:" : "Archives:";
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const Report& r = members_[m].report;
      who += std::string(m ? "; " : " ") + number_of(m) + " = " + options_.names[m] + " (" +
             (r.lookup.empty() ? "" : r.lookup + " lookup, ") +
             "audit: " + verdict_words(r.verdict) +
             (r.exclusions.empty() ? "" : ", exclusions: " + std::to_string(r.exclusions.size())) +
             ")";
    }
    t.notes.push_back(who + ". Each number is of one recording; nothing is pooled.");
  }

 private:
  void begin(Table& t, const Table& from) const {
    t.id = from.id;
    t.columns = {{options_.repetitions ? "run" : "archive", "", false}};
    t.columns.insert(t.columns.end(), from.columns.begin(), from.columns.end());
    // Titles that name what only one of them is lose it: "Boundary matrix (full lookup): ...".
    t.title = from.title;
    const bool same = std::all_of(members_.begin(), members_.end(), [&](const Dossier& d) {
      const Table* other = table_of(d, from.id);
      return !other || other->rows.empty() || other->title == from.title;
    });
    if (!same) t.title = from.title.substr(0, from.title.find_first_of("(,:"));
    while (!t.title.empty() && t.title.back() == ' ')
      t.title.pop_back();
    if (same) return;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const Table* other = table_of(members_[m], from.id);
      if (other && !other->rows.empty())
        t.notes.push_back(number_of(m) + ": " + other->title + ".");
    }
  }

  static void add_cells(Table& t, const Table& from, std::size_t r, const Dossier& d) {
    const std::size_t before = t.columns.size() - from.columns.size() + 1;
    auto row = std::find_if(t.rows.begin(), t.rows.end(),
                            [&](const auto& cells) { return cells[0] == from.rows[r][0]; });
    if (row == t.rows.end()) {
      t.rows.push_back({from.rows[r][0]});
      t.traces.emplace_back(1);
      row = t.rows.end() - 1;
    }
    auto& traces = t.traces[static_cast<std::size_t>(row - t.rows.begin())];
    row->resize(before, "-");
    traces.resize(before);
    for (std::size_t c = 1; c < from.rows[r].size(); ++c) {
      row->push_back(from.rows[r][c]);
      traces.push_back(about(from.traces[r][c], d));
    }
  }

  // A note that all have stands once; others name their archive. That a table is of one recording
  // is no longer so.
  void add_notes(Table& t) const {
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const Table* from = table_of(members_[m], t.id);
      if (!from || from->rows.empty()) continue;
      for (const std::string& note : from->notes) {
        if (note == one_recording_note || note == one_rung_note) continue;
        const bool common = std::all_of(members_.begin(), members_.end(), [&](const Dossier& d) {
          const Table* other = table_of(d, t.id);
          return other &&
                 std::find(other->notes.begin(), other->notes.end(), note) != other->notes.end();
        });
        const std::string text = common ? note : number_of(m) + ": " + note;
        if (std::find(t.notes.begin(), t.notes.end(), text) == t.notes.end())
          t.notes.push_back(text);
      }
    }
  }

  const std::vector<Dossier>& members_;
  const TogetherOptions& options_;
};

std::string in_common(const std::vector<Dossier>& members, std::string Report::*what) {
  const std::string& first = members.front().report.*what;
  const bool same = std::all_of(members.begin(), members.end(),
                                [&](const Dossier& d) { return d.report.*what == first; });
  return same ? first : "several";
}

const Report* with_lookup(const std::vector<Dossier>& members, const char* lookup) {
  const Report* found = nullptr;
  for (const Dossier& d : members) {
    if (d.report.lookup != lookup || d.report.reloads.empty()) continue;
    if (found) return nullptr; // which one would be meant?
    found = &d.report;
  }
  return found;
}

} // namespace

schema::Result<Dossier> put_together(const std::vector<Dossier>& members,
                                     const TogetherOptions& options) {
  if (members.size() < 2)
    return schema::Status(schema::Code::invalid_argument, "fewer than two archives");
  if (options.repetitions) {
    if (auto s = check_repetitions(members); !s.ok()) return s;
  }
  Dossier d;
  d.report.path = members.front().report.path;
  d.report.device = in_common(members, &Report::device);
  d.report.arm = in_common(members, &Report::arm);
  d.report.lookup = in_common(members, &Report::lookup);
  d.report.preset = in_common(members, &Report::preset);
  const Maker make(members, options);
  try {
    const Report *full = with_lookup(members, "full"), *strict = with_lookup(members, "strict");
    if (full && strict) {
      d.tables.push_back(boundary_before_after(*full, *strict));
      make.finish(d.tables.back());
    }
    for (const char* id : {"conditions", "continuations"}) {
      Table t = make.beside(id);
      if (t.id == "continuations" && options.repetitions) add_agreement(members, t);
      make.finish(t);
      d.tables.push_back(std::move(t));
    }
    for (const char* id :
         {"boundary_matrix", "regression", "numerical_control", "continuation_cases", "performance",
          "performance_trials", "entries", "rules", "findings"})
      d.tables.push_back(make.stacked(id));
    std::erase_if(d.tables, [](const Table& t) { return t.rows.empty(); });
    d.timings = timings_together(members, options);
  } catch (const AuditError& e) {
    return e.status();
  }
  return d;
}

} // namespace hitproof::audit
