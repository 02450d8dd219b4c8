#include "engine/front/tokenizer.h"

namespace hitproof::engine {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// Length of the character that a first byte announces; 0 where no character starts with it.
size_t character_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// Overlong forms, surrogates and values beyond U+10FFFF are told by the second byte alone.
bool valid_second(unsigned char first, unsigned char second) {
  switch (first) {
  case 0xE0:
    return second >= 0xA0 && second <= 0xBF;
  case 0xED:
    return second >= 0x80 && second <= 0x9F;
  case 0xF0:
    return second >= 0x90 && second <= 0xBF;
  case 0xF4:
    return second >= 0x80 && second <= 0x8F;
  default:
    return second >= 0x80 && second <= 0xBF;
  }
}

} // namespace

bool encodes_text(int vocabulary) { return vocabulary >= first_byte_token + 256; }

std::vector<int32_t> encode(std::string_view text) {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  for (const char c : text)
    ids.push_back(first_byte_token + static_cast<unsigned char>(c));
  return ids;
}

void TextStream::push_byte(unsigned char byte, std::string& out) {
  if (!pending_.empty()) {
    const auto first = static_cast<unsigned char>(pending_[0]);
    const bool continues = pending_.size() == 1 ? valid_second(first, byte) : (byte & 0xC0) == 0x80;
    if (continues) {
      pending_.push_back(static_cast<char>(byte));
      if (pending_.size() == character_length(first)) {
        out += pending_;
        pending_.clear();
      }
      return;
    }
    out += replacement;
    pending_.clear();
  }
  const size_t length = character_length(byte);
  if (length == 0) {
    out += replacement;
  } else if (length == 1) {
    out.push_back(static_cast<char>(byte));
  } else {
    pending_.assign(1, static_cast<char>(byte));
  }
}

std::string TextStream::push(std::span<const int32_t> ids) {
  std::string out;
  for (const int32_t id : ids) {
    if (id >= first_byte_token && id < first_byte_token + 256) {
      push_byte(static_cast<unsigned char>(id - first_byte_token), out);
      continue;
    }
    out += finish();
    out += "<|" + std::to_string(id) + "|>";
  }
  return out;
}

std::string TextStream::finish() {
  if (pending_.empty()) return {};
  pending_.clear();
  return std::string(replacement);
}

} // namespace hitproof::engine
