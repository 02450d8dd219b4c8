#include "tests/audit/mutations.h"

namespace hitproof::audit::testing {

// Small study: two ranks, chunk 128, N = 255, 256, 257. Entry 3 is an MLA page, 30 a state, 60 a
// tail. A load is any transfer with direction 1; "one" is the first by id.
#define ONE_LOAD "(SELECT MIN(transfer) FROM transfer WHERE direction = 1)"
#define ONE_SAVE "(SELECT MIN(transfer) FROM transfer WHERE direction = 0)"
#define MORE_LOADS "(SELECT transfer FROM transfer WHERE direction = 1)"
// A save whose pages were really copied.
#define COPIED_SAVE "(SELECT MIN(c.transfer) FROM copy c WHERE c.direction = 0)"

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

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> list = {
      // ---- pages
      {"pages_load_of_an_entry_never_copied", "pages", "page_not_copied", true,
       "DELETE FROM copy WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"pages_entry_never_announced", "pages", "entry_not_covered", true,
       "DELETE FROM transfer_page WHERE transfer = " ONE_LOAD " AND entry = 30;"
       "UPDATE transfer SET pages = pages - 1 WHERE transfer = " ONE_LOAD},
      {"pages_short_copy", "pages", "bytes_do_not_add_up", true,
       "UPDATE copy SET bytes = bytes - 32 WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"pages_copy_lands_in_the_next_block", "pages", "copied_elsewhere", true,
       "UPDATE copy SET dst = dst + 57344 WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"pages_copy_outside_of_every_announcement", "pages", "copy_nobody_announced", true,
       "UPDATE copy SET dst = dst + 57344, entry = 65535, block = 4294967295 WHERE transfer "
       "= " ONE_LOAD " AND entry = 3"},
      {"pages_landed_content_differs", "pages", "content_differs", true,
       "UPDATE page_digest SET content = zeroblob(32) WHERE transfer = " ONE_LOAD
       " AND entry = 3 AND moment = 1"},
      {"pages_padding_differs", "pages", "padding_differs", true,
       "UPDATE page_digest SET page = zeroblob(32) WHERE transfer = " ONE_LOAD
       " AND entry = 30 AND moment = 1"},
      {"pages_both_legs_equal_but_not_the_way", "pages", "load_differs_from_save", true,
       "UPDATE page_digest SET content = zeroblob(32) WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"pages_compare_differs", "pages", "compare_found_difference", true,
       "UPDATE page_compare SET content_differ = 5, first_differ = 17 WHERE transfer = " ONE_LOAD
       " AND entry = 3"},
      {"pages_address_of_another_block", "pages", "address_not_registered", true,
       "UPDATE transfer_page SET device_address = device_address + 57344 WHERE transfer = " ONE_LOAD
       " AND entry = 3"},
      {"pages_other_stride_on_the_transfer_side", "pages", "map_differs_from_model", true,
       "UPDATE entry SET page_stride = content_bytes WHERE origin = 1 AND entry = 60"},
      {"pages_a_rank_did_not_load", "pages", "transfer_missing_on_rank", true,
       "DELETE FROM transfer WHERE transfer = " ONE_LOAD},
      {"pages_block_of_another_request", "pages", "page_of_another_request", true,
       "UPDATE block SET request = request + 1 WHERE op = 0 AND block = (SELECT MAX(block) FROM "
       "transfer_page WHERE "
       "transfer = " ONE_LOAD ")"},
      {"pages_object_of_another_entry", "pages", "object_of_another_page", true,
       "UPDATE transfer_page SET host_object = (SELECT host_object FROM transfer_page WHERE "
       "transfer = " ONE_LOAD " AND entry = 4) WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"pages_refused_copy", "pages", "copy_refused", true,
       "UPDATE copy SET result = 700 WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"pages_extent_short_by_a_chunk", "pages", "extent_not_covered", true,
       "UPDATE transfer SET token_end = token_end + 128 WHERE transfer = " ONE_LOAD},
      {"pages_null_block", "pages", "null_block", true,
       "UPDATE transfer_page SET block = 0 WHERE transfer = " ONE_SAVE " AND entry = 3"},
      {"pages_digests_gone", "pages", "digest_missing", false,
       "DELETE FROM page_digest WHERE transfer = " ONE_LOAD},
      {"pages_zeros_only", "pages", "content_all_zero", false,
       "UPDATE page_digest SET nonzero = 0 WHERE transfer = " ONE_LOAD " AND entry = 60"},
      {"pages_announcement_lost", "pages", "announcements_missing", false,
       "UPDATE transfer SET pages = pages + 1 WHERE transfer = " ONE_LOAD},
      {"pages_save_before_the_recording", "pages", "load_without_save", false,
       "UPDATE transfer_page SET host_object = host_object + 1000000 WHERE transfer = " ONE_LOAD
       " AND entry = 3"},
      {"pages_harmless_other_addresses", "pages", nullptr, false,
       "UPDATE entry SET base = base + 4096 WHERE origin = 1; UPDATE transfer_page SET "
       "device_address = "
       "device_address + 4096; UPDATE copy SET src = src + 4096 WHERE direction = 0; UPDATE copy "
       "SET dst = dst + 4096 "
       "WHERE direction = 1"},
      {"pages_harmless_copy_in_two_parts", "pages", nullptr, false,
       "INSERT INTO copy SELECT process, thread, seq + 1000000, t_ns, src + 512, dst + 512, bytes "
       "- 512, stream, end_ns, "
       "transfer, call_seq, call, version, batch_index, batch_count, result, block, entry, "
       "direction, access_order FROM "
       "copy WHERE transfer = " ONE_LOAD
       " AND entry = 3; UPDATE copy SET bytes = 512 WHERE transfer = " ONE_LOAD
       " AND entry = 3 AND seq < 1000000"},
      {"pages_harmless_small_input_copies", "pages", nullptr, false,
       "INSERT INTO copy SELECT process, thread, seq + 1000000, t_ns, 17, 4096, 64, stream, "
       "end_ns, 0, call_seq, call, "
       "version, batch_index, batch_count, 0, 4294967295, 65535, 1, access_order FROM copy WHERE "
       "entry = 3"},

      // ---- poison
      {"poison_residue", "poison", "residue", true,
       "UPDATE page_poison SET residue_bytes = 32, residue_content = 32, first_residue = 57312 "
       "WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"poison_entry_never_named", "poison", "destination_never_named", true,
       "DELETE FROM transfer_page WHERE transfer = " ONE_LOAD " AND entry = 30"},
      {"poison_row_gone", "poison", "not_poisoned", false,
       "DELETE FROM page_poison WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"poison_seen_in_part", "poison", "poison_not_proved", false,
       "UPDATE page_poison SET verified_bytes = 8 WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"poison_of_another_owner", "poison", "poison_of_another_generation", false,
       "UPDATE page_poison SET generation = 2 WHERE transfer = " ONE_LOAD " AND entry = 3"},
      {"poison_after_the_load", "poison", "poisoned_after_the_copies", false,
       "UPDATE page_poison SET poison_ns = poison_ns + 1000000000 WHERE transfer = " ONE_LOAD
       " AND entry = 3"},
      {"poison_harmless_order_of_rows", "poison", nullptr, false,
       "CREATE TEMP TABLE p AS SELECT * FROM page_poison ORDER BY entry DESC; DELETE FROM "
       "page_poison; INSERT INTO "
       "page_poison SELECT * FROM p; DROP TABLE p"},

      // ---- tails
      {"tails_announced_elsewhere", "tails", "address_not_registered", true,
       "UPDATE tail_read SET effective = naive WHERE entry = 60"},
      {"tails_other_strides", "tails", "stride_not_registered", true,
       "UPDATE tail_read SET stride1 = 64 WHERE entry = 60"},
      {"tails_load_lands_elsewhere", "tails", "landed_elsewhere", true,
       "UPDATE transfer_page SET device_address = device_address + 16128 WHERE transfer = " ONE_LOAD
       " AND entry = 60"},
      {"tails_written_contiguously_by_the_load", "tails", "written_at_contiguous_address", true,
       "UPDATE copy SET entry = 65535, dst = dst - block * 16128 + block * 512 WHERE transfer "
       "= " ONE_LOAD " AND entry = 60"},
      {"tails_written_contiguously_by_the_model", "tails", "only_at_contiguous_address", true,
       "UPDATE tail_read SET nonzero = 0, naive_nonzero = 200; UPDATE page_digest SET nonzero = 0 "
       "WHERE entry >= 58"},
      {"tails_stale_under_every_key", "tails", "same_tail_under_two_keys", true,
       "UPDATE page_digest SET content = "
       "x'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff' WHERE entry "
       "= 60"},
      {"tails_are_poison", "tails", "tail_is_poison", true,
       "UPDATE page_poison SET residue_bytes = 512, residue_content = 512 WHERE transfer "
       "= " ONE_LOAD " AND entry = 60"},
      {"tails_zeros_only", "tails", "only_zeros", false, "UPDATE tail_read SET nonzero = 0"},
      {"tails_not_read_back", "tails", "tail_not_read", false,
       "DELETE FROM tail_read WHERE entry = 60"},
      {"tails_half_read", "tails", "read_in_part", false,
       "UPDATE tail_read SET elements = 128 WHERE entry = 60"},
      {"tails_harmless_zeros_at_the_naive_address", "tails", nullptr, false,
       "UPDATE tail_read SET naive_nonzero = 0, naive_equal = 56"},
      {"tails_harmless_other_base", "tails", nullptr, false,
       "UPDATE entry SET base = base + 8192 WHERE origin = 0; UPDATE tail_read SET effective = "
       "effective + 8192, naive = "
       "naive + 8192; UPDATE state SET address = address + 8192"},

      // ---- waits
      {"waits_none", "waits", "save_not_waited_for", true,
       "DELETE FROM wait WHERE transfer = " ONE_SAVE},
      {"waits_said_but_not_done", "waits", "wait_without_synchronisation", true,
       "DELETE FROM order_op WHERE op = 4 AND t_ns >= (SELECT t_ns FROM wait WHERE transfer "
       "= " ONE_SAVE ") AND end_ns <= (SELECT end_ns FROM wait WHERE transfer = " ONE_SAVE ")"},
      {"waits_on_another_event", "waits", "wait_on_another_event", true,
       "UPDATE wait SET event = 57344 WHERE transfer = " ONE_SAVE},
      {"waits_by_another_rank", "waits", "wait_of_another_rank", true,
       "UPDATE wait SET rank = 1 - rank WHERE transfer = " ONE_SAVE},
      {"waits_too_short", "waits", "ended_before_completion", true,
       "UPDATE order_op SET end_ns = t_ns + 10 WHERE op = 4; UPDATE wait SET end_ns = t_ns + 5000 "
       "WHERE transfer = " ONE_SAVE},
      {"waits_ends_inside_the_delay", "waits", "delay_not_covered", true,
       "UPDATE transfer_mark SET t_ns = t_ns + 800000000 WHERE kind = 2 AND transfer = " ONE_SAVE},
      {"waits_event_recorded_elsewhere", "waits", "completion_on_another_stream", true,
       "UPDATE order_op SET stream = stream + 8 WHERE op = 2 AND process = (SELECT process FROM "
       "transfer WHERE transfer = " ONE_SAVE
       ") AND t_ns > (SELECT MAX(t_ns) FROM transfer_mark WHERE kind = 5 AND transfer = " ONE_SAVE
       ") AND t_ns < (SELECT MAX(t_ns) FROM transfer_mark WHERE kind = 5 AND transfer = " ONE_SAVE
       ") + 3000"},
      {"waits_event_never_recorded", "waits", "completion_never_recorded", true,
       "DELETE FROM order_op WHERE op = 2 AND process = (SELECT process FROM transfer WHERE "
       "transfer = " ONE_SAVE ")"},
      {"waits_page_written_before", "waits", "page_reused_before_wait_ended", true,
       "INSERT INTO reuse SELECT w.process, w.thread, w.seq + 1000000, w.t_ns + 10, w.transfer, 1, "
       "1, w.rank, 3 FROM wait "
       "w WHERE w.transfer = " ONE_SAVE},
      {"waits_page_given_out_before", "waits", "page_given_out_before_wait_ended", true,
       "INSERT INTO block SELECT b.process, b.thread, b.seq + 1000000, (SELECT t_ns + 10 FROM wait "
       "WHERE transfer = " ONE_SAVE "), b.request + 1, b.block, 2, b.engine_group, 0, 0, 128 FROM "
       "block b WHERE b.block = (SELECT block FROM "
       "transfer_page WHERE transfer = " ONE_SAVE " AND entry = 3)"},
      {"waits_delay_not_injected", "waits", "delay_missing", false,
       "DELETE FROM transfer_mark WHERE kind IN (1, 2) AND transfer = " ONE_SAVE},
      {"waits_delay_cut_short", "waits", "delay_too_short", false,
       "UPDATE transfer_mark SET value = value * 2 WHERE kind = 1 AND transfer = " ONE_SAVE},
      {"waits_announcement_left_open", "waits", "announcement_not_closed", false,
       "DELETE FROM transfer_mark WHERE kind = 5 AND transfer = " ONE_SAVE},
      {"waits_harmless_query_after_query", "waits", nullptr, false,
       "INSERT INTO order_op SELECT process, thread, seq + 1000000, t_ns + 1, stream, event, t_ns "
       "+ 2, value, handle, 600, "
       "call, 3, device FROM order_op WHERE op = 4"},
      {"waits_harmless_save_of_an_engine_that_is_not_recorded", "waits", nullptr, false,
       "INSERT INTO transfer SELECT process, thread, seq + 1000000, 1, 77, request, stream, key, "
       "rank, direction, "
       "token_begin, token_end, boundary, next_token, pages FROM transfer WHERE transfer "
       "= " ONE_SAVE},
      {"waits_harmless_reuse_after_the_wait", "waits", nullptr, false,
       "INSERT INTO reuse SELECT w.process, w.thread, w.seq + 1000000, w.end_ns + 10, w.transfer, "
       "1, 1, w.rank, 3 FROM "
       "wait w WHERE w.transfer = " ONE_SAVE},

      // ---- boundary
      {"boundary_label_ahead_of_p", "boundary", "label_is_not_p", true,
       "UPDATE transfer SET boundary = boundary + 1 WHERE transfer = " ONE_LOAD},
      {"boundary_scheduler_credits_one_less", "boundary", "content_is_not_p", true,
       "UPDATE admission SET computed = computed - 1 WHERE source = 2"},
      {"boundary_state_filed_wrongly", "boundary", "filed_under_another_boundary", true,
       "UPDATE state SET tokens = tokens - 128 WHERE entry = 30"},
      {"boundary_content_behind_the_label", "boundary", "content_is_not_label", true,
       "UPDATE state SET tokens = tokens - 1 WHERE entry = 30"},
      {"boundary_one_rank_elsewhere", "boundary", "resumes_elsewhere", true,
       "UPDATE step_request SET start = start - 128 WHERE transfer = " ONE_LOAD},
      {"boundary_ranks_disagree", "boundary", "ranks_disagree", true,
       "UPDATE transfer SET boundary = boundary - 128 WHERE transfer = " ONE_LOAD},
      {"boundary_rank_without_load", "boundary", "rank_without_load", true,
       "DELETE FROM transfer WHERE transfer = " ONE_LOAD},
      {"boundary_drafts", "boundary", "drafts_in_the_first_step", true,
       "UPDATE step_request SET drafts = 1 WHERE transfer = " ONE_LOAD},
      {"boundary_schedules_too_little", "boundary", "scheduled_is_not_the_suffix", true,
       "UPDATE admission SET scheduled = scheduled - 1 WHERE source = 2"},
      {"boundary_lookup_answers_too_much", "boundary", "answer_exceeds_what_is_held", true,
       "UPDATE lookup_answer SET answer_tokens = answer_tokens - 128 WHERE answer_tokens > 0 AND "
       "rank = 1 AND "
       "transfer_group = 4"},
      {"boundary_credits_more_than_found", "boundary", "credited_more_than_found", true,
       "UPDATE admission SET external_hit = 0 WHERE source = 2"},
      {"boundary_nothing_left", "boundary", "nothing_left_to_compute", true,
       "UPDATE request SET prompt_tokens = 128 WHERE request IN (SELECT request FROM admission "
       "WHERE source = 2)"},
      {"boundary_contents_unseen", "boundary", "content_not_observed", false,
       "DELETE FROM page_digest"},
      {"boundary_states_unannounced", "boundary", "content_unknown", false, "DELETE FROM state"},
      {"boundary_reload_not_served", "boundary", "reload_loaded_nothing", false,
       "DELETE FROM step_request WHERE transfer IN " MORE_LOADS
       " AND request = (SELECT MIN(request) FROM transfer WHERE "
       "direction = 1); DELETE FROM transfer WHERE direction = 1 AND request = (SELECT "
       "MIN(request) FROM transfer WHERE "
       "direction = 1)"},
      {"boundary_harmless_second_candidate", "boundary", nullptr, false,
       "INSERT INTO state SELECT process, thread, seq + 1000000, t_ns, request, address, content, "
       "block, generation, "
       "tokens + 1, rank, entry, step FROM state WHERE entry = 30"},

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

      // ---- order
      {"order_read_before_the_wait", "order", "read_before_load_waited_for", true,
       "UPDATE step SET t_ns = t_ns - 2000000 WHERE step IN (SELECT step FROM step_request WHERE "
       "transfer = " ONE_LOAD ")"},
      {"order_read_while_copying", "order", "read_before_load_complete", true,
       "UPDATE transfer_mark SET t_ns = t_ns + 900000000 WHERE kind = 3 AND transfer = " ONE_LOAD},
      {"order_save_without_producer", "order", "save_before_producer", true,
       "DELETE FROM order_op WHERE op = 5"},
      {"order_wait_on_another_stream", "order", "save_before_producer", true,
       "UPDATE order_op SET stream = stream + 8 WHERE op = 5"},
      {"order_producer_event_is_old", "order", "producer_wait_is_stale", true,
       "UPDATE order_op SET t_ns = t_ns - 90000000000000, end_ns = end_ns - 90000000000000 WHERE "
       "op = 2 AND process IN "
       "(SELECT process FROM entry WHERE origin = 0); UPDATE order_op SET t_ns = t_ns - "
       "100000000000000, end_ns = end_ns "
       "- 100000000000000 WHERE op = 0 AND process IN (SELECT process FROM entry WHERE origin = "
       "0); UPDATE order_op SET "
       "t_ns = t_ns - 100000000000000 WHERE op = 0 AND 1 = 0; DELETE FROM order_op WHERE op = 1 "
       "AND process IN (SELECT "
       "process FROM entry WHERE origin = 0)"},
      {"order_load_over_a_running_save", "order", "second_transfer_on_a_busy_page", true,
       "UPDATE transfer_page SET block = (SELECT block FROM transfer_page WHERE transfer "
       "= " ONE_SAVE " AND entry = 3) "
       "WHERE transfer = " ONE_LOAD
       " AND entry = 3; UPDATE transfer SET t_ns = (SELECT t_ns FROM transfer WHERE transfer "
       "= " ONE_SAVE ") + 10 WHERE transfer = " ONE_LOAD},
      {"order_block_freed_under_a_save", "order", "block_taken_while_busy", true,
       "INSERT INTO block SELECT b.process, b.thread, b.seq + 1000000, (SELECT t_ns + 10 FROM "
       "transfer WHERE transfer = " ONE_SAVE "), b.request, b.block, 1, b.engine_group, 1, 0, 128 "
       "FROM block b WHERE b.block = (SELECT block FROM "
       "transfer_page WHERE transfer = " ONE_SAVE " AND entry = 3)"},
      {"order_any_source_order", "order", "any_order_behind_a_stream_wait", false,
       "UPDATE copy SET access_order = 3 WHERE direction = 0"},
      {"order_never_complete", "order", "load_never_completed", false,
       "DELETE FROM transfer_mark WHERE kind = 3 AND transfer = " ONE_LOAD},
      {"order_harmless_more_waits", "order", nullptr, false,
       "INSERT INTO order_op SELECT process, thread, seq + 1000000, t_ns + 1, stream, event, "
       "end_ns + 1, value, handle, "
       "result, call, op, device FROM order_op WHERE op = 5"},

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

      // ---- evidence
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
  };
  return list;
}

} // namespace hitproof::audit::testing
