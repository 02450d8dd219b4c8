#include "cli/study/prompts.h"

#include "cli/study/mix.h"
#include "cli/study/prompt_texts.h"
#include "schema/sha256.h"

namespace hitproof::cli {

std::vector<uint32_t> default_lengths(uint32_t c) {
  return {2 * c - 1, 2 * c,     2 * c + 1, 2 * c + 3, 2 * c + 4,
          2 * c + 5, 3 * c - 1, 3 * c,     3 * c + 1};
}

std::vector<uint32_t> three_lengths(uint32_t c) { return {2 * c - 1, 2 * c, 3 * c}; }

std::vector<int32_t> make_prompt(const schema::PlannedOperation& op, const PromptSource& source) {
  std::vector<int32_t> ids(op.length);
  std::string name = std::to_string(op.length) + "-" + op.which;
  if (op.prompt_template != "tagged") {
    const std::string text = prompt_text(op.prompt_template, name, op.length, source.seed);
    for (uint32_t i = 0; i < op.length; ++i)
      ids[i] = source.first_byte_token + static_cast<unsigned char>(text[i]);
    return ids;
  }
  // A trial has prompts of its own: what an earlier one left in a cache is of no use to it.
  if (op.trial != 0) name += " trial " + std::to_string(op.trial);
  const std::string tag = "[document " + name + "] ";
  uint64_t key = mix(source.seed);
  for (char c : tag)
    key = mix(key ^ static_cast<unsigned char>(c));
  for (uint32_t i = 0; i < op.length; ++i) {
    ids[i] = i < tag.size() ? static_cast<unsigned char>(tag[i])
                            : static_cast<int32_t>(mix(key + i) % source.vocabulary);
  }
  return ids;
}

std::array<uint8_t, 32> prompt_sha256(const std::vector<int32_t>& ids) {
  return schema::sha256(ids.data(), ids.size() * sizeof(int32_t));
}

} // namespace hitproof::cli
