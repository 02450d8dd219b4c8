// A report as JSON (docs/json/README.md): per rule an object with its figures under their
// names, its verdict, observations, bound and findings; `bytes` of the page moves; the overall
// verdict.
#pragma once

#include "audit/report.h"

#include <string>

namespace hitproof::audit {

// Indented, with a newline at the end.
std::string to_json(const Report& report);

} // namespace hitproof::audit
