// What was not seen has not passed: recordings that are empty, partial, open, changed or damaged.
#include "audit/json.h"
#include "schema/archive.h"
#include "tests/audit/fixture.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

namespace hitproof::audit::testing {
namespace {

namespace fs = std::filesystem;

TEST(Missing, EmptyRecordingIsInconclusive) {
  ScratchDir dir;
  {
    auto recording = schema::Recording::open_new(dir.path());
    ASSERT_TRUE(recording.ok());
    ASSERT_TRUE(recording->put("arm", "candidate").ok());
    ASSERT_TRUE(recording->close("completed").ok());
  }
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::inconclusive) << findings_of(report);
  for (const RuleReport& r : report.rules)
    EXPECT_EQ(r.verdict, Verdict::inconclusive) << r.name;
}

TEST(Missing, MetadataObserversAloneAreInconclusive) {
  ScratchDir dir;
  StudySpec spec = small_spec();
  spec.content_probes = false;
  spec.delays = false;
  write_archive(dir.path(), spec);
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::inconclusive) << findings_of(report);
  for (const char* rule : {"pages", "poison", "tails", "boundary", "keys"}) {
    EXPECT_EQ(report.rule(rule)->verdict, Verdict::inconclusive) << rule;
  }
  for (const char* rule : {"waits", "generations", "order", "control", "evidence"}) {
    EXPECT_EQ(report.rule(rule)->verdict, Verdict::pass) << rule << "\n" << findings_of(report);
  }
}

TEST(Missing, DroppedRecordsAreInconclusive) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "DELETE FROM page_digest WHERE seq % 7 = 0; UPDATE recording SET value = '40' "
                     "WHERE key = 'dropped'");
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::inconclusive) << findings_of(report);
  EXPECT_EQ(report.rule("evidence")->verdict, Verdict::inconclusive);
  EXPECT_EQ(report.rule("pages")->verdict, Verdict::inconclusive);
}

// The wait is gone. In a complete recording that is a save nobody waited for; where records are
// missing it may have been among them.
TEST(Missing, AbsentRecordIsAFindingInACompleteRecordingOnly) {
  const char* const no_wait =
      "DELETE FROM wait WHERE transfer = (SELECT MIN(transfer) FROM transfer WHERE direction = 0)";
  const struct {
    const char* also;
    Verdict expected;
  } cases[] = {
      {"", Verdict::fail},
      {"; UPDATE recording SET value = '0' WHERE key = 'closed'", Verdict::inconclusive},
      {"; INSERT OR REPLACE INTO recording (key, value) VALUES ('gaps', '1')",
       Verdict::inconclusive},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.also);
    ScratchDir dir;
    copy_good_study(dir.path());
    change(dir.path(), std::string(no_wait) + c.also);
    ASSERT_TRUE(schema::close_archive(dir.path()).ok());
    const Report report = audit_or_throw(dir.path(), true);
    EXPECT_EQ(report.rule("waits")->verdict, c.expected) << findings_of(report);
  }
}

TEST(Missing, ZerosOnlyAreInconclusive) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "UPDATE tail_read SET nonzero = 0, naive_nonzero = 0");
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::inconclusive) << findings_of(report);
  EXPECT_EQ(report.rule("tails")->verdict, Verdict::inconclusive);
  EXPECT_EQ(report.rule("tails")->figure("nonzero"), 0);
}

