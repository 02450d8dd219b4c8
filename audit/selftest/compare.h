// Whether two reports say the same.
#pragma once

#include "audit/selftest/mutation.h"

#include <string>
#include <vector>

namespace hitproof::audit::selftest {

// Compares two reports as JSON texts (audit/json.h), without the parts that `except` names. Empty
// where the rest is equal, byte for byte; else the first part that differs, with both values:
// "pages/copies: 10 became 11".
std::string difference(const std::string& before, const std::string& after,
                       const std::vector<MayChange>& except);

} // namespace hitproof::audit::selftest
