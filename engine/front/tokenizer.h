// Byte-level tokenizer of the reference runtime: text in, token ids out, with no vocabulary file.
//
// Promises: ids 0..2 are pad, begin and end of sequence; byte b is id 3 + b. Every text is
// encodable where the vocabulary holds 259 ids or more. A generated id above the bytes is shown as
// <|id|>, so that nothing that was generated is invisible. Decoding works incrementally and never
// emits half of a UTF-8 character.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::engine {

inline constexpr int32_t pad_token = 0;
inline constexpr int32_t begin_token = 1;
inline constexpr int32_t end_token = 2;
inline constexpr int32_t first_byte_token = 3;

/// True where a vocabulary of that size has an id for every byte.
bool encodes_text(int vocabulary);

/// Ids of a text's bytes. The caller has checked encodes_text.
std::vector<int32_t> encode(std::string_view text);

/// Turns ids into valid UTF-8, piece by piece.
class TextStream {
 public:
  /// Text that these ids complete; bytes that cannot belong to a character become U+FFFD.
  std::string push(std::span<const int32_t> ids);
  /// Text of what is left incomplete at the end.
  std::string finish();

 private:
  void push_byte(unsigned char byte, std::string& out);
  std::string pending_; // first bytes of a character that is not complete yet
};

} // namespace hitproof::engine
