#include "cli/study/prompts.h"

#include "schema/sha256.h"

namespace hitproof::cli {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a counter in, a well-mixed 64-bit number out.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

} // namespace

std::vector<uint32_t> default_lengths(uint32_t c) {
  return {2 * c - 1, 2 * c,     2 * c + 1, 2 * c + 3, 2 * c + 4,
          2 * c + 5, 3 * c - 1, 3 * c,     3 * c + 1};
}

std::vector<int32_t> make_prompt(uint32_t length, char which, uint64_t seed, uint32_t vocabulary) {
  std::string tag = "[document " + std::to_string(length) + "-" + which + "] ";
  std::vector<int32_t> ids(length);
  uint64_t key = mix(seed);
  for (char c : tag)
    key = mix(key ^ static_cast<unsigned char>(c));
  for (uint32_t i = 0; i < length; ++i) {
    ids[i] = i < tag.size() ? static_cast<unsigned char>(tag[i])
                            : static_cast<int32_t>(mix(key + i) % vocabulary);
  }
  return ids;
}

std::array<uint8_t, 32> prompt_sha256(const std::vector<int32_t>& ids) {
  return schema::sha256(ids.data(), ids.size() * sizeof(int32_t));
}

} // namespace hitproof::cli
