// Whether the writer of a journal can still write. Internal to the schema.
#pragma once

#include "schema/journal_format.h"

namespace hitproof::schema {

// False once the process has ended (a zombie has), or where its number now belongs to another one.
bool writer_lives(const SegmentHeader& header);

} // namespace hitproof::schema
