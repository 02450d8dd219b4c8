// Two recordings of one study beside each other, with full and with strict lookup: the form of the
// paper's Table 4.
#pragma once

#include "audit/report.h"

namespace hitproof::audit {

Table boundary_before_after(const Report& before, const Report& after);

} // namespace hitproof::audit
