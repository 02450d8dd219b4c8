// The auditor is the independent reader: it includes and links schema, and nothing of the rooms
// that measure. Its queries, sentences and witness tables fit together.
#include "audit/proof.h"
#include "audit/rule.h"
#include "audit/witness.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

namespace hitproof::audit {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const char* const measuring_rooms[] = {"probes", "engine", "kernels", "poison"};

TEST(Walls, NoIncludeOfAMeasuringRoom) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(HITPROOF_AUDIT_FOLDER)) {
    const std::string suffix = entry.path().extension();
    if (suffix != ".cpp" && suffix != ".h") continue;
    ++files;
    const std::string text = read(entry.path());
    for (const char* room : measuring_rooms) {
      EXPECT_EQ(text.find("#include \"" + std::string(room) + "/"), std::string::npos)
          << entry.path() << " " << room;
      EXPECT_EQ(text.find("#include <" + std::string(room) + "/"), std::string::npos)
          << entry.path() << " " << room;
    }
    EXPECT_EQ(text.find("hitproof.h\""), std::string::npos) << entry.path();
  }
  EXPECT_GT(files, 20);
}

// This very program is linked with the auditor alone: its link line names no library of those
// rooms.
TEST(Walls, LinkLineNamesSchemaAlone) {
  const std::string ninja = read(HITPROOF_BUILD_NINJA);
  if (ninja.empty()) GTEST_SKIP() << "not built with ninja";
  const std::size_t at = ninja.find("audit_walls_test: CXX_EXECUTABLE_LINKER");
  ASSERT_NE(at, std::string::npos);
  const std::string rule = ninja.substr(at, ninja.find("\n\n", at) - at);
  EXPECT_NE(rule.find("libhitproof_schema.a"), std::string::npos);
  for (const char* library :
       {"libhitproof_kernels", "libhitproof_poison", "libhitproof.so", "hitproof_sim",
        "libhitproof_model", "libhitproof_runtime", "libtorch"}) {
    EXPECT_EQ(rule.find(library), std::string::npos) << library;
  }
}

// No undefined symbol of the archive belongs to another namespace of the house than schema and
// audit.
TEST(Walls, NoUndefinedSymbolOfAMeasuringRoom) {
  FILE* nm = popen(
      ("nm -C --undefined-only " + std::string(HITPROOF_AUDIT_LIBRARY) + " 2>/dev/null").c_str(),
      "r");
  ASSERT_NE(nm, nullptr);
  char line[4096];
  int lines = 0;
  while (std::fgets(line, sizeof line, nm)) {
    ++lines;
    for (const char* room : {"hitproof::probes", "hitproof::engine", "hitproof::kernels",
                             "hitproof::poison", "hitproof::sim", " hitproof_"}) {
      EXPECT_EQ(std::string(line).find(room), std::string::npos) << line;
    }
  }
  if (pclose(nm) != 0 || lines == 0) GTEST_SKIP() << "no nm on this machine";
}

std::set<std::string> violations_in(const std::string& sql) {
  static const std::regex pattern("SELECT '([a-z_]+)'");
  std::set<std::string> ids;
  for (std::sregex_iterator it(sql.begin(), sql.end(), pattern), end; it != end; ++it)
    ids.insert((*it)[1]);
  return ids;
}

TEST(Walls, EveryViolationHasItsSentence) {
  std::set<std::string> all;
  for (const Rule* rule : all_rules()) {
    std::set<std::string> sentences;
    for (const Sentence& s : rule->sentences) {
      EXPECT_TRUE(sentences.insert(s.violation).second)
          << rule->name << " says " << s.violation << " twice";
    }
    for (const char* query : rule->queries) {
      ASSERT_NE(rule_sql(query), nullptr) << query;
      for (const std::string& id : violations_in(rule_sql(query))) {
        EXPECT_TRUE(sentences.count(id)) << rule->name << " has no sentence for " << id;
      }
    }
    EXPECT_FALSE(rule->sentences.empty());
  }
}

TEST(Walls, WitnessTablesAreKnown) {
  const auto citable = citable_tables();
  for (const Rule* rule : all_rules()) {
    for (const char* table : rule->witness_tables) {
      EXPECT_NE(std::find(citable.begin(), citable.end(), table), citable.end())
          << rule->name << ": " << table;
    }
  }
}

// A list of proving records that names no violation, or a table that cannot be cited, proves
// nothing.
TEST(Walls, ProofsAreOfViolationsThatExist) {
  const auto citable = citable_tables();
  std::set<std::string> known;
  for (const Rule* rule : all_rules()) {
    for (const Sentence& s : rule->sentences) {
      known.insert(std::string(rule->name) + "/" + s.violation);
      for (const char* table : proof_of(rule->name, s.violation, rule->witness_tables)) {
        EXPECT_NE(std::find(citable.begin(), citable.end(), table), citable.end())
            << s.violation << ": " << table;
      }
    }
  }
  std::set<std::string> seen;
  for (const std::string& name : proved_violations()) {
    EXPECT_TRUE(known.count(name)) << name;
    EXPECT_TRUE(seen.insert(name).second) << name << " is listed twice";
  }
  EXPECT_GT(seen.size(), 50u);
}

// The sequence check of rule evidence must look at every record table there is.
TEST(Walls, EvidenceCountsEveryRecordTable) {
  const std::string sql = rule_sql("evidence");
  const std::regex record(R"(HP_RECORD\((\w+),)");
  const std::string list = read(fs::path(HITPROOF_AUDIT_FOLDER) / "../schema/records.def");
  int tables = 0;
  for (std::sregex_iterator it(list.begin(), list.end(), record), end; it != end; ++it) {
    if ((*it)[1] == "name") continue;
    ++tables;
    EXPECT_NE(sql.find("seq FROM " + (*it)[1].str()), std::string::npos) << (*it)[1];
  }
  EXPECT_GT(tables, 25);
}

} // namespace
} // namespace hitproof::audit
