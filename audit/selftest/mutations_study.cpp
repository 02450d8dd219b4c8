// What the arms generated, under which keys, on which kernels, and what CUPTI counted beside it.
#include "audit/selftest/parts.h"

// What a cross-check run adds: H2D differs from the ledger by `off` bytes in every process. The
// counters go on where each process' main thread ended.
#define CUPTI_COUNTERS(off)                                                                        \
  "CREATE TEMP TABLE counting AS SELECT process FROM copy UNION SELECT process FROM memory UNION " \
  "SELECT process FROM order_op; "                                                                 \
  "INSERT INTO meta (process, thread, seq, t_ns, name, value) SELECT process, process + "          \
  "50000000, 1, (SELECT MIN(t_ns) FROM process), 'env:HITPROOF_CUPTI', '1' FROM counting; "        \
  "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "     \
  "SELECT process, process + 50000000, 2, (SELECT MAX(t_ns) FROM coverage), 'cupti:session', 1, "  \
  "0, 1, 0 FROM counting; "                                                                        \
  "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "     \
  "SELECT process, process + 50000000, 2 + ROW_NUMBER() OVER (PARTITION BY process ORDER BY "      \
  "direction), (SELECT MAX(t_ns) FROM coverage), CASE direction WHEN 0 THEN 'cupti:d2h' WHEN 1 "   \
  "THEN 'cupti:h2d' ELSE 'cupti:d2d' END, COUNT(*), SUM(bytes) + CASE direction WHEN 1 THEN " off  \
  " ELSE 0 END, 1, 0 FROM copy WHERE direction < 3 AND result = 0 GROUP BY process, direction; "   \
  "DROP TABLE counting"

// Another program takes each process over: from then on it is asked to count anew.
#define REPLACED                                                                                   \
  "INSERT INTO meta (process, thread, seq, t_ns, name, value) SELECT process, process + "          \
  "60000000, 1, MAX(t_ns) + 1, 'probe.version', 'selftest' FROM coverage WHERE name = "            \
  "'cupti:session' GROUP BY process; "                                                             \
  "INSERT INTO meta (process, thread, seq, t_ns, name, value) SELECT process, process + "          \
  "60000000, 2, MAX(t_ns) + 1, 'env:HITPROOF_CUPTI', '1' FROM coverage WHERE name = "              \
  "'cupti:session' GROUP BY process"

// CUPTI was asked at `asked` and other threads were at work at `working`, from the last counter on.
#define UNSETTLED(asked, working)                                                                  \
  "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "     \
  "SELECT process, process + 70000000, 1, MAX(t_ns) + " asked                                      \
  ", 'cupti:flush', 0, 0, 0, 0 FROM coverage WHERE name = 'cupti:session' GROUP BY process; "      \
  "INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, installed, dropped) "     \
  "SELECT process, process + 70000000, 2, MAX(t_ns) + " working                                    \
  ", 'cupti:unsettled', 1, 0, 0, 0 FROM coverage WHERE name = 'cupti:session' GROUP BY process"

// One kernel choice of one rank.
#define ONE_CHOICE "rank = " LAST_RANK " AND name = (SELECT MIN(name) FROM profile)"

