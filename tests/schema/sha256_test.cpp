#include "schema/sha256.h"
#include "temp_dir.h"

#include <gtest/gtest.h>

namespace hitproof::schema {
namespace {

// FIPS 180-4 examples.
constexpr const char* of_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(to_hex(sha256("")), of_nothing);
  EXPECT_EQ(to_hex(sha256("abc")), of_abc);
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesGiveTheSame) {
  Sha256 hash;
  hash.update("a").update("").update("bc");
  EXPECT_EQ(to_hex(hash.finish()), of_abc);
  EXPECT_EQ(to_hex(hash.finish()), of_nothing) << "a finished hash starts again";
}

TEST(Sha256, IntegersAreLittleEndian) {
  Sha256 hash;
  hash.update_u32(0x04030201);
  EXPECT_EQ(hash.finish(), sha256("\x01\x02\x03\x04"));
}

TEST(Sha256, File) {
  const TempDir dir;
  std::string text(700'001, 'x');
  write_text(dir / "f", text);
  const Result<Digest> digest = sha256_file(dir / "f");
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*digest, sha256(text));
  EXPECT_EQ(sha256_file(dir / "none").code(), Code::not_found);
  EXPECT_EQ(sha256_file(dir.path()).code(), Code::io_error);
}

TEST(Sha256, HexBothWays) {
  const Result<Digest> digest = digest_from_hex(of_abc);
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*digest, sha256("abc"));
  EXPECT_EQ(
      digest_from_hex("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD").value(),
      sha256("abc"));
  EXPECT_EQ(digest_from_hex("ba78").code(), Code::invalid_argument);
  EXPECT_EQ(digest_from_hex(std::string(64, 'g')).code(), Code::invalid_argument);
  EXPECT_TRUE(is_zero(Digest{}));
  EXPECT_FALSE(is_zero(*digest));
}

} // namespace
} // namespace hitproof::schema
