// How an audit's report is shown by every subcommand that has one.
#pragma once

#include "audit/report.h"
#include "cli/command.h"
#include "cli/output.h"
#include "schema/status.h"

#include <string>

namespace hitproof::cli {

// Boundary matrix, regression table, rules, findings with witnesses, the verdict, the next command.
void print_report(Output& out, const audit::Report& report);

// 0 pass, 1 fail, 3 inconclusive.
int exit_code_of(audit::Verdict verdict);

// Says why an archive could not be used and what to do; the exit code that goes with it (2 or 4).
int complain_about_archive(const schema::Status& status, const std::string& dir);

} // namespace hitproof::cli
