// Hashing a file where it lies in the page cache, without a copy. Internal to the schema.
#pragma once

#include "schema/sha256.h"
#include "schema/status.h"

#include <cstdint>

namespace hitproof::schema {

// Adds the first `bytes` bytes of the open file to `hash`. A file that somebody cuts meanwhile
// would end the program (SIGBUS); here it is an io_error, and `hash` holds nothing of use. Installs
// a handler for that signal at its first use, which leaves all other cases to the one before it.
Status hash_mapped(int fd, std::uint64_t bytes, Sha256& hash);

} // namespace hitproof::schema
