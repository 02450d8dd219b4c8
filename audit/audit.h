// The auditor: reads an archive's records and recomputes every verdict from them. It needs no GPU,
// no engine and no network, changes nothing in the archive, and believes no field that says "pass".
//
// A recording that was never closed is audited too; its verdict is then inconclusive at best.
#pragma once

#include "audit/report.h"
#include "schema/status.h"

#include <functional>
#include <string>

namespace hitproof::audit {

// What one part of an audit took, in seconds: "open", "look", "verify" (what was left by then of
// the checks beside it), then the rules' names and "reloads", of which two may run at a time. One
// call at a time.
using Took = std::function<void(const std::string& part, double seconds)>;

struct Options {
  // Refuse an archive whose files are not those of its manifests (Code::corruption, naming the
  // files). Without it the problems appear as findings of rule evidence.
  bool refuse_damaged = true;
  // Run every query over all records, as a reviewer would with the rules' files alone: slow where
  // there are millions of them, and the same answer.
  bool statements_only = false;
  Took took = {};
};

// Audits the recording in `dir` (`dir/data/recording.sqlite`, the control arm in
// `dir/data/reference/recording.sqlite` where there is one). Errors: not_found (no recording
// there), corruption (damaged archive or database), newer_format, io_error.
schema::Result<Report> audit_archive(const std::string& dir, const Options& options = {});

} // namespace hitproof::audit
