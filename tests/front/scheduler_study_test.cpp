// The boundary study's totals, derived here from lengths alone and demanded of the scheduler.
#include "tests/front/shadow_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine::test {
namespace {

constexpr int c = 1792;
constexpr int32_t lengths[] = {3583, 3584, 3585, 3587, 3588, 3589, 5375, 5376, 5377};
constexpr int32_t generated = 64;

struct Reload {
  int32_t length = 0, boundary = 0, computed = 0, scheduled = 0;
};

struct Study {
  explicit Study(bool full, double accept = 0.4, bool connector = true)
      : pool(160), shadow(c, pool, accept, 11),
        scheduler(config(full), pool, connector ? &shadow : nullptr,
                  [this](const Admission& a) { admissions.push_back(a); }) {
    shadow.saving = connector;
  }
  static SchedulerConfig config(bool full) {
    SchedulerConfig k;
    k.block_tokens = c;
    k.max_positions = 16384;
    k.full_lookup = full;
    return k;
  }
  std::unique_ptr<Sequence> generate(int32_t length, int32_t number) {
    scheduler.submit(make_sequence(++id, make_prompt(length, number), generated));
    auto finished = run_all(scheduler, shadow, &plans);
    EXPECT_EQ(finished.size(), 1u);
    EXPECT_EQ(finished.at(0)->generated(), generated);
    return std::move(finished.at(0));
  }
  void run() {
    for (const int32_t n : lengths) {
      const auto cold = generate(n, 0);
      generate(n, 1);
      generate(n, 2);
      ASSERT_TRUE(scheduler.reset_prefix_cache());
      const size_t first_step = plans.size();
      const auto again = generate(n, 0);
      EXPECT_EQ(again->tokens, cold->tokens) << n;
      const Admission& a = admissions.back();
      reloads.push_back({n, a.label_boundary, a.computed, a.scheduled});
      EXPECT_EQ(plans[first_step].sequences.at(0).drafts, 0)
          << "a step with a load in it is protected";
    }
  }

