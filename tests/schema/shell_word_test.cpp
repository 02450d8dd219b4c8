#include "schema/shell_word.h"
#include "temp_dir.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace hitproof::schema {
namespace {

TEST(ShellWord, IsQuotedOnlyWhereAShellWouldReadSomethingIntoIt) {
  EXPECT_EQ(shell_word("/a/b-c_1.2+x:y@z,w"), "/a/b-c_1.2+x:y@z,w");
  EXPECT_EQ(shell_word(""), "\"\"");
  EXPECT_EQ(shell_word("a b"), "\"a b\"");
  EXPECT_EQ(shell_word("A=b"), "\"A=b\"");
  EXPECT_EQ(shell_word("op = 'x' AND \"y\" $z `w` \\"),
            "\"op = 'x' AND \\\"y\\\" \\$z \\`w\\` \\\\\"");
  EXPECT_EQ(shell_word("what's \"that\"!x"), "'what'\\''s \"that\"!x'");
}

TEST(ShellWord, AShellGivesTheTextBack) {
  const TempDir dir;
  std::string every_byte;
  for (int c = 1; c < 256; ++c)
    every_byte += static_cast<char>(c);
  std::string without_mark = every_byte;
  std::erase(without_mark, '!');
  const std::vector<std::string> texts = {
      every_byte,  without_mark, "",    "-n", "~", "*",  "a\nb", "\\",  "\\\\n",
      "$(echo x)", "`echo x`",   "A=b", "#x", "'", "\"", "!!",   "'!'", "it's $HOME"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string at = dir / std::to_string(i);
    write_text(at + ".sh", "printf %s " + shell_word(texts[i]) + " > " + shell_word(at) + "\n");
    ASSERT_EQ(std::system(("/bin/sh " + at + ".sh").c_str()), 0) << i;
    EXPECT_EQ(read_all(at), texts[i]) << i;
  }
}

} // namespace
} // namespace hitproof::schema
