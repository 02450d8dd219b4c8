// What an audit answers: one report a rule, findings with their witnesses, and the overall verdict.
// Plain data: rendering is in json.h and tables.h, the making in audit.h.
#pragma once

#include "audit/table.h"
#include "audit/verdict.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hitproof::audit {

// A number or list of numbers that a rule counted; the name is its key in JSON.
struct Figure {
  std::string name;
  std::variant<std::int64_t, std::vector<std::int64_t>> value;
  Trace trace;
};

// One record that helps to prove a finding, in plain words.
struct WitnessRecord {
  std::string table;
  std::int64_t process = 0, thread = 0, seq = 0; // names the row: unique over all tables
  double at_ms = 0;                              // after the recording's first record
  std::string words;
};

// What a violation is about; absent where the violation has no such subject.
struct Subject {
  std::optional<std::int64_t> rank, transfer, request, entry, block, op, process;
  std::optional<std::int64_t> at_ns;
  std::string expected, actual, name;
};

// All violations of one kind, shown by the first of them.
struct Finding {
  std::string rule;
  std::string violation;          // identifier, stable: "page_not_copied"
  Verdict effect = Verdict::fail; // fail, inconclusive, or pass for a mere note
  std::int64_t count = 0;
  std::string words; // the first one, as a sentence
  Subject first;
  std::vector<WitnessRecord> witness; // of the first one, in order of time
  std::string query;                  // shows the witness' main record in the sqlite3 shell
  Trace counted;                      // gives `count` again
};

// A record of a path, with what its picture needs.
struct PathRecord : WitnessRecord {
  double end_ms = 0;                  // its call had returned; `at_ms` for a fact
  std::optional<std::int64_t> stream; // handle in its process, where the call is about one
};

// Records by which a load is done before the step that reads it, or a step's work before the copies
// of a save; where no such path was found, those as far as one led from its begin.
struct OrderPath {
  bool load = false, proved = false;
  std::int64_t transfer = 0, rank = 0, request = 0;
  std::vector<PathRecord> records;
};

struct RuleReport {
  std::string name;
  std::string proves; // what a pass says
  Verdict verdict = Verdict::inconclusive;
  std::int64_t observations = 0; // what the verdict rests on
  Trace observed;                // gives `observations` again
  double bound = 1;              // of the violation rate where none was found
  std::vector<Figure> figures;
  std::vector<Finding> findings;
  std::vector<OrderPath> paths; // of rule order: some that are proved, and some that are not
  std::vector<std::int64_t> without_path; // of rule order: transfers that no path proves
  std::vector<std::string> missing;       // why it is not a pass although nothing wrong was seen

  // 0 where there is no such figure.
  std::int64_t figure(const std::string& figure_name) const;
  // Null where there is no such figure.
  const Figure* find_figure(const std::string& figure_name) const;
};

// One reload in the form of the boundary matrix (docs/studies.md 2.2).
struct ReloadRow {
  std::int64_t request = 0, prompt_tokens = 0;
  std::int64_t label = 0;            // B_label, from the transfers; -1 where the ranks disagree
  std::vector<std::int64_t> content; // B_content: what every loaded state page can stand for
  bool content_observed = false;
  bool unanimous = false;    // every page on every rank can stand for each number in `content`
  std::int64_t computed = 0; // p
  std::int64_t scheduled = 0, drafts = 0;
  std::int64_t chunks = 0;               // loaded, per rank
  std::vector<std::int64_t> rows, bytes; // H2D, by rank
  std::int64_t first_difference = -1;    // index of the first token that differs from cold, -1 none
  bool compared = false;                 // with its cold run
  bool aligned = false;
  std::map<std::string, Trace> traces; // by the name of the figure: "label", "rows"
};

struct Report {
  std::string path;
  std::string arm, lookup, device, preset;
  bool has_reference = false;
  Verdict verdict = Verdict::inconclusive;
  std::vector<RuleReport> rules;
  std::vector<ReloadRow> reloads;
  std::vector<std::string> exclusions;

  const RuleReport* rule(const std::string& name) const;
  // The verdict as a sentence for people.
  std::string sentence() const;
};

} // namespace hitproof::audit
