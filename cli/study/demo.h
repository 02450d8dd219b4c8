// The demo: the whole claim of the project in one run, on a machine without a GPU.
//
//   1. control and strict candidate under the probe, nine lengths: every rule must pass
//   2. full lookup, metadata observers only: must be refuted at the exact boundaries and nowhere
//   else
//   3. broken engines on preset micro: each must be caught by its own check, its clean twin stays
//   silent
#pragma once

#include "audit/report.h"
#include "audit/table.h"
#include "schema/status.h"

#include <string>
#include <vector>

namespace hitproof::cli {

struct DemoOptions {
  std::string out = "out/demo";
  std::string preset = "tiny"; // of parts 1 and 2
  std::string device = "sim", gpus = "0";
  std::string broken_preset = "micro";
  uint32_t tokens = 64;
  bool quiet = false;
};

struct BrokenResult {
  std::string name, what, failed, inconclusive;
  std::vector<std::string> wrong; // empty: as expected
};

struct DemoResult {
  audit::Report candidate, full, clean;
  uint32_t checkpoint = 0;
  std::vector<BrokenResult> broken;
  std::vector<std::string> wrong; // everything that is not as it must be; empty: the demo passes
};

// Removes an earlier demo in options.out (recognised by its marker file), runs the three parts and
// audits them. Errors: the folder holds something else; an engine or the recorder failed.
schema::Result<DemoResult> run_demo(const DemoOptions& options);

// Table 4 of the paper: B and p before (full) and after (strict), first differing token, suffix,
// loads.
audit::Table boundary_matrix(const DemoResult& result);
// What each broken engine was caught by.
audit::Table broken_table(const DemoResult& result);
audit::Table caught_table(const DemoResult& result);

} // namespace hitproof::cli
