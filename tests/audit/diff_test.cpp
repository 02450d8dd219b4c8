// Two archives compared: nothing differs from itself, and one change shows as that change.
#include "audit/diff.h"
#include "schema/archive.h"
#include "tests/audit/fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::audit::testing {
namespace {

struct Changed {
  const char* name;
  const char* sql;
  std::vector<std::string> parts; // what is compared, all where empty
  std::vector<std::string> expected;
};

void PrintTo(const Changed& c, std::ostream* out) { *out << c.name; }

std::vector<std::string> words(const std::vector<Difference>& list) {
  std::vector<std::string> out;
  for (const Difference& d : list)
    out.push_back(d.part + " | " + d.what + " | " + d.a + " | " + d.b);
  return out;
}

std::vector<std::string> differences(const std::string& a, const std::string& b,
                                     const std::vector<std::string>& parts = {}) {
  auto list = diff_archives(a, b, parts, Options{false});
  EXPECT_TRUE(list.ok()) << list.status().to_string();
  return list.ok() ? words(*list) : std::vector<std::string>{"failed"};
}

class Diff : public ::testing::TestWithParam<Changed> {};

TEST_P(Diff, ShowsTheChangeAndNothingElse) {
  ScratchDir a, b;
  copy_good_study(a.path());
  copy_good_study(b.path());
  change(b.path(), GetParam().sql);
  // The manifests follow, so that the change itself is all that differs.
  static_cast<void>(schema::close_archive(b.path()).ok());
  EXPECT_THAT(differences(a.path(), b.path(), GetParam().parts),
              ::testing::ElementsAreArray(GetParam().expected));
}

const Changed changes[] = {
    {"environment",
     "INSERT INTO meta SELECT process, thread, 9999, t_ns, 'driver.version', '13000' FROM process "
     "WHERE role = 'front' LIMIT 1",
     {"environment"},
     {"environment | front: driver.version | - | 13000"}},
    {"version",
     "UPDATE recording SET value = 'another device' WHERE key = 'device'",
     {},
     {"versions | device | synthetic (sim) | another device"}},
    {"token",
     "UPDATE study_token SET token = token + 1 WHERE position = 5 AND op = (SELECT MIN(op) FROM "
     "study_operation WHERE kind = 'interpose')",
     {"tokens"},
     {"tokens | N = 255, interpose of X, first difference at index 5 | 3687 | 3688"}},
    {"boundary",
     "UPDATE admission SET computed = 129 WHERE request = (SELECT MIN(request) FROM transfer WHERE "
     "direction = 1)",
     {"verdicts", "boundary"},
     {"verdicts | boundary | pass | fail", "verdicts | overall | pass | fail",
      "boundary | N = 255, B = p | yes | NO", "boundary | N = 255, p | 128 | 129"}},
    {"finding",
     "DELETE FROM page_poison WHERE rowid = (SELECT MIN(rowid) FROM page_poison)",
     {"verdicts", "findings"},
     {"verdicts | evidence | pass | inconclusive", "verdicts | overall | pass | inconclusive",
      "verdicts | poison | pass | inconclusive",
      "findings | evidence/records_missing (inconclusive) | - | 1 time",
      "findings | poison/not_poisoned (inconclusive) | - | 1 time"}},
};

INSTANTIATE_TEST_SUITE_P(Changes, Diff, ::testing::ValuesIn(changes),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(DiffOfItself, IsEmpty) {
  ScratchDir a, b;
  copy_good_study(a.path());
  copy_good_study(b.path());
  EXPECT_THAT(differences(a.path(), b.path()), ::testing::IsEmpty());
  EXPECT_THAT(differences(a.path(), a.path()), ::testing::IsEmpty());
}

// Ids, process numbers and times differ between any two runs, and are nobody's difference.
TEST(DiffOfAnotherRun, KnowsNoIdsAndNoTimes) {
  ScratchDir a, b;
  StudySpec spec = small_spec();
  write_archive(a.path(), spec);
  spec.clock_ns += 77'000'000'000;
  spec.first_pid += 4000;
  write_archive(b.path(), spec);
  // How long the recorder's queue grew is chance as well.
  change(a.path(), "INSERT INTO recording VALUES ('queue_depth_max', '7')");
  change(b.path(), "INSERT INTO recording VALUES ('queue_depth_max', '4100')");
  for (const ScratchDir* dir : {&a, &b})
    ASSERT_TRUE(schema::close_archive(dir->path()).ok());
  EXPECT_THAT(differences(a.path(), b.path()), ::testing::IsEmpty());
}

TEST(DiffOfPlans, NamesTheKey) {
  ScratchDir a, b;
  copy_good_study(a.path());
  copy_good_study(b.path());
  const std::string plan = b.path() + "/data/plan.toml";
  ASSERT_EQ(std::system(("sed -i 's/^tokens = 16/tokens = 17/' " + plan).c_str()), 0);
  EXPECT_THAT(differences(a.path(), b.path(), {"plan"}),
              ::testing::ElementsAre("plan | study.tokens | 16 | 17"));
}

TEST(DiffOfNothing, IsAnError) {
  ScratchDir a;
  EXPECT_FALSE(diff_archives(a.path(), a.path()).ok());
}

} // namespace
} // namespace hitproof::audit::testing
