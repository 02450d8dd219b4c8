#include "engine/front/tokenizer.h"

#include <gtest/gtest.h>

namespace hitproof::engine {
namespace {

std::string decoded(const std::vector<int32_t>& ids) {
  TextStream stream;
  std::string text = stream.push(ids);
  return text + stream.finish();
}

TEST(Tokenizer, BytesComeBack) {
  const std::string text = "Größe 大小 \xF0\x9F\x99\x82 end\n";
  const auto ids = encode(text);
  ASSERT_EQ(ids.size(), text.size());
  EXPECT_EQ(ids[0], first_byte_token + 'G');
  EXPECT_EQ(decoded(ids), text);
}

TEST(Tokenizer, NeedsAnIdForEveryByte) {
  EXPECT_TRUE(encodes_text(259));
  EXPECT_FALSE(encodes_text(258));
}

TEST(Tokenizer, ACharacterIsGivenOutWhole) {
  TextStream stream;
  const auto ids = encode("\xE5\xA4\xA7");
  EXPECT_EQ(stream.push(std::span(ids).first(2)), "");
  EXPECT_EQ(stream.push(std::span(ids).subspan(2)), "\xE5\xA4\xA7");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Tokenizer, WhatIsNotTextIsStillVisible) {
  EXPECT_EQ(decoded({1000, first_byte_token + 'a', end_token}), "<|1000|>a<|2|>");
  const std::string broken = "\xEF\xBF\xBD";
  EXPECT_EQ(decoded(encode("\xFF")), broken);
  EXPECT_EQ(decoded(encode("\xC3(")), broken + "(");
  EXPECT_EQ(decoded(encode("\xED\xA0\x80")), broken + broken + broken)
      << "a surrogate is no character";
  EXPECT_EQ(decoded(encode("\xE5\xA4")), broken) << "the end comes inside a character";
}

} // namespace
} // namespace hitproof::engine
