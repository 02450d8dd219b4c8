// Which records prove which violation: the fewest tables whose rows, read in order, leave no doubt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::audit {

// Tables in witness.h's names, for the violation `rule`/`violation`; `otherwise` where the
// violation has no list of its own and everything that the rule can cite is shown.
std::vector<const char*> proof_of(std::string_view rule, std::string_view violation,
                                  std::span<const char* const> otherwise);

// All violations that have a list, as "rule/violation", for the test that holds the list to the
// rules.
std::vector<std::string> proved_violations();

} // namespace hitproof::audit
