// Keys that plainly name every input of the contents that were saved under them.
#pragma once

#include "audit/screen/look.h"

namespace hitproof::audit::screen {

// Rows of `transfer` and `key_input` that rule keys has to look at: those of keys, each on its
// rank, whose inputs do not hold all content inputs of one process of that rank. Empty, so that
// both tables are needed whole, where a value is of another type than a recorder writes.
Kept keys_to_compare(Context& context, const Small& known);

} // namespace hitproof::audit::screen
