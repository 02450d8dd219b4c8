// Signed statements: about one archive, by one key, in one spelling.
#include "schema/archive.h"
#include "schema/attestation.h"
#include "tests/audit/fixture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::schema {
namespace {

namespace fs = std::filesystem;
using audit::testing::ScratchDir;
using testing::HasSubstr;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Attestation : public testing::Test {
 protected:
  void SetUp() override {
    audit::testing::copy_good_study(dir_.path());
    ASSERT_TRUE(attest(dir_.path(), result_, key_).ok());
    ASSERT_TRUE(check_attestation(dir_.path(), &key_).ok());
  }
  std::string file() const { return dir_.path() + "/" + attestation_file; }
  void write(const std::string& text) { std::ofstream(file(), std::ios::binary) << text; }
  std::string refusal(const SigningKey* key) const {
    const auto found = check_attestation(dir_.path(), key);
    EXPECT_EQ(found.code(), Code::corruption);
    return found.status().message();
  }
  ScratchDir dir_;
  SigningKey key_ = SigningKey::generate().value();
  TestResult result_{"PASSED", {"pages", "waits"}, {}, {}, "0.1.0", {}};
};

TEST_F(Attestation, SaysWhatWasSignedAndLeavesTheBagWhole) {
  const auto claim = check_attestation(dir_.path(), &key_);
  EXPECT_EQ(claim->result, "PASSED");
  EXPECT_EQ(claim->passed, (std::vector<std::string>{"pages", "waits"}));
  EXPECT_EQ(claim->key_id, key_.id());
  EXPECT_TRUE(verify_archive(dir_.path()).value().empty());
  EXPECT_TRUE(check_attestation(dir_.path(), nullptr).ok());
  EXPECT_EQ(attest(dir_.path(), result_, key_).code(), Code::invalid_argument) << "twice";
}

TEST_F(Attestation, AnotherKeyIsRefused) {
  const SigningKey other = SigningKey::generate().value();
  EXPECT_THAT(refusal(&other), HasSubstr("is signed by key " + key_.id()));
  // The name of a key is not signed: who writes another one there gains nothing.
  Envelope envelope = parse_envelope(read_all(file())).value();
  envelope.key_id = other.id();
  write(write_envelope(envelope));
  EXPECT_THAT(refusal(&other), HasSubstr("its signature is not that"));
}

TEST_F(Attestation, AnotherTextIsRefused) {
  Envelope envelope = parse_envelope(read_all(file())).value();
  const std::size_t at = envelope.payload.find("waits");
  envelope.payload.replace(at, 5, "tails");
  write(write_envelope(envelope));
  EXPECT_THAT(refusal(&key_), HasSubstr("its signature is not that"));
}

TEST_F(Attestation, AnotherArchivesStatementIsRefused) {
  std::ofstream(dir_.path() + "/data/plan.toml", std::ios::app) << "# other\n";
  ASSERT_TRUE(close_archive(dir_.path()).ok());
  ASSERT_TRUE(verify_archive(dir_.path()).value().empty()) << "consistent in itself";
  EXPECT_THAT(refusal(&key_), HasSubstr("is about another archive"));
  EXPECT_THAT(refusal(nullptr), HasSubstr("is about another archive"));
}

TEST_F(Attestation, EveryFlippedBitOfTheEnvelopeIsRefused) {
  const std::string good = read_all(file());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string text = good;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    const auto envelope = parse_envelope(text);
    ASSERT_FALSE(envelope.ok() && envelope->key_id == key_.id() && is_sealed_by(*envelope, key_))
        << bit;
  }
  write(good.substr(0, good.size() - 1));
  refusal(&key_);
  write(good + "\n");
  refusal(&key_);
}

TEST_F(Attestation, NoneIsNotFoundAndOneAboutNothingIsRefused) {
  fs::rename(dir_.path() + "/manifest-sha256.txt", dir_.path() + "/aside");
  EXPECT_THAT(refusal(nullptr), HasSubstr("one of them is not there"));
  fs::rename(dir_.path() + "/aside", dir_.path() + "/manifest-sha256.txt");
  fs::remove(file());
  EXPECT_EQ(check_attestation(dir_.path(), &key_).code(), Code::not_found);
}

// RFC 8032 has no PEM; DSSE's own document gives this encoding.
TEST(Envelope, PreAuthenticationEncodingIsThatOfTheSpecification) {
  EXPECT_EQ(pre_authentication_encoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(SigningKey, FilesAreKeptAndNothingIsOverwritten) {
  const ScratchDir dir;
  const std::string path = dir.path() + "/lab.key";
  const SigningKey key = SigningKey::generate().value();
  ASSERT_TRUE(key.write_pair(path).ok());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto secret = SigningKey::read_private(path);
  const auto open = SigningKey::read_public(path + ".pub");
  ASSERT_TRUE(secret.ok() && open.ok());
  EXPECT_EQ(secret->id(), key.id());
  EXPECT_EQ(open->id(), key.id());
  const std::string signature = secret->sign("text").value();
  EXPECT_TRUE(open->verifies("text", signature));
  EXPECT_FALSE(open->verifies("Text", signature));
  EXPECT_EQ(open->sign("text").code(), Code::invalid_argument) << "a public key";
  EXPECT_EQ(key.write_pair(path).code(), Code::invalid_argument);
  EXPECT_EQ(SigningKey::read_private(path + ".pub").code(), Code::invalid_argument);
  EXPECT_EQ(SigningKey::read_public(dir.path() + "/none").code(), Code::not_found);
}

// The plan is part of what the verdict rests on: another one, or one registered afterwards, fails.
TEST(Plan, AChangedOrLatePlanIsAFindingOfTheAudit) {
  const ScratchDir dir;
  audit::testing::copy_good_study(dir.path());
  EXPECT_FALSE(audit::testing::has_finding(audit::testing::audit_or_throw(dir.path(), true),
                                           "evidence", "plan_changed"));
  std::ofstream(dir.path() + "/data/plan.toml", std::ios::app) << "# afterwards\n";
  ASSERT_TRUE(close_archive(dir.path()).ok());
  EXPECT_TRUE(audit::testing::has_finding(audit::testing::audit_or_throw(dir.path(), true),
                                          "evidence", "plan_changed"));
  const auto registered = [&](const std::string& when) {
    audit::testing::change(dir.path(), "INSERT OR REPLACE INTO recording SELECT "
                                       "'plan_registered_ns', MIN(begin_ns) " +
                                           when + " FROM study_operation");
    EXPECT_TRUE(close_archive(dir.path()).ok());
    return audit::testing::has_finding(audit::testing::audit_or_throw(dir.path(), true), "evidence",
                                       "plan_registered_late");
  };
  EXPECT_FALSE(registered("- 1"));
  EXPECT_TRUE(registered("+ 1"));
}

} // namespace
} // namespace hitproof::schema
