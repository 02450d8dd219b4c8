// The fleet's auditor has its own words for what surrounds the queries; where Python is missing,
// this alone notices that a rule was added without them.
#include "audit/rule.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace hitproof::audit {
namespace {

TEST(FleetJudge, KnowsEveryRuleAndEachOfItsQueries) {
  std::ifstream file(HITPROOF_FLEET_FOLDER "/judge.py");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string judge = text.str();
  ASSERT_FALSE(judge.empty());
  for (const Rule* rule : all_rules()) {
    EXPECT_NE(judge.find("    def " + std::string(rule->name) + "(self, rule):"), std::string::npos)
        << "audit/fleet/judge.py has no method for rule " << rule->name;
    for (const char* query : rule->queries)
      EXPECT_NE(judge.find("\"" + std::string(query) + "\""), std::string::npos)
          << "audit/fleet/judge.py does not run " << query << ".sql";
  }
}

} // namespace
} // namespace hitproof::audit
