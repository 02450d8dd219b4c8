// The archive's description for research-data tools: RO-Crate 1.1 metadata. Internal to the
// archive.
#pragma once

#include "schema/bag.h"

#include <string>
#include <utility>
#include <vector>

namespace hitproof::schema::bag {

inline constexpr const char* ro_crate = "ro-crate-metadata.json";

// The text of ro-crate-metadata.json for a payload of `files` (paths with "data/"), published on
// `date` (YYYY-MM-DD). `facts` are those of bag-info.txt.
std::string ro_crate_text(const std::vector<File>& files, const std::string& date,
                          const std::vector<std::pair<std::string, std::string>>& facts);

} // namespace hitproof::schema::bag