// What the probe could not do or see it noted with the reason: the program went on.
TEST(Missing, WhatTheProbeNotedIsSaidWithWhatToDo) {
  const auto noted = [](const std::string& why, const std::string& fact = "page.work") {
    return "INSERT INTO meta SELECT process, process + 50000000, 1, MAX(t_ns), '" + fact + "', '" +
           why + "' FROM coverage GROUP BY process; ";
  };
  const auto counted = [](const std::string& path) {
    return "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, "
           "dropped) SELECT process, process + 50000000, 2, MAX(t_ns), '" +
           path + "', 3, 0, 1, 0 FROM coverage GROUP BY process";
  };
  const std::string left_out = counted("path:device_memory_unreadable");
  const std::string none_left_out = "SELECT 1";
  const struct {
    std::string sql;
    Verdict verdict;
    std::vector<std::string> says;
  } cases[] = {
      {noted("device older than sm_80") + left_out,
       Verdict::inconclusive,
       {"device older than sm_80; run on a GPU of compute capability 8.0 or later"}},
      {noted("kernels did not load (222)") + left_out,
       Verdict::inconclusive,
       {"kernels did not load (222)", "install a driver for CUDA 13.0 or later"}},
      {noted("built without CUDA") + left_out,
       Verdict::inconclusive,
       {"built without CUDA; build Hitproof where nvcc of CUDA 13 is installed"}},
      {noted("the driver has no cuLibraryLoadData") + left_out,
       Verdict::inconclusive,
       {"no cuLibraryLoadData; install a driver for CUDA 13.0 or later"}},
      {noted("device memory: 131072 bytes asked for, refused (2)", "page.memory") +
           counted("path:device_memory_short"),
       Verdict::inconclusive,
       {"pages were not looked at", "131072 bytes asked for, refused (2); leave the probe",
        "lower the program's own share of it"}},
      {noted("pinned host memory: 65536 bytes asked for, refused (2)", "page.memory") +
           counted("path:device_memory_short"),
       Verdict::inconclusive,
       {"pinned host memory: 65536 bytes", "ulimit -l"}},
      {noted("libother.so: cudaMemcpyAsync", "foreign_hook") + counted("path:foreign_hook"),
       Verdict::inconclusive,
       {"another library has hooked calls of its own",
        "libother.so: cudaMemcpyAsync; record without it (LD_PRELOAD"}},
      {noted("kernels for sm_90") + left_out, Verdict::inconclusive, {}},
      {noted("device older than sm_80") + none_left_out, Verdict::pass, {}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.sql);
    ScratchDir dir;
    copy_good_study(dir.path());
    change(dir.path(), c.sql);
    ASSERT_TRUE(schema::close_archive(dir.path()).ok());
    const Report report = audit_or_throw(dir.path(), true);
    EXPECT_EQ(report.verdict, c.verdict) << findings_of(report);
    const std::vector<std::string>& missing = report.rule("evidence")->missing;
    EXPECT_EQ(missing.size(), c.says.empty() ? 0u : 1u);
    for (const std::string& part : c.says)
      EXPECT_NE(missing.at(0).find(part), std::string::npos) << missing.at(0);
  }
}

TEST(Missing, WithoutControlArmIsInconclusive) {
  ScratchDir dir;
  write_archive(dir.path(), small_spec(), false);
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  EXPECT_EQ(report.rule("generations")->verdict, Verdict::inconclusive);
  EXPECT_EQ(report.rule("control")->verdict, Verdict::inconclusive);
  EXPECT_EQ(report.rule("pages")->verdict, Verdict::pass) << findings_of(report);
}

TEST(Missing, OpenRecordingIsAuditedAndInconclusive) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "UPDATE recording SET value = '0' WHERE key = 'closed'");
  for (const char* file :
       {"bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"}) {
    fs::remove(dir.path() + "/" + file);
  }
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::inconclusive) << findings_of(report);
  EXPECT_TRUE(has_finding(report, "evidence", "not_closed"));
}

TEST(Missing, ControlUnderOtherControlsIsAFinding) {
  ScratchDir dir;
  write_archive(dir.path(), small_spec(), true, 17);
  const Report report = audit_or_throw(dir.path());
  EXPECT_EQ(report.rule("evidence")->verdict, Verdict::fail);
  EXPECT_TRUE(has_finding(report, "evidence", "control_under_another_plan")) << findings_of(report);
}

TEST(Missing, PlanThatIsNotInTheArchive) {
  ScratchDir dir;
  copy_good_study(dir.path());
  fs::remove(dir.path() + "/data/plan.toml");
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.rule("evidence")->verdict, Verdict::inconclusive) << findings_of(report);
  EXPECT_TRUE(has_finding(report, "evidence", "plan_missing")) << findings_of(report);
}

TEST(Missing, FewerOperationsThanPlanned) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(),
         "DELETE FROM study_token WHERE op > 9; DELETE FROM study_operation WHERE op > 9");
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.rule("generations")->verdict, Verdict::inconclusive) << findings_of(report);
}

TEST(Missing, ChangedArchiveIsRefused) {
  ScratchDir dir;
  copy_good_study(dir.path());
  std::ofstream(dir.path() + "/data/plan.toml", std::ios::app) << "tokens = 65\n";
  const auto report = audit_archive(dir.path());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.code(), schema::Code::corruption);
  EXPECT_NE(report.status().message().find("plan.toml"), std::string::npos)
      << report.status().message();
  // Asked to look all the same, it says what is wrong.
  const Report looked = audit_or_throw(dir.path(), false);
  EXPECT_EQ(looked.rule("evidence")->verdict, Verdict::fail);
  EXPECT_TRUE(has_finding(looked, "evidence", "archive_problem"));
  EXPECT_TRUE(has_finding(looked, "evidence", "plan_changed"));
}

