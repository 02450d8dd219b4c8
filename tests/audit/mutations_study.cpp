#include "tests/audit/mutations_parts.h"

namespace hitproof::audit::testing {

// What a cross-check run adds: H2D differs from the ledger by `off` bytes in every process.
#define CUPTI_COUNTERS(off)                                                                        \
  "INSERT INTO meta (process, thread, seq, t_ns, name, value) SELECT DISTINCT process, 0, 0, 0, "  \
  "'env:HITPROOF_CUPTI', '1' FROM copy;"                                                           \
  "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "     \
  "SELECT process, 0, 0, 0, 'cupti:session', COUNT(*), 0, 1, 0 FROM copy GROUP BY process;"        \
  "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "     \
  "SELECT process, 0, 0, 0, CASE direction WHEN 0 THEN 'cupti:d2h' ELSE 'cupti:h2d' END, "         \
  "COUNT(*), SUM(bytes) + CASE direction WHEN 1 THEN " off " ELSE 0 END, 1, 0 FROM copy "          \
  "WHERE direction < 2 AND result = 0 GROUP BY process, direction"

std::vector<Mutation> mutations_of_studies() {
  return {
      // ---- generations
      {"generations_token_differs", "generations", "reload_differs_from_cold", true,
       "UPDATE study_token SET token = token + 1 WHERE op = 4 AND position = 7"},
      {"generations_control_differs", "generations", "candidate_differs_from_control", true,
       "UPDATE study_token SET token = token + 1 WHERE op = 1 AND position = 15", true},
      {"generations_logits_differ", "generations", "candidate_logits_differ", true,
       "UPDATE study_token SET logits = zeroblob(32) WHERE op = 2 AND position = 3"},
      {"generations_one_token_less", "generations", "candidate_has_another_length", true,
       "DELETE FROM study_token WHERE op = 1 AND position = 15"},
      {"generations_operation_failed", "generations", "operation_not_finished", false,
       "UPDATE study_operation SET status = 'failed' WHERE op = 2"},
      {"generations_control_incomplete", "generations", "operation_without_control", false,
       "DELETE FROM study_token WHERE op = 2", true},
      {"generations_fewer_than_planned", "generations", "operation_without_control", false,
       "DELETE FROM study_token WHERE op > 9; DELETE FROM study_operation WHERE op > 9", true},
      {"generations_harmless_cases_numbered_otherwise", "generations", nullptr, false,
       "UPDATE study_operation SET case_index = case_index + 3", true},
      {"generations_harmless_margin", "generations", nullptr, false,
       "UPDATE study_token SET margin = margin / 3"},
      {"generations_reload_logits_differ", "generations", "reload_logits_differ", true,
       "UPDATE study_token SET logits = zeroblob(32) WHERE op = 4 AND position = 3"},
      {"generations_reload_one_token_less", "generations", "reload_has_another_length", true,
       "DELETE FROM study_token WHERE op = 4 AND position = 15"},
      {"generations_twin_of_another_prompt", "generations", "twin_has_another_prompt", false,
       "UPDATE study_operation SET prompt = zeroblob(32) WHERE op = 4"},
      {"generations_no_token", "generations", "nothing_generated", false,
       "DELETE FROM study_token WHERE op = 2"},

      // ---- keys
      {"keys_weights_left_out", "keys", "content_input_not_in_key", true,
       "DELETE FROM key_input WHERE name = 'weights'"},
      {"keys_other_weights", "keys", "key_input_has_another_value", true,
       "UPDATE key_input SET value = zeroblob(32) WHERE name = 'weights' AND rank = 1"},
      {"keys_two_contents", "keys", "one_key_two_contents", true,
       "UPDATE transfer SET key = (SELECT key FROM transfer WHERE transfer = " ONE_SAVE
       "), next_token = 5 WHERE direction "
       "= 0 AND transfer = (SELECT MIN(transfer) FROM transfer WHERE direction = 0 AND transfer "
       "> " ONE_SAVE ")"},
      {"keys_unknown", "keys", "key_inputs_unknown", false, "DELETE FROM key_input"},
      {"keys_contents_undeclared", "keys", "content_inputs_unknown", false,
       "DELETE FROM content_input WHERE rank = 1"},
      {"keys_harmless_further_input", "keys", nullptr, false,
       "INSERT INTO key_input SELECT process, thread, seq + 1000000, t_ns, key, value, rank, "
       "'salt' FROM key_input WHERE "
       "name = 'rank'"},

      // ---- control
      {"control_other_split", "control", "step_differs_from_control", true,
       "UPDATE step_request SET tokens = tokens - 8 WHERE request = 2 AND start = 0", true},
      {"control_harmless_steps_after_other_tokens", "control", nullptr, false,
       "UPDATE study_token SET token = token + 1 WHERE op = 1; UPDATE step_request SET tokens = "
       "tokens + 1 WHERE request = 2 "
       "AND start > 260",
       true},
      {"control_one_step_more", "control", "other_number_of_steps", true,
       "DELETE FROM step_request WHERE request = 2 AND start = 255", true},
      {"control_profile_not_used", "control", "profile_not_in_force", true,
       "UPDATE profile SET selected = '32' WHERE phase = 1 AND rank = 1 AND name = 'choice3'"},
      {"control_other_profile", "control", "profile_differs_from_control", true,
       "UPDATE profile SET selected = '32', recorded = '32' WHERE rank = 1 AND name = 'choice3'",
       true},
      {"control_other_weights", "control", "content_input_differs_from_control", true,
       "UPDATE content_input SET value = zeroblob(32) WHERE name = 'weights'", true},
      {"control_profile_never_read_back", "control", "profile_not_read_back", false,
       "DELETE FROM profile WHERE phase = 1 AND rank = 1 AND name = 'choice3'"},
      {"control_harmless_renumbered_requests", "control", nullptr, false,
       "UPDATE study_operation SET request = request + 100 WHERE request > 0; UPDATE step_request "
       "SET request = request + "
       "100; UPDATE step_request SET step = step + 7; UPDATE step SET step = step + 7",
       true},
      {"control_profile_changed", "control", "profile_changed", true,
       "UPDATE profile SET selected = '32', recorded = '32' WHERE phase = 0 AND rank = 1 AND name "
       "= 'choice3'"},
      {"control_profile_incomplete", "control", "profile_incomplete", false,
       "DELETE FROM profile WHERE rank = 1 AND name = 'choice3'"},
      {"control_steps_unseen", "control", "steps_not_recorded", false,
       "DELETE FROM step_request WHERE request = 2"},
      {"control_choice_unseen_in_the_control", "control", "profile_without_control", false,
       "DELETE FROM profile WHERE rank = 1 AND name = 'choice3'", true},
      {"control_weights_unknown", "control", "weights_of_control_unknown", false,
       "DELETE FROM content_input WHERE name = 'weights'", true},

      // ---- crosscheck: CUPTI's counters beside a ledger that agrees with them, then not
      {"crosscheck_agrees", "crosscheck", nullptr, false, CUPTI_COUNTERS("0")},
      {"crosscheck_a_copy_the_ledger_lacks", "crosscheck", "bytes_differ", true,
       CUPTI_COUNTERS("4096")},
      {"crosscheck_a_copy_that_was_not_made", "crosscheck", "bytes_differ", true,
       CUPTI_COUNTERS("-1")},
      {"crosscheck_refused", "crosscheck", "session_refused", false,
       CUPTI_COUNTERS("0") ";UPDATE coverage SET installed = 0 WHERE name = 'cupti:session'"},
      {"crosscheck_records_lost", "crosscheck", "activity_dropped", false,
       CUPTI_COUNTERS("0") ";UPDATE coverage SET dropped = 3 WHERE name = 'cupti:session'"},
      {"crosscheck_process_without_counters", "crosscheck", "session_missing", false,
       CUPTI_COUNTERS("0") ";DELETE FROM coverage WHERE name LIKE 'cupti:%' AND process = (SELECT "
                           "MIN(process) FROM copy)"},

      // ---- evidence
      {"evidence_record_missing", "evidence", "records_missing", false,
       "DELETE FROM lookup WHERE request = 1"},
      {"evidence_dropped", "evidence", "records_dropped", false,
       "UPDATE coverage SET dropped = 3 WHERE installed = 1"},
      {"evidence_not_closed", "evidence", "not_closed", false,
       "UPDATE recording SET value = '0' WHERE key = 'closed'"},
      {"evidence_interrupted", "evidence", "not_completed", false,
       "UPDATE recording SET value = 'interrupted' WHERE key = 'closed_reason'"},
      {"evidence_blind_path", "evidence", "blind_path_used", false,
       "UPDATE coverage SET calls = 2 WHERE name = 'path:pinned_kernel'"},
      {"evidence_killed", "evidence", "process_died", false,
       "INSERT INTO process_exit VALUES (110, 'rank', -1, 9)"},
      {"evidence_no_counters", "evidence", "coverage_missing", false,
       "DELETE FROM coverage WHERE process = 110"},
      {"evidence_other_plan", "evidence", "plan_changed", true,
       "UPDATE recording SET value = 'abcd' WHERE key = 'plan_sha256'"},
      {"evidence_control_plan_changed", "evidence", "plan_changed", true,
       "UPDATE recording SET value = 'abcd' WHERE key = 'plan_sha256'", true},
      {"evidence_results_changed", "evidence", "results_changed_on_purpose", false,
       "INSERT INTO tail_flip SELECT process, thread, seq + 1000000, t_ns, request, effective, "
       "129, rank, entry, 0 FROM "
       "tail_read"},
      {"evidence_record_doubled", "evidence", "records_doubled", false,
       "INSERT INTO lookup SELECT * FROM lookup WHERE request = 1"},
      {"evidence_gap_counted", "evidence", "recorder_dropped", false,
       "INSERT OR REPLACE INTO recording (key, value) VALUES ('gaps', '1')"},
      {"evidence_journal_with_a_gap", "evidence", "journal_incomplete", false,
       "INSERT INTO journal_file VALUES (110, 110, 0, 0, 1, 1, 1, 0, 1, 0)"},
      {"evidence_no_plan_registered", "evidence", "plan_not_registered", false,
       "DELETE FROM recording WHERE key = 'plan_sha256'"},
  };
}

} // namespace hitproof::audit::testing
