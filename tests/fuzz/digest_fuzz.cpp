// Digests: the root over pages does not depend on how the bytes are handed over, and hexadecimal
// digits are read as they are written.
#include "schema/page_digest.h"
#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <vector>

namespace schema = hitproof::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = schema::digest_from_hex(text);
  if (read.ok() && (size != 64 || schema::digest_from_hex(schema::to_hex(*read)).value() != *read))
    std::abort();
  schema::Sha256 pieces;
  for (std::size_t at = 0; at < size; at += 1 + at / 3)
    pieces.update(data + at, std::min(size - at, 1 + at / 3));
  if (pieces.finish() != schema::sha256(data, size)) std::abort();
  std::vector<schema::Digest> leaves;
  for (std::size_t at = 0; at < size; at += schema::page_leaf_bytes)
    leaves.push_back(schema::page_leaf(data + at, std::min(size - at, schema::page_leaf_bytes)));
  if (schema::page_root(leaves) != schema::page_digest(data, size)) std::abort();
  return 0;
}
