// The auditor put to the test: good archives are changed on purpose, one change at a time, and the
// right rule must answer by name; harmless changes must leave the whole report as it was. The score
// is how many of both were answered rightly; anything below all of them is a finding.
#pragma once

#include "audit/selftest/workshop.h"
#include "audit/table.h"
#include "audit/verdict.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hitproof::audit::selftest {

struct Settings {
  std::vector<std::string> only; // names or rules of mutations; empty: all
  std::string keep;  // folder for changed archives that were answered wrongly; with `only` for all
  std::string blind; // "rule" or "rule.violation" that the auditor is made not to see
  unsigned jobs = 0; // archives audited at a time; 0: one a core, at most 8
  Auditor auditor;   // empty: the auditor
  std::function<bool()> stop; // asked before each change whether to end; empty: never
};

struct RuleScore {
  std::string rule; // "all" for harmless changes to every rule
  std::int64_t mutations = 0, caught = 0, missed = 0;
  std::int64_t harmless = 0, silent = 0, disturbed = 0;
  std::int64_t skipped = 0; // of both
};

struct Score {
  std::string archive;       // empty for the built-in study
  std::vector<Trial> trials; // in the order of the list
  double seconds = 0;

  std::vector<RuleScore> by_rule() const; // in the order of the list
  RuleScore total() const;
  // pass: all that was tried was answered; fail: something was not; inconclusive: nothing was
  // tried.
  Verdict verdict() const;
  // "PASS: 160 of 160 mutations caught, ..."
  std::string sentence() const;
  Table table() const;
};

// Of several archives together.
Verdict verdict_of(const std::vector<Score>& scores);
std::string sentence_of(const std::vector<Score>& scores);

// What `only` names, all where it is empty. Errors: invalid_argument names what is none.
schema::Result<std::vector<const Mutation*>> chosen(const std::vector<std::string>& only);

// `progress` hears how many are done and which one was last; from one thread at a time.
using OnTrial = std::function<void(std::size_t done, std::size_t of, const Trial& last)>;

// Tries the chosen mutations on `archive`, which is copied and never written to; on the built-in
// study where it is empty. Errors: invalid_argument (a name, a rule, an archive that is not good),
// those of audit_archive, io_error, incomplete (stopped), no_space and refused: what a machine
// cannot do is no answer of the auditor's.
schema::Result<Score> run(const std::string& archive, const Settings& settings = {},
                          const OnTrial& progress = {});

// JSON, indented, with a newline at the end: docs/selftest.md. The list of all, and the scores.
std::string list_json(const std::vector<const Mutation*>& list);
std::string to_json(const std::vector<Score>& scores);

} // namespace hitproof::audit::selftest
