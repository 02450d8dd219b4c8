// The rows of the boundary matrix: what each reload restored and where the engine resumed.
#pragma once

#include "audit/context.h"
#include "audit/report.h"

#include <vector>

namespace hitproof::audit {

// In order of admission.
std::vector<ReloadRow> reload_rows(Context& context);

} // namespace hitproof::audit
