// Golden archives: each is unpacked, verified and audited as a reader would, on this machine and
// without the device that made it, and must give the figures that stand beside it.
#include "tests/golden/unpacked.h"

namespace hitproof::e2e {
namespace {

class Golden : public Unpacked {};

// Every figure that is expected, wherever it stands; what is not expected is not looked at. A list
// must have as many elements.
void expect_figures(const nlohmann::json& expected, const nlohmann::json& found,
                    const std::string& name) {
  if (expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      ASSERT_TRUE(found.contains(key)) << name << '.' << key;
      expect_figures(value, found[key], name + '.' + key);
    }
  } else if (expected.is_array()) {
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i)
      expect_figures(expected[i], found[i], name + '[' + std::to_string(i) + ']');
  } else {
    EXPECT_EQ(found, expected) << name;
  }
}

TEST_P(Golden, IsWholeAndGivesItsFigures) {
  const Outcome verified = run({program("hitproof"), "verify", dir_.path()});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  int code = -1;
  const auto audit = audit_json(dir_.path(), &code);
  EXPECT_EQ(code, 0);
  expect_figures(expected(), audit, "audit");
}

// The control: one digest of one page is another, and the pages no longer agree.
TEST_P(Golden, AChangedDigestIsSeen) {
  const std::string change =
      "UPDATE page_digest SET content = page WHERE rowid = (SELECT MAX(rowid) FROM page_digest "
      "WHERE content <> page)";
  ASSERT_EQ(run({"sqlite3", dir_.path("data/recording.sqlite"), change}).exit_code, 0);
  EXPECT_EQ(run({program("hitproof"), "audit", dir_.path()}).exit_code, 4);
  const Outcome despite =
      run({program("hitproof"), "audit", dir_.path(), "--despite-damage", "--json"});
  EXPECT_EQ(despite.exit_code, 1) << despite.err;
  const auto audit = nlohmann::json::parse(despite.out, nullptr, false);
  ASSERT_FALSE(audit.is_discarded());
  EXPECT_EQ(rule_verdict(audit, "pages"), "fail");
}

INSTANTIATE_TEST_SUITE_P(Archives, Golden, testing::Values("h200-paper-study"), name_of_archive);

} // namespace
} // namespace hitproof::e2e
