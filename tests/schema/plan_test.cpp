#include "schema/plan.h"
#include "temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::schema {
namespace {

using testing::HasSubstr;

Plan some_plan() {
  Plan plan;
  plan.lengths = {3583, 3584, 5376};
  plan.lookup = "full";
  plan.save_delay_ms = 500;
  plan.break_name = "copy-short-row";
  plan.tp = 2;
  plan.acceptance = {"fail", {"poison"}, {"generations", "boundary"}, {3584, 5376}};
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    for (int i = 0; i < 7; ++i)
      plan.profile.push_back({rank, "tile_" + std::to_string(i), "64\"x\\8"});
  return plan;
}

std::string message_of(const std::string& toml) {
  const Result<Plan> plan = parse_plan(toml);
  return plan.ok() ? "accepted" : plan.status().message();
}

TEST(Plan, WrittenAndReadBackIsEqual) {
  const Plan plan = some_plan();
  const Result<Plan> back = parse_plan(write_plan(plan));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, plan);
  EXPECT_EQ(plan_sha256(*back), plan_sha256(plan));
}

TEST(Plan, DigestTellsPlansApart) {
  Plan plan = some_plan();
  const Digest before = plan_sha256(plan);
  plan.tokens = 65;
  EXPECT_NE(plan_sha256(plan), before);
}

TEST(Plan, NamesAGpuAndLeavesTheSimulatedDeviceUnnamed) {
  Plan plan = some_plan();
  EXPECT_EQ(write_plan(plan).find("device_name"), std::string::npos);
  const Digest on_sim = plan_controls_sha256(plan);
  plan.device = "cuda";
  plan.device_name = "NVIDIA H200";
  const Result<Plan> back = parse_plan(write_plan(plan));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, plan);
  const Digest on_one = plan_controls_sha256(plan);
  EXPECT_NE(on_one, on_sim);
  plan.device_name = "NVIDIA L4";
  EXPECT_NE(plan_controls_sha256(plan), on_one);
}

TEST(Plan, NamesNcclAndLeavesRankOrderUnnamed) {
  Plan plan = some_plan();
  EXPECT_EQ(write_plan(plan).find("collectives"), std::string::npos);
  const Digest in_rank_order = plan_controls_sha256(plan);
  plan.collectives = "nccl";
  const Result<Plan> back = parse_plan(write_plan(plan));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, plan);
  EXPECT_NE(plan_controls_sha256(plan), in_rank_order);
  EXPECT_THAT(message_of("[study]\nlengths = [1]\ncollectives = \"gloo\"\n"),
              HasSubstr("plan.toml:3: study.collectives"));
}

TEST(Plan, KindsOfStudyHaveKeysOfTheirOwn) {
  Plan texts = some_plan(), trials = some_plan();
  for (const char* key : {"templates", "bridge", "trials", "warmups"})
    EXPECT_EQ(write_plan(texts).find(key), std::string::npos) << key;
  texts.study = "continuation";
  texts.templates = {"ledger", "rules", "code"};
  texts.bridge_length = 3583;
  texts.bridge_tokens = 64;
  trials.study = "performance";
  trials.trials = 3;
  for (const Plan& plan : {texts, trials}) {
    const Result<Plan> back = parse_plan(write_plan(plan));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, plan);
  }
  EXPECT_NE(plan_sha256(texts), plan_sha256(some_plan()));
  const std::string begin = "[study]\nlengths = [1]\n";
  EXPECT_THAT(message_of(begin + "kind = \"speed\"\n"), HasSubstr("plan.toml:3: study.kind"));
  EXPECT_THAT(message_of(begin + "trials = 3\n"), HasSubstr("plan.toml:3: study.trials"));
  EXPECT_THAT(message_of(begin + "templates = [\"code\"]\n"), HasSubstr("no such key"));
  const std::string continued = begin + "kind = \"continuation\"\n";
  EXPECT_THAT(message_of(continued), HasSubstr("names no template"));
  EXPECT_THAT(message_of(continued + "templates = [\"verse\"]\n"), HasSubstr("plan.toml:4:"));
  EXPECT_THAT(message_of(continued + "templates = [\"code\", \"code\"]\n"), HasSubstr("twice"));
  EXPECT_THAT(message_of(continued + "templates = [\"code\"]\nbridge_tokens = 4\n"),
              HasSubstr("plan.toml:5: study.bridge_tokens"));
  const std::string timed = begin + "kind = \"performance\"\n";
  EXPECT_THAT(message_of(timed), HasSubstr("study.trials"));
  EXPECT_THAT(message_of(timed + "trials = 1\nwarmups = 2000\n"), HasSubstr("plan.toml:5:"));
}

