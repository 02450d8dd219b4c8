// SQLite's result codes as a Status. Internal to the schema.
#pragma once

#include "schema/status.h"

#include <string_view>

struct sqlite3;

namespace hitproof::schema {

// How a statement begins, on one line: whoever reads a message wants its end.
std::string first_words(std::string_view sql);

// `db` may be null; otherwise its last error message is used.
Status sqlite_status(sqlite3* db, int code, const std::string& what);

} // namespace hitproof::schema
