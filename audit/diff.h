// What differs between two archives: verdicts, figures, findings, boundary rows, token ids, plan,
// versions, environment. Nothing is judged here; an archive compared with itself differs nowhere.
//
// Rows are matched by what they are about (a reload by its prompt length and place, a finding by
// its names), never by ids, addresses or times, which differ between any two runs.
#pragma once

#include "audit/audit.h"

#include <string>
#include <vector>

namespace hitproof::audit {

struct Difference {
  std::string part; // one of diff_parts()
  std::string what; // "pages", "pages.h2d_rows", "N = 3584, p"
  std::string a, b; // as each archive has it; "-" where it has none
};

// verdicts, figures, findings, boundary, tokens, plan, versions, environment: in this order.
const std::vector<std::string>& diff_parts();

// Compares the named parts, all of them where the list is empty. Errors as audit_archive.
schema::Result<std::vector<Difference>> diff_archives(const std::string& a, const std::string& b,
                                                      const std::vector<std::string>& parts = {},
                                                      const Options& options = {});

} // namespace hitproof::audit