namespace hitproof::audit::selftest {

using enum Answer;

namespace {

// Counters of a run that was not cross-checked anyhow can be added.
constexpr Need not_cross_checked{"a recording without CUPTI's counters",
                                 "SELECT COUNT(*) = 0 FROM coverage WHERE name LIKE 'cupti:%'"};
std::vector<MayChange> counters_shown() {
  return {{"crosscheck", "the rule reports where it has counters"},
          {"evidence/hooks", "the counters stand beside those of hooked calls, and are counted"},
          {"evidence/calls", "so are the calls that they counted"}};
}

} // namespace

std::vector<Mutation> mutations_of_studies() {
  return {
      // ---- generations
      {"generations_token_differs", "generations", "reload_differs_from_cold", fail,
       "one token after a reload is another one",
       "UPDATE study_token SET token = token + 1 WHERE op = " RELOAD " AND position = 7"},
      {"generations_two_tokens_swapped", "generations", "reload_differs_from_cold", fail,
       "two tokens after a reload are swapped",
       "CREATE TEMP TABLE pair AS SELECT position AS here, position + 1 AS there FROM study_token "
       "t WHERE op = " RELOAD " AND token <> (SELECT n.token FROM study_token n WHERE n.op = t.op "
       "AND n.position = t.position + 1) ORDER BY position LIMIT 1; CREATE TEMP TABLE old AS "
       "SELECT position, token FROM study_token WHERE op = " RELOAD "; UPDATE study_token SET "
       "token = (SELECT o.token FROM old o, pair WHERE o.position = here + there - "
       "study_token.position) WHERE op = " RELOAD " AND position IN (SELECT here FROM pair UNION "
       "SELECT there FROM pair); DROP TABLE pair; DROP TABLE old"},
      {"generations_control_differs",
       "generations",
       "candidate_differs_from_control",
       fail,
       "one token of the control arm is another one",
       "UPDATE study_token SET token = token + 1 WHERE op = " INTERPOSED
       " AND position = " LAST_TOKEN_OF(INTERPOSED),
       {.arm = Arm::control}},
      {"generations_logits_differ", "generations", "candidate_logits_differ", fail,
       "the logits of one token differ from the control's",
       "UPDATE study_token SET logits = zeroblob(32) WHERE op = " NEXT_INTERPOSED
       " AND position = 3"},
      {"generations_one_token_less", "generations", "candidate_has_another_length", fail,
       "the last token of an answer is dropped",
       "DELETE FROM study_token WHERE op = " INTERPOSED
       " AND position = " LAST_TOKEN_OF(INTERPOSED)},
      {"generations_operation_failed", "generations", "operation_not_finished", inconclusive,
       "one operation failed",
       "UPDATE study_operation SET status = 'failed' WHERE op = " NEXT_INTERPOSED},
      {"generations_control_incomplete",
       "generations",
       "operation_without_control",
       inconclusive,
       "the control arm's tokens of one operation are dropped",
       "DELETE FROM study_token WHERE op = " NEXT_INTERPOSED,
       {.arm = Arm::control}},
      {"generations_fewer_than_planned",
       "generations",
       "operation_without_control",
       inconclusive,
       "the control arm ended before its last prompt length",
       "DELETE FROM study_token WHERE op IN (SELECT op FROM study_operation WHERE case_index = "
       "(SELECT MAX(case_index) FROM study_operation)); DELETE FROM study_operation WHERE "
       "case_index = (SELECT MAX(case_index) FROM study_operation)",
       {.arm = Arm::control}},
      {"generations_reload_logits_differ", "generations", "reload_logits_differ", fail,
       "the logits of one token after a reload differ from the cold run's",
       "UPDATE study_token SET logits = zeroblob(32) WHERE op = " RELOAD " AND position = 3"},
      {"generations_reload_one_token_less", "generations", "reload_has_another_length", fail,
       "the last token after a reload is dropped",
       "DELETE FROM study_token WHERE op = " RELOAD " AND position = " LAST_TOKEN_OF(RELOAD)},
      {"generations_repeat_differs", "generations", "repeat_differs_from_cold", fail,
       "another prompt's answer stands as the repeat of the first",
       "UPDATE study_operation SET kind = 'repeat', which = 'A' WHERE op = " INTERPOSED},
      {"generations_repeat_one_token_less", "generations", "repeat_differs_from_cold", fail,
       "an immediate repeat lacks the cold run's last token",
       "DELETE FROM study_token WHERE op = " RELOAD " AND position = " LAST_TOKEN_OF(
           RELOAD) "; "
                   "UPDATE study_operation SET kind = 'repeat' WHERE op = " RELOAD},
      {"generations_twin_of_another_prompt", "generations", "twin_has_another_prompt", inconclusive,
       "a reload has another prompt than its cold run",
       "UPDATE study_operation SET prompt = zeroblob(32) WHERE op = " RELOAD},
      {"generations_no_token", "generations", "nothing_generated", inconclusive,
       "every token of one operation is dropped",
       "DELETE FROM study_token WHERE op = " NEXT_INTERPOSED},
      {"generations_harmless_cases_numbered_otherwise",
       "generations",
       "",
       silence,
       "the control arm numbers its cases otherwise",
       "UPDATE study_operation SET case_index = case_index + 3",
       {.arm = Arm::control}},
      {"generations_harmless_margin", "generations", "", silence,
       "the margins between the first two logits are a third",
       "UPDATE study_token SET margin = margin / 3"},

      // ---- keys
      {"keys_weights_left_out", "keys", "content_input_not_in_key", fail,
       "the weights are removed from the inputs of every key",
       "DELETE FROM key_input WHERE name = 'weights'"},
      {"keys_rank_left_out", "keys", "content_input_not_in_key", fail,
       "the rank is removed from the inputs of one rank's keys",
       "DELETE FROM key_input WHERE name = 'rank' AND rank = " LAST_RANK},
      {"keys_other_weights", "keys", "key_input_has_another_value", fail,
       "one rank's keys are made of other weights than it has",
       "UPDATE key_input SET value = zeroblob(32) WHERE name = 'weights' AND rank = " LAST_RANK},
      {"keys_two_contents", "keys", "one_key_two_contents", fail,
       "two different saves have one key",
       "UPDATE transfer SET key = (SELECT key FROM transfer WHERE transfer = " ONE_SAVE
       "), next_token = 5 WHERE direction = 0 AND transfer = (SELECT MIN(transfer) FROM transfer "
       "WHERE direction = 0 AND transfer > " ONE_SAVE ")"},
      {"keys_unknown", "keys", "key_inputs_unknown", inconclusive,
       "the inputs of every key are dropped", "DELETE FROM key_input"},
      {"keys_contents_undeclared", "keys", "content_inputs_unknown", inconclusive,
       "what one rank's content depends on is dropped",
       "DELETE FROM content_input WHERE rank = " LAST_RANK},
      {"keys_harmless_further_input",
       "keys",
       "",
       silence,
       "every key has one input more",
       "INSERT INTO key_input SELECT process, " ADDED ", t_ns, key, value, rank, 'salt' FROM "
       "key_input WHERE name = 'rank'",
       {.may_change = {{"keys/inputs", "the further input is counted"}}}},

      // ---- control
      {"control_other_split",
       "control",
       "step_differs_from_control",
       fail,
       "the control arm computed a prompt in other steps",
       "UPDATE step_request SET tokens = tokens - 8 WHERE request = " REQUEST_OF(
           INTERPOSED) " AND start = 0",
       {.arm = Arm::control}},
      {"control_one_step_more",
       "control",
       "other_number_of_steps",
       fail,
       "the control arm's last step of one answer is dropped",
       "DELETE FROM step_request WHERE request = " REQUEST_OF(
           INTERPOSED) " AND start = (SELECT MAX(s.start) FROM step_request s WHERE s.request "
                       "= " REQUEST_OF(INTERPOSED) ")",
       {.arm = Arm::control}},
      {"control_profile_not_used", "control", "profile_not_in_force", fail,
       "one rank used another kernel choice than its profile",
       "UPDATE profile SET selected = selected || '1' WHERE phase = 1 AND " ONE_CHOICE},
      {"control_other_profile",
       "control",
       "profile_differs_from_control",
       fail,
       "the control arm ran with another kernel choice",
       "UPDATE profile SET selected = selected || '1', recorded = recorded || '1' "
       "WHERE " ONE_CHOICE,
       {.arm = Arm::control}},
      {"control_other_weights",
       "control",
       "content_input_differs_from_control",
       fail,
       "the control arm had other weights",
       "UPDATE content_input SET value = zeroblob(32) WHERE name = 'weights'",
       {.arm = Arm::control}},
      {"control_profile_never_read_back", "control", "profile_not_read_back", inconclusive,
       "a kernel choice was not read back at the end",
       "DELETE FROM profile WHERE phase = 1 AND " ONE_CHOICE},
      {"control_profile_changed", "control", "profile_changed", fail,
       "a kernel choice changed during the run",
       "UPDATE profile SET selected = selected || '1', recorded = recorded || '1' WHERE phase = 0 "
       "AND " ONE_CHOICE},
      {"control_profile_incomplete",
       "control",
       "profile_incomplete",
       inconclusive,
       "one rank lacks a kernel choice that the others have",
       "DELETE FROM profile WHERE " ONE_CHOICE,
       {.needs = &several_ranks}},
      {"control_steps_unseen", "control", "steps_not_recorded", inconclusive,
       "the steps of one operation are dropped",
       "DELETE FROM step_request WHERE request = " REQUEST_OF(INTERPOSED)},
      {"control_choice_unseen_in_the_control",
       "control",
       "profile_without_control",
       inconclusive,
       "the control arm lacks a kernel choice",
       "DELETE FROM profile WHERE " ONE_CHOICE,
       {.arm = Arm::control}},
      {"control_weights_unknown",
       "control",
       "weights_of_control_unknown",
       inconclusive,
       "what the control arm's weights were is dropped",
       "DELETE FROM content_input WHERE name = 'weights'",
       {.arm = Arm::control}},
      {"control_profile_not_exercised",
       "control",
       "profile_not_exercised",
       note,
       "a kernel was never called in either arm",
       "UPDATE profile SET selected = '' WHERE phase = 1 AND name = (SELECT MIN(name) FROM "
       "profile)",
       {.arm = Arm::both}},
      {"control_harmless_steps_after_other_tokens",
       "control",
       "",
       silence,
       "the control arm went on in other steps, after another token",
       "UPDATE study_token SET token = token + 1 WHERE op = " INTERPOSED
       "; UPDATE step_request SET tokens = tokens + 1 WHERE request = " REQUEST_OF(
           INTERPOSED) " AND start > prompt_tokens + 4",
       {.arm = Arm::control,
        .may_change = {{"generations", "the other token is a finding of that rule"},
                       {"verdict", "follows from generations"},
                       {"sentence", "names generations"}}}},
      {"control_harmless_renumbered_requests",
       "control",
       "",
       silence,
       "the control arm's requests and steps have other numbers",
       "UPDATE study_operation SET request = request + 100 WHERE request > 0; UPDATE step_request "
       "SET request = request + 100; UPDATE step_request SET step = step + 7; UPDATE step SET "
       "step = step + 7",
       {.arm = Arm::control}},

      // ---- crosscheck: CUPTI's counters beside a ledger that agrees with them, then not
      {"crosscheck_agrees",
       "crosscheck",
       "",
       silence,
       "CUPTI counted the same bytes",
       CUPTI_COUNTERS("0"),
       {.needs = &not_cross_checked, .may_change = counters_shown()}},
      {"crosscheck_harmless_replaced",
       "crosscheck",
       "",
       silence,
       "CUPTI counted the same bytes, in two programs of a process one after the other",
       CUPTI_COUNTERS("-2048") "; " REPLACED
                               "; INSERT INTO coverage (process, thread, seq, t_ns, name, calls, "
                               "bytes, installed, dropped) SELECT process, process + 60000000, "
                               "CASE name WHEN 'cupti:session' THEN 3 WHEN 'hooks' THEN 4 ELSE 5 "
                               "END, (SELECT MAX(t_ns) + 2 FROM coverage), name, 1, CASE name WHEN "
                               "'cupti:h2d' THEN 2048 "
                               "ELSE 0 END, 1, 0 FROM coverage c WHERE name IN ('cupti:session', "
                               "'cupti:h2d', 'hooks') AND EXISTS (SELECT 1 FROM coverage s WHERE "
                               "s.process = c.process AND s.name = 'cupti:session') GROUP BY "
                               "process, name",
       {.needs = &not_cross_checked, .may_change = counters_shown()}},
      {"crosscheck_a_copy_the_ledger_lacks",
       "crosscheck",
       "bytes_differ",
       fail,
       "CUPTI counted 4,096 bytes that the ledger lacks",
       CUPTI_COUNTERS("4096"),
       {.needs = &not_cross_checked}},
      {"crosscheck_a_copy_that_was_not_made",
       "crosscheck",
       "bytes_differ",
       fail,
       "CUPTI counted one byte less than the ledger",
       CUPTI_COUNTERS("-1"),
       {.needs = &not_cross_checked}},
      {"crosscheck_harmless_work_at_the_end",
       "crosscheck",
       "",
       silence,
       "other threads were at work at the end, and CUPTI counted the same bytes",
       CUPTI_COUNTERS("0") "; " UNSETTLED("1", "2"),
       {.needs = &not_cross_checked, .may_change = counters_shown()}},
      {"crosscheck_work_at_the_end",
       "crosscheck",
       "still_copying",
       inconclusive,
       "CUPTI counted less than the ledger, whose last copies other threads made at the end",
       CUPTI_COUNTERS("-4096") "; " UNSETTLED("1", "2"),
       {.needs = &not_cross_checked}},
      {"crosscheck_work_before_the_end",
       "crosscheck",
       "bytes_differ",
       fail,
       "CUPTI counted less than the ledger, and was asked again when the other threads were done",
       CUPTI_COUNTERS("-4096") "; " UNSETTLED("2", "1"),
       {.needs = &not_cross_checked}},
      {"crosscheck_refused",
       "crosscheck",
       "session_refused",
       inconclusive,
       "CUPTI refused its session",
       CUPTI_COUNTERS("0") "; UPDATE coverage SET installed = 0 WHERE name = 'cupti:session'",
       {.needs = &not_cross_checked}},
      {"crosscheck_records_lost",
       "crosscheck",
       "activity_dropped",
       inconclusive,
       "CUPTI lost records",
       CUPTI_COUNTERS("0") "; UPDATE coverage SET dropped = 3 WHERE name = 'cupti:session'",
       {.needs = &not_cross_checked}},
      {"crosscheck_replaced_without_counters",
       "crosscheck",
       "session_missing",
       inconclusive,
       "CUPTI's counters of a program that took the process over are dropped",
       CUPTI_COUNTERS("0") "; " REPLACED,
       {.needs = &not_cross_checked}},
      {"crosscheck_process_without_counters",
       "crosscheck",
       "session_missing",
       inconclusive,
       "CUPTI's counters of one process are dropped",
       CUPTI_COUNTERS("0") "; DELETE FROM coverage WHERE name LIKE 'cupti:%' AND process = (SELECT "
                           "MIN(process) FROM copy)",
       {.needs = &not_cross_checked}},
  };
}

} // namespace hitproof::audit::selftest
