#include "engine/front/options.h"
#include "engine/model/profile.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

TEST(ProfileOptions, RecordedIsTheDefaultForEveryRank) {
  const auto ranks = profile_of_ranks("recorded", {}, 4);
  ASSERT_EQ(ranks.size(), 4u);
  for (const auto& rank : ranks) {
    ASSERT_EQ(rank.size(), static_cast<size_t>(profile_choices));
    for (size_t i = 0; i < rank.size(); ++i)
      EXPECT_EQ(rank[i].second, KernelProfile::recorded().choices[i].value);
  }
  const auto unpinned = profile_of_ranks("free", {}, 1);
  for (const auto& [name, value] : unpinned.at(0)) EXPECT_EQ(value, "") << name;
}

TEST(ProfileOptions, ChoicesMayNameARank) {
  const auto names = KernelProfile::recorded().choices;
  const std::string name = names[1].name;
  const auto ranks = profile_of_ranks(name + "=8", {"1:" + name + "=16"}, 2);
  EXPECT_EQ(ranks[0][1].second, "8");
  EXPECT_EQ(ranks[1][1].second, "16");
}

TEST(ProfileOptions, AFileHasALineForEachChoice) {
  const std::string name = KernelProfile::recorded().choices[1].name;
  const auto path =
      std::filesystem::temp_directory_path() / ("hitproof-profile-" + std::to_string(getpid()));
  std::ofstream(path) << "# recorded on rank 0\n" << name << " = 24  # rows\n\n";
  EXPECT_EQ(profile_of_ranks(path.string(), {}, 1)[0][1].second, "24");
  std::filesystem::remove(path);
  EXPECT_THROW(profile_of_ranks(path.string(), {}, 1), std::invalid_argument);
}

TEST(ProfileOptions, UnknownChoicesAreRefused) {
  EXPECT_THROW(profile_of_ranks("recorded", {"no_such=8"}, 1), std::invalid_argument);
  EXPECT_THROW(profile_of_ranks("recorded", {"nonsense"}, 1), std::invalid_argument);
  const std::string name = KernelProfile::recorded().choices[1].name;
  EXPECT_THROW(profile_of_ranks("recorded", {name + "=fast"}, 1), std::invalid_argument);
  EXPECT_THROW(profile_of_ranks("recorded", {"4:" + name + "=8"}, 4), std::invalid_argument);
}

} // namespace
} // namespace hitproof::engine
