// Scratch archives for the auditor's tests: one good study per process, copied and broken with SQL.
#pragma once

#include "audit/audit.h"
#include "audit/selftest/scratch.h"
#include "audit/selftest/world/small.h"

#include <string>
#include <vector>

namespace hitproof::audit::testing {

using selftest::index_page;
using selftest::mla_page;
using selftest::nine_lengths;
using selftest::small_spec;
using selftest::state_content;
using selftest::StudySpec;
using selftest::tail_bytes;
using selftest::write_archive;
using selftest::write_study;

class ScratchDir : public selftest::ScratchDir {
 public:
  ScratchDir() : selftest::ScratchDir("hitproof-audit") {}
};

// Copies the small good study (audit/selftest/world/small.h), which is made once, to `dir`.
void copy_good_study(const std::string& dir);
// The same with an eighth of its rows: for who changes and audits it hundreds of times.
void copy_smallest_study(const std::string& dir);

// Runs SQL on the recording of `dir` (or on its control arm's).
void change(const std::string& dir, const std::string& sql, bool reference = false);

Report audit_or_throw(const std::string& dir, bool refuse_damaged = false);

// "pages: page_not_copied x1, ..." of everything that is not a note: for messages of failed tests.
std::string findings_of(const Report& report);
bool has_finding(const Report& report, const std::string& rule, const std::string& violation);

} // namespace hitproof::audit::testing
