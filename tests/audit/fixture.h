// Scratch archives for the auditor's tests: one good study per process, copied and broken with SQL.
#pragma once

#include "audit/audit.h"
#include "tests/audit/synthetic.h"

#include <filesystem>
#include <string>
#include <vector>

namespace hitproof::audit::testing {

class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A small good study, candidate with control inside, made once: two ranks, lengths around one chunk
// boundary (N = 255, 256, 257 with chunks of 128), plan registered. Copies it to `dir`.
void copy_good_study(const std::string& dir);
StudySpec small_spec();

// Runs SQL on the recording of `dir` (or on its control arm's).
void change(const std::string& dir, const std::string& sql, bool reference = false);

// Writes candidate and control studies of `spec` and registers a plan in both; the control's asks
// for `control_tokens` tokens, the candidate's for 16.
void write_archive(const std::string& dir, StudySpec candidate, bool with_control = true,
                   std::uint32_t control_tokens = 16);

Report audit_or_throw(const std::string& dir, bool refuse_damaged = false);

// "pages: page_not_copied x1, ..." of everything that is not a note: for messages of failed tests.
std::string findings_of(const Report& report);
bool has_finding(const Report& report, const std::string& rule, const std::string& violation);

} // namespace hitproof::audit::testing
