// Reading files that a stranger may have laid down: plain files only, no link followed, no wait for
// a pipe's other end. Internal to the schema.
#pragma once

#include "schema/sha256.h"
#include "schema/status.h"

#include <functional>
#include <string>
#include <vector>

namespace hitproof::schema {

// Hands the file to `use` piece by piece until it returns false. Errors: not_found; io_error, also
// for a link, folder, pipe, socket or device.
Status read_plain_file(const std::string& path,
                       const std::function<bool(const unsigned char*, std::size_t)>& use);

// SHA-256 of each file, in the order of `paths`, by as many threads as the machine has cores; one
// file is read by one thread.
std::vector<Result<Digest>> hash_plain_files(const std::vector<std::string>& paths);

} // namespace hitproof::schema