  BlockPool pool;
  ShadowEngine shadow;
  Scheduler scheduler;
  std::vector<Admission> admissions;
  std::vector<StepPlan> plans;
  std::vector<Reload> reloads;
  uint64_t id = 0;
};

// Checkpoints that computing tokens [from, n + 63) crosses.
int32_t crossed(int32_t from, int32_t n) { return (n + generated - 1) / c - from / c; }

TEST(SchedulerStudy, StrictLookupRestoresWhatItSays) {
  Study study(false);
  study.run();
  ASSERT_EQ(study.reloads.size(), 9u);
  for (const Reload& r : study.reloads) {
    const int32_t expected = c * ((r.length - 1) / c);
    EXPECT_EQ(r.boundary, expected) << r.length;
    EXPECT_EQ(r.computed, expected) << r.length;
    EXPECT_EQ(r.scheduled, r.length - expected) << r.length;
  }
  EXPECT_THAT(study.shadow.violations, testing::IsEmpty());
  EXPECT_TRUE(study.shadow.double_folds.empty());
}

TEST(SchedulerStudy, FullLookupIsOneTokenShortAtExactBoundariesOnly) {
  Study study(true);
  study.run();
  for (const Reload& r : study.reloads) {
    const int32_t boundary = c * (r.length / c);
    EXPECT_EQ(r.boundary, boundary) << r.length;
    EXPECT_EQ(r.computed, boundary == r.length ? boundary - 1 : boundary) << r.length;
  }
  EXPECT_EQ(study.shadow.double_folds.size(), 2u * num_state_groups)
      << "3584 and 5376, in each state group";
  EXPECT_TRUE(study.shadow.violations.empty());
}

TEST(SchedulerStudy, SavesAndLoadsAddUp) {
  // The draft acceptance rate changes none of the totals.
  for (const double accept : {0.0, 0.35, 1.0}) {
    Study study(false, accept);
    study.run();
    int32_t cold_saves = 0, reload_saves = 0, chunks = 0;
    for (const int32_t n : lengths) {
      cold_saves += 3 * crossed(0, n);
      reload_saves += crossed(c * ((n - 1) / c), n);
      chunks += (n - 1) / c;
    }
    EXPECT_EQ(cold_saves, 63);
    EXPECT_EQ(reload_saves, 4);
    EXPECT_EQ(study.shadow.saves.size(), static_cast<size_t>(cold_saves + reload_saves)) << accept;
    int32_t copied = 0;
    for (const Move& m : study.shadow.saves)
      copied += m.held ? 0 : 1;
    EXPECT_EQ(copied, cold_saves) << "pages held already are saved, but not copied, again";
    int32_t loaded = 0;
    for (const Move& m : study.shadow.loads)
      loaded += (m.boundary - m.begin) / c;
    EXPECT_EQ(study.shadow.loads.size(), 9u);
    EXPECT_EQ(loaded, chunks);
    EXPECT_EQ(chunks, 17);
    EXPECT_TRUE(study.shadow.violations.empty());
  }
}

TEST(SchedulerStudy, BothArmsHaveOneSchedule) {
  Study candidate(false), control(false, 0.4, false);
  for (const int32_t n : lengths) {
    candidate.generate(n, 0);
    control.generate(n, 0);
  }
  ASSERT_EQ(candidate.plans.size(), control.plans.size());
  for (size_t i = 0; i < candidate.plans.size(); ++i) {
    const SequenceStep& a = candidate.plans[i].sequences.at(0);
    const SequenceStep& b = control.plans[i].sequences.at(0);
    EXPECT_EQ(std::tie(a.start, a.count, a.drafts, a.prefill),
              std::tie(b.start, b.count, b.drafts, b.prefill));
    EXPECT_EQ(a.state_out, b.state_out);
  }
  EXPECT_TRUE(control.shadow.saves.empty());
}

TEST(SchedulerStudy, PrefillIsSplitAtCheckpointsAndDecodeNeverPassesOne) {
  Study study(false);
  study.run();
  for (const StepPlan& plan : study.plans) {
    const SequenceStep& s = plan.sequences.at(0);
    const int32_t end = s.start + s.count;
    EXPECT_EQ(s.start / c, (end - 1) / c) << "a step passes a multiple of C";
    EXPECT_EQ(s.checkpoint, end % c == 0 ? end : 0);
    EXPECT_EQ(s.prefill ? 0 : s.count - 1, s.drafts);
  }
  std::vector<int32_t> chunks; // of the first prompt of 5377 tokens
  for (const StepPlan& plan : study.plans) {
    const SequenceStep& s = plan.sequences.at(0);
    if (s.prefill && s.start == 5376) {
      EXPECT_EQ(s.count, 1);
      EXPECT_EQ(s.next_token, -1);
    }
  }
}

TEST(SchedulerStudy, LocalHitGivesUpTheLastMatchedBlock) {
  Study study(false, 0.4, false);
  study.generate(5376, 0);
  study.generate(5376, 0);
  EXPECT_EQ(study.admissions.back().local_hit, 1792);
  EXPECT_EQ(study.admissions.back().computed, 1792);
  EXPECT_EQ(study.plans.back().sequences.size(), 1u);
  study.generate(3584, 1);
  study.generate(3584, 1);
  EXPECT_EQ(study.admissions.back().local_hit, 0)
      << "one whole block before the last token, and that one is given up";
  EXPECT_TRUE(study.shadow.violations.empty());
}

TEST(SchedulerStudy, ExternalHitGoesOnWhereTheLocalOneEnds) {
  Study study(false);
  study.generate(5377, 0);
  study.generate(5377, 0);
  const Move& load = study.shadow.loads.at(0);
  EXPECT_EQ(load.begin, 3584) << "two blocks are on the device and stay there";
  EXPECT_EQ(load.boundary, 5376);
  EXPECT_TRUE(study.shadow.violations.empty());
}

} // namespace
} // namespace hitproof::engine::test