TEST(Missing, NoRecordingAndNoFolder) {
  ScratchDir dir;
  EXPECT_EQ(audit_archive(dir.path() + "/nowhere").code(), schema::Code::not_found);
  EXPECT_EQ(audit_archive(dir.path()).code(), schema::Code::not_found);
}

TEST(Missing, NotADatabase) {
  ScratchDir dir;
  fs::create_directories(dir.path() + "/data");
  std::ofstream(dir.path() + "/data/recording.sqlite") << std::string(100000, 'x');
  EXPECT_EQ(audit_archive(dir.path()).code(), schema::Code::corruption);
}

// Its records are looked at before its pages are known to be sound; nothing is said of them.
TEST(Missing, PagesThatTwoTablesShare) {
  for (const char* arm : {"data/recording.sqlite", "data/reference/recording.sqlite"}) {
    SCOPED_TRACE(arm);
    ScratchDir dir;
    copy_good_study(dir.path());
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((dir.path() + "/" + arm).c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db,
                           "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = "
                           "(SELECT rootpage FROM sqlite_master WHERE name = 'wait') WHERE name = "
                           "'reuse'",
                           nullptr, nullptr, nullptr),
              SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
    // The manifests are right: somebody made it so.
    ASSERT_TRUE(schema::close_archive(dir.path()).ok());
    for (const bool refuse : {true, false})
      for (const bool statements : {true, false}) {
        Options options;
        options.refuse_damaged = refuse;
        options.statements_only = statements;
        EXPECT_EQ(audit_archive(dir.path(), options).code(), schema::Code::corruption);
      }
  }
}

TEST(Missing, NewerFormat) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "UPDATE recording SET value = '99' WHERE key = 'format_version'");
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  EXPECT_EQ(audit_archive(dir.path()).code(), schema::Code::newer_format);
}

TEST(Missing, ExclusionsAreListed) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "INSERT INTO exclusion VALUES ('run-1', 'first run', 'wrong model name')");
  ASSERT_TRUE(schema::close_archive(dir.path()).ok());
  const Report report = audit_or_throw(dir.path(), true);
  EXPECT_EQ(report.verdict, Verdict::pass) << findings_of(report);
  ASSERT_EQ(report.exclusions.size(), 1u);
  EXPECT_EQ(report.exclusions[0], "first run: wrong model name");
}

TEST(Missing, BytesThatAreNoTextDoNotBreakTheJson) {
  ScratchDir dir;
  copy_good_study(dir.path());
  change(dir.path(), "UPDATE entry SET name = CAST(x'ff22fe5c' AS TEXT) WHERE entry = 3; DELETE "
                     "FROM copy WHERE entry = 3");
  const Report report = audit_or_throw(dir.path());
  EXPECT_TRUE(nlohmann::json::accept(to_json(report)));
  EXPECT_EQ(report.verdict, Verdict::fail);
}

// A program that takes a process over counts from zero: what both counted is added.
TEST(Missing, CountersOfReplacedProgramsAreAdded) {
  ScratchDir dir;
  copy_good_study(dir.path());
  const Report before = audit_or_throw(dir.path());
  change(
      dir.path(),
      "UPDATE coverage SET dropped = 3 WHERE name = 'hooks'; "
      "INSERT INTO meta (process, thread, seq, t_ns, name, value) SELECT process, process + "
      "50000000, 1, MAX(t_ns) + 1, 'probe.version', 'other' FROM coverage GROUP BY process; "
      "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "
      "SELECT process, process + 50000000, 2, MAX(t_ns) + 1, 'hooks', 1, 0, 1, 2 FROM "
      "coverage GROUP BY process");
  const Report after = audit_or_throw(dir.path());
  const auto processes = before.rule("evidence")->figure("processes");
  ASSERT_GT(processes, 0);
  EXPECT_EQ(after.rule("evidence")->figure("calls"),
            before.rule("evidence")->figure("calls") + processes);
  EXPECT_EQ(after.rule("evidence")->figure("dropped"), 5 * processes);
  const auto findings = after.rule("evidence")->findings;
  const auto dropped = std::find_if(findings.begin(), findings.end(), [](const Finding& f) {
    return f.violation == "records_dropped";
  });
  ASSERT_NE(dropped, findings.end());
  EXPECT_EQ(dropped->first.actual, "5");
  EXPECT_FALSE(has_finding(after, "evidence", "coverage_missing"));
}

} // namespace
} // namespace hitproof::audit::testing
