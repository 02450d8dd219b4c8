// SQLite's result codes as a Status. Internal to the schema.
#pragma once

#include "schema/status.h"

struct sqlite3;

namespace hitproof::schema {

// `db` may be null; otherwise its last error message is used.
Status sqlite_status(sqlite3* db, int code, const std::string& what);

} // namespace hitproof::schema
