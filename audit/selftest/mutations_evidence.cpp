// Whether the recording is complete, unchanged, and under its plan.
#include "audit/selftest/parts.h"

namespace hitproof::audit::selftest {

using enum Answer;

namespace {

constexpr Need with_plan{
    "a registered plan",
    "SELECT COUNT(*) FROM recording WHERE key = 'plan_sha256' AND value <> ''"};
constexpr Need with_tails{"tails that were read", "SELECT COUNT(*) FROM tail_read"};

} // namespace

std::vector<Mutation> mutations_of_evidence() {
  return {
      {"evidence_record_missing", "evidence", "records_missing", inconclusive,
       "one record is dropped from the middle of its thread",
       "DELETE FROM lookup WHERE rowid = (SELECT MIN(rowid) FROM lookup)"},
      {"evidence_record_doubled", "evidence", "records_doubled", inconclusive,
       "one record is there twice",
       "INSERT INTO lookup SELECT * FROM lookup WHERE rowid = (SELECT MIN(rowid) FROM lookup)"},
      {"evidence_dropped", "evidence", "records_dropped", inconclusive,
       "a process could not record 3 observations",
       "UPDATE coverage SET dropped = 3 WHERE installed = 1"},
      {"evidence_gap_counted", "evidence", "recorder_dropped", inconclusive,
       "the recorder counted a gap",
       "INSERT OR REPLACE INTO recording (key, value) VALUES ('gaps', '1')"},
      {"evidence_journal_with_a_gap", "evidence", "journal_incomplete", inconclusive,
       "a thread's journal has a gap",
       "INSERT OR REPLACE INTO journal_file VALUES (" RANK_PROCESS ", " RANK_PROCESS
       ", 0, 0, 1, 1, 1, 0, 1, 0)"},
      {"evidence_not_closed", "evidence", "not_closed", inconclusive,
       "the recording was never closed", "UPDATE recording SET value = '0' WHERE key = 'closed'"},
      {"evidence_interrupted", "evidence", "not_completed", inconclusive,
       "the recording was interrupted",
       "UPDATE recording SET value = 'interrupted' WHERE key = 'closed_reason'"},
      {"evidence_killed", "evidence", "process_died", inconclusive, "a rank was killed",
       "INSERT OR REPLACE INTO process_exit VALUES (" RANK_PROCESS ", 'rank', -1, 9)"},
      {"evidence_no_counters", "evidence", "coverage_missing", inconclusive,
       "a rank's coverage counters are dropped",
       "DELETE FROM coverage WHERE process = " RANK_PROCESS},
      {"evidence_replaced_without_counters", "evidence", "coverage_missing", inconclusive,
       "a rank's program is replaced by another one, whose counters are not there",
       "INSERT INTO meta (process, thread, seq, t_ns, name, value) SELECT process, process + "
       "50000000, 1, MAX(t_ns) + 1, 'probe.version', 'selftest' FROM coverage WHERE process "
       "= " RANK_PROCESS " GROUP BY process"},
      {"evidence_killed_after_an_exec_failed", "evidence", "coverage_missing", inconclusive,
       "the last counters of a rank are those before an exec that failed",
       "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "
       "SELECT process, process + 50000000, 1, MAX(t_ns) + 1, 'exec:failed', 0, 0, 0, 0 FROM "
       "coverage WHERE process = " RANK_PROCESS " GROUP BY process"},
      {"evidence_harmless_exec_failed", "evidence", "", silence,
       "an exec of a rank failed before its last counters",
       "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "
       "SELECT process, process + 50000000, 1, MAX(t_ns), 'exec:failed', 0, 0, 0, 0 FROM "
       "coverage WHERE process = " RANK_PROCESS " AND name = 'hooks' GROUP BY process"},
      {"evidence_blind_path", "evidence", "blind_path_used", inconclusive,
       "a path was used that cannot be observed",
       "UPDATE coverage SET calls = 2, installed = 1 WHERE name LIKE 'path:%'"},
      {"evidence_blind_path_there", "evidence", "blind_path_exists", note,
       "a path is there that cannot be observed, and no call shows whether it was used",
       "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "
       "SELECT process, process + 50000000, 1, MAX(t_ns), 'path:selftest', 2, 0, 0, 0 FROM "
       "coverage GROUP BY process"},
      {"evidence_results_changed",
       "evidence",
       "results_changed_on_purpose",
       inconclusive,
       "the probe flipped bits in tails that were read",
       "INSERT INTO tail_flip SELECT process, " ADDED ", t_ns, request, effective, 129, rank, "
       "entry, 0 FROM tail_read",
       {.needs = &with_tails}},
      {"evidence_run_excluded", "evidence", "excluded", note, "one run is excluded, with a reason",
       "INSERT INTO exclusion VALUES ('selftest', 'one run', 'the machine was switched off')"},
      {"evidence_other_plan", "evidence", "plan_changed", fail,
       "the plan is not the one that was registered",
       "UPDATE recording SET value = 'abcd' WHERE key = 'plan_sha256'"},
      {"evidence_control_plan_changed",
       "evidence",
       "plan_changed",
       fail,
       "the control arm's plan is not the one that was registered",
       "UPDATE recording SET value = 'abcd' WHERE key = 'plan_sha256'",
       {.arm = Arm::control}},
      {"evidence_no_plan_registered", "evidence", "plan_not_registered", inconclusive,
       "no plan was registered", "DELETE FROM recording WHERE key = 'plan_sha256'"},
      {"evidence_plan_registered_late",
       "evidence",
       "plan_registered_late",
       fail,
       "the plan was registered after the last operation had begun",
       "INSERT OR REPLACE INTO recording (key, value) SELECT 'plan_registered_ns', MAX(begin_ns) "
       "FROM study_operation",
       {.needs = &with_plan}},
      {"evidence_plan_removed",
       "evidence",
       "plan_missing",
       inconclusive,
       "the plan is removed from the archive",
       "",
       {.needs = &with_plan, .files = remove_plan}},
      {"evidence_control_of_another_plan",
       "evidence",
       "control_under_another_plan",
       fail,
       "the control arm was planned with another number of tokens",
       "",
       {.needs = &with_plan, .files = plan_control_for_other_tokens}},
      {"evidence_file_added",
       "evidence",
       "archive_problem",
       fail,
       "a file is added that no manifest names",
       "",
       {.files = add_file_behind_manifest, .manifests_follow = false}},
  };
}

} // namespace hitproof::audit::selftest
