// The studies' prompts: as long as asked, different early enough, made alike from a seed, and the
// texts are texts of the engine's tokenizer whose statements hold.
#include "cli/study/prompt_texts.h"
#include "cli/study/prompts.h"
#include "engine/front/tokenizer.h"
#include "tests/schema/plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace hitproof::cli {
namespace {

using schema::Plan;

const PromptSource source = {42, 512, engine::first_byte_token};

Plan continuation() { return schema::continuation_plan({255, 256, 384}); }

Plan performance() { return schema::performance_plan({255, 256, 384}); }

TEST(Prompts, DifferPairwiseWithinTheirFirst64Tokens) {
  for (const Plan& plan : {continuation(), performance()}) {
    std::set<std::vector<int32_t>> starts;
    for (const auto& op : schema::operations_of(plan, "candidate")) {
      if (!op.generates()) continue;
      const auto ids = make_prompt(op, source);
      ASSERT_EQ(ids.size(), op.length);
      EXPECT_THAT(ids, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(512))));
      starts.insert({ids.begin(), ids.begin() + 64});
    }
    EXPECT_EQ(starts.size(), schema::totals_of(plan, "candidate").inputs);
  }
}

// A small model forgets: prompts that were alike for long before a checkpoint left tails alike.
TEST(Prompts, DifferWithin40TokensBeforeEveryCheckpoint) {
  constexpr uint32_t checkpoint = 128, memory = 40;
  for (uint32_t end = checkpoint; end <= 3 * checkpoint; end += checkpoint) {
    std::set<std::vector<int32_t>> before;
    std::size_t prompts = 0;
    for (const auto& op : schema::operations_of(continuation(), "control")) {
      if (op.length < end || (op.kind != std::string("cold") && op.which != 'X' && op.which != 'Y'))
        continue;
      const auto ids = make_prompt(op, source);
      before.insert({ids.begin() + end - memory, ids.begin() + end});
      ++prompts;
    }
    EXPECT_EQ(before.size(), prompts) << "before " << end;
  }
}

TEST(Prompts, AreMadeAlikeFromTheSameSeedAlone) {
  const auto op = schema::operations_of(continuation(), "control")[5];
  EXPECT_EQ(op.prompt_template, "ledger");
  EXPECT_EQ(make_prompt(op, source), make_prompt(op, source));
  PromptSource other = source;
  other.seed = 43;
  EXPECT_NE(make_prompt(op, source), make_prompt(op, other));
}

TEST(Prompts, TheBridgeIsTheFirstCaseOfABoundaryStudy) {
  Plan boundary;
  boundary.lengths = default_lengths(128);
  EXPECT_EQ(make_prompt(schema::operations_of(boundary, "control")[0], source),
            make_prompt(schema::operations_of(continuation(), "control")[0], source));
}

TEST(Prompts, TextsAreThoseOfTheEnginesTokenizer) {
  for (const char* name : {"ledger", "rules", "code"}) {
    schema::PlannedOperation op;
    op.length = 3584;
    op.which = 'X';
    op.prompt_template = name;
    const std::string text = prompt_text(name, "3584-X", op.length, source.seed);
    EXPECT_EQ(make_prompt(op, source), engine::encode(text)) << name;
  }
}

TEST(Prompts, TextsEndWithWholeCharactersAtEveryLength) {
  for (const char* name : {"ledger", "rules", "code"}) {
    for (std::size_t bytes = 300; bytes < 340; ++bytes) {
      const std::string text = prompt_text(name, "300-A", bytes, 7);
      ASSERT_EQ(text.size(), bytes);
      engine::TextStream stream;
      const std::string shown = stream.push(engine::encode(text)) + stream.finish();
      EXPECT_EQ(shown, text) << name << " " << bytes;
    }
  }
}

TEST(Prompts, TheLedgersArithmeticHolds) {
  const std::string text = prompt_text("ledger", "9000-A", 9000, 42);
  const std::regex entry("(\\d+) times (\\d+) is (\\d+), .*; (\\d+) (minus|plus) (\\d+) leaves "
                         "(\\d+)\\.");
  int entries = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; ++at) {
    const auto n = [&](int group) { return std::stoll((*at)[group]); };
    EXPECT_EQ(n(1) * n(2), n(3));
    EXPECT_EQ(n(3), n(6));
    EXPECT_EQ((*at)[5] == "plus" ? n(4) + n(6) : n(4) - n(6), n(7)) << at->str();
    ++entries;
  }
  EXPECT_GT(entries, 80);
}

TEST(Prompts, TheRulesAreAppliedInOrder) {
  const std::string text = prompt_text("rules", "9000-A", 9000, 42);
  std::smatch stated;
  ASSERT_TRUE(std::regex_search(
      text, stated,
      std::regex("：大于(\\d+)的减(\\d+)；偶数除以2加(\\d+)；奇数乘以(\\d+)加(\\d+)；")));
  const auto constant = [&](int group) { return std::stoll(stated[group]); };
  const std::regex step("现在是(\\d+)，用规则(一|二|三)，得(\\d+)。");
  int steps = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), step), end; at != end; ++at) {
    const long long n = std::stoll((*at)[1]), result = std::stoll((*at)[3]);
    const bool large = n > constant(1), even = n % 2 == 0;
    EXPECT_EQ((*at)[2], large ? "一" : even ? "二" : "三") << at->str();
    EXPECT_EQ(result, large  ? n - constant(2)
                      : even ? n / 2 + constant(3)
                             : n * constant(4) + constant(5))
        << at->str();
    ++steps;
  }
  EXPECT_GT(steps, 80);
}

TEST(Prompts, TheFunctionsReturnWhatIsSaid) {
  const std::string text = prompt_text("code", "9000-A", 9000, 42);
  const std::regex function(
      "y = (\\d+) \\* x \\+ (\\d+)\n    return y % (\\d+)\n# f\\d+\\((\\d+)\\) "
      "is (\\d+): y becomes (\\d+)");
  int functions = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), function), end; at != end; ++at) {
    const auto n = [&](int group) { return std::stoll((*at)[group]); };
    EXPECT_EQ(n(1) * n(4) + n(2), n(6));
    EXPECT_EQ(n(6) % n(3), n(5)) << at->str();
    ++functions;
  }
  EXPECT_GT(functions, 50);
}

} // namespace
} // namespace hitproof::cli