TEST(Plan, CasesOfAStudyAreBounded) {
  Plan plan = some_plan();
  plan.acceptance = {};
  plan.study = "performance";
  plan.trials = 1000;
  plan.lengths.clear();
  for (std::uint32_t length = 1; length <= 101; ++length)
    plan.lengths.push_back(length);
  EXPECT_THAT(validate_plan(plan).message(), HasSubstr("more than 100000 cases"));
  plan.lengths.pop_back();
  EXPECT_TRUE(validate_plan(plan).ok());
}

TEST(Plan, DefaultsFillWhatIsLeftOut) {
  const Result<Plan> plan = parse_plan("[study]\nlengths = [128]\n");
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  EXPECT_EQ(plan->tokens, 64u);
  EXPECT_EQ(plan->lookup, "strict");
}

TEST(Plan, MalformedTomlNamesTheLine) {
  EXPECT_THAT(message_of("format = 1\n[study]\nlengths = [1, 2\ntokens = 3\n"),
              HasSubstr("plan.toml:4:"));
  EXPECT_THAT(message_of("[study\n"), HasSubstr("plan.toml:1:"));
  EXPECT_THAT(message_of("[study]\n\nlookup = strict\n"), HasSubstr("plan.toml:3:"));
}

TEST(Plan, WrongTypesNameTheLineAndTheKey) {
  EXPECT_THAT(message_of("[study]\nlengths = 3\n"), HasSubstr("plan.toml:2: study.lengths"));
  EXPECT_THAT(message_of("[study]\nlengths = [1]\ntokens = \"many\"\n"),
              HasSubstr("plan.toml:3: study.tokens"));
  EXPECT_THAT(message_of("[study]\nlengths = [1, -4]\n"), HasSubstr("plan.toml:2: study.lengths"));
  EXPECT_THAT(message_of("study = 5\n"), HasSubstr("plan.toml:1:"));
}

TEST(Plan, WrongValuesNameTheLine) {
  EXPECT_THAT(message_of("[study]\nlengths = [1]\nlookup = \"loose\"\n"),
              HasSubstr("plan.toml:3: study.lookup: \"loose\" is none of: strict, full"));
  EXPECT_THAT(message_of("[study]\nlengths = []\n"), HasSubstr("plan.toml:2:"));
  EXPECT_THAT(message_of("[study]\nlengths = [5, 5]\n"), HasSubstr("twice"));
  EXPECT_THAT(message_of("[study]\nlengths = [1]\n\n[acceptance]\nrefuted_lengths = [2]\n"),
              HasSubstr("plan.toml:5:"));
  EXPECT_THAT(message_of("[study]\nlengths = [1]\narms = [\"placebo\"]\n"),
              HasSubstr("plan.toml:3"));
}

TEST(Plan, UnknownKeysAreRefused) {
  EXPECT_THAT(message_of("[study]\nlengths = [1]\nlenghts = [2]\n"),
              HasSubstr("plan.toml:3: unknown key \"lenghts\""));
  EXPECT_THAT(message_of("[study]\nlengths = [1]\n[studie]\n"), HasSubstr("plan.toml:3:"));
  EXPECT_THAT(message_of("colour = 1\n[study]\nlengths = [1]\n"), HasSubstr("plan.toml:1:"));
}

TEST(Plan, ProfileNeedsSevenChoicesOfEveryRank) {
  Plan plan = some_plan();
  plan.profile.pop_back();
  EXPECT_THAT(validate_plan(plan).message(), HasSubstr("rank 1 has 6 choices"));
  plan.profile.push_back(plan.profile.front());
  EXPECT_THAT(validate_plan(plan).message(), HasSubstr("twice"));
  plan.profile.back().rank = 9;
  EXPECT_THAT(validate_plan(plan).message(), HasSubstr("rank 9"));
  plan.profile.clear();
  EXPECT_TRUE(validate_plan(plan).ok());
}

TEST(Plan, NewerFormatSaysSo) {
  const Result<Plan> plan = parse_plan("format = 2\n[study]\nlengths = [1]\nnew_key = 3\n");
  EXPECT_EQ(plan.code(), Code::newer_format);
  EXPECT_THAT(plan.status().message(), HasSubstr("plan.toml:1:"));
}

TEST(Plan, StoredOnceAndNeverChanged) {
  const TempDir dir;
  const Result<Digest> digest = store_plan(dir.path(), some_plan());
  ASSERT_TRUE(digest.ok()) << digest.status().to_string();
  EXPECT_EQ(*digest, sha256(read_all(dir / "data/plan.toml")));
  EXPECT_TRUE(store_plan(dir.path(), some_plan()).ok());
  Plan other = some_plan();
  other.tokens = 1;
  EXPECT_EQ(store_plan(dir.path(), other).code(), Code::invalid_argument);
  const Result<Plan> back = read_plan(dir / "data/plan.toml");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, some_plan());
  EXPECT_EQ(read_plan(dir / "none").code(), Code::not_found);
}

} // namespace
} // namespace hitproof::schema
