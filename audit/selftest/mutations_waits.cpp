#include "audit/selftest/parts.h"

// The wait for one save, and when the announcement of that save was closed.
#define ONE_WAIT(column) "(SELECT " column " FROM wait WHERE transfer = " ONE_SAVE " AND kind = 0)"
#define ONE_CLOSING                                                                                \
  "(SELECT MAX(t_ns) FROM transfer_mark WHERE kind = 5 AND transfer = " ONE_SAVE ")"

namespace hitproof::audit::selftest {

using enum Answer;

#define WAIT_AROUND                                                                                \
  "FROM wait w WHERE w.process = order_op.process AND w.event = order_op.event AND "               \
  "order_op.t_ns BETWEEN w.t_ns AND w.end_ns"

std::vector<Mutation> mutations_of_waits() {
  return {
      {"waits_none", "waits", "save_not_waited_for", fail, "the wait for a save is dropped",
       "DELETE FROM wait WHERE transfer = " ONE_SAVE},
      {"waits_said_but_not_done", "waits", "wait_without_synchronisation", fail,
       "a wait is announced, and no synchronisation was made",
       "DELETE FROM order_op WHERE op IN (3, 4) AND process = " ONE_WAIT(
           "process") " AND t_ns >= " ONE_WAIT("t_ns") " AND end_ns <= " ONE_WAIT("end_ns")},
      {"waits_synchronised_just_afterwards", "waits", "wait_without_synchronisation", fail,
       "the ranks synchronise 100 ns after the waits that they announce have ended",
       "UPDATE order_op SET (t_ns, end_ns) = (SELECT w.end_ns + 100, w.end_ns + 500 " WAIT_AROUND
       " AND w.kind = 0) WHERE op IN (3, 4) AND EXISTS (SELECT 1 " WAIT_AROUND " AND w.kind = 0)"},
      {"waits_on_another_event", "waits", "wait_on_another_event", fail,
       "the rank waits on an event that stands for nothing",
       "UPDATE wait SET event = 57344 WHERE transfer = " ONE_SAVE},
      {"waits_by_another_rank",
       "waits",
       "wait_of_another_rank",
       fail,
       "another rank says that it waits for a save",
       "UPDATE wait SET rank = (rank + 1) % " RANKS " WHERE transfer = " ONE_SAVE,
       {.needs = &several_ranks}},
      {"waits_moved_before_the_completion", "waits", "ended_before_completion", fail,
       "a wait ends before its save is complete",
       "UPDATE order_op SET end_ns = t_ns + 10 WHERE op IN (3, 4); UPDATE wait SET end_ns = "
       "(SELECT MIN(o.end_ns) + 10 FROM order_op o WHERE o.op IN (3, 4) AND o.process = "
       "wait.process AND o.event = wait.event AND o.t_ns >= wait.t_ns) WHERE transfer = " ONE_SAVE},
      {"waits_ends_inside_the_delay", "waits", "delay_not_covered", fail,
       "a wait ends before the delay that was put on its save",
       "UPDATE transfer_mark SET t_ns = t_ns + 60000000000 WHERE kind = 2 AND transfer "
       "= " ONE_SAVE},
      {"waits_event_recorded_elsewhere", "waits", "completion_on_another_stream", fail,
       "the completion event is recorded on another stream",
       "UPDATE order_op SET stream = stream + 8 WHERE rowid = (SELECT rowid FROM order_op WHERE op "
       "= 2 AND process = " ONE_SAVE_PROCESS " AND t_ns >= " ONE_CLOSING
       " AND event = (SELECT MAX(event) FROM transfer_mark WHERE kind = 5 AND transfer = " ONE_SAVE
       ") ORDER BY t_ns LIMIT 1)"},
      {"waits_event_never_recorded", "waits", "completion_never_recorded", fail,
       "the completion events are never recorded",
       "DELETE FROM order_op WHERE op = 2 AND process = " ONE_SAVE_PROCESS},
      {"waits_page_written_before", "waits", "page_reused_before_wait_ended", fail,
       "a saved page is written again during the wait",
       "INSERT INTO reuse SELECT process, " ADDED ", t_ns + 10, transfer, 1, 1, rank, " MLA
       " FROM wait WHERE transfer = " ONE_SAVE},
      {"waits_page_given_out_before", "waits", "page_given_out_before_wait_ended", fail,
       "a saved block is given to another request during the wait",
       "INSERT INTO block SELECT process, " ADDED ", " ONE_WAIT(
           "t_ns") " + 10, request + 1, block, generation + 1, engine_group, 0, 0, " CHUNK
                   " FROM block WHERE rowid = (SELECT MIN(rowid) FROM block WHERE block = (SELECT "
                   "block FROM transfer_page WHERE transfer = " ONE_SAVE " AND entry = " MLA "))"},
      {"waits_delay_not_injected", "waits", "delay_missing", inconclusive,
       "the delay of a save is dropped",
       "DELETE FROM transfer_mark WHERE kind IN (1, 2) AND transfer = " ONE_SAVE},
      {"waits_delay_cut_short", "waits", "delay_too_short", inconclusive,
       "a save was delayed by half of what was asked for",
       "UPDATE transfer_mark SET value = (SELECT MAX(m.t_ns) - MIN(m.t_ns) FROM transfer_mark m "
       "WHERE m.kind IN (1, 2) AND m.transfer = " ONE_SAVE ") * 2 WHERE kind = 1 AND transfer "
       "= " ONE_SAVE},
      {"waits_announcement_left_open", "waits", "announcement_not_closed", inconclusive,
       "the end of a save's announcement is dropped",
       "DELETE FROM transfer_mark WHERE kind = 5 AND transfer = " ONE_SAVE},
      {"waits_before_the_event_was_recorded", "waits", "waited_before_it_was_recorded", fail,
       "the rank waits before the event is recorded",
       "UPDATE order_op SET end_ns = end_ns + 90000000000000 WHERE op = 2 AND process "
       "= " ONE_SAVE_PROCESS},
      {"waits_save_never_complete", "waits", "never_completed", inconclusive,
       "the completion of a save is dropped",
       "DELETE FROM transfer_mark WHERE kind = 3 AND transfer = " ONE_SAVE},
      {"waits_harmless_query_after_query",
       "waits",
       "",
       silence,
       "the ranks also ask whether the events are ready, and they are not",
       "INSERT INTO order_op SELECT process, " ADDED ", t_ns + 1, stream, event, t_ns + 2, value, "
       "handle, 600, call, 3, device FROM order_op WHERE op = 4",
       {.may_change = {{"order/operations", "the questions are operations too, and are counted"}}}},
      {"waits_harmless_clocks_differ",
       "waits",
       "",
       silence,
       "the probe saw each synchronisation begin 100 ns before and end 100 ns after the wait that "
       "the program's own clock gives",
       "UPDATE order_op SET (t_ns, end_ns) = (SELECT w.t_ns - 100, w.end_ns + 100 " WAIT_AROUND
       ") WHERE op IN (3, 4) AND EXISTS (SELECT 1 " WAIT_AROUND ")",
       {.may_change = {{"order/paths", "its calls show their times"}}}},
      {"waits_harmless_save_of_an_engine_that_is_not_recorded",
       "waits",
       "",
       silence,
       "the cache server saved for another engine before the recording began",
       "INSERT INTO transfer SELECT process, " ADDED ", 1, 77, request, stream, key, rank, "
       "direction, token_begin, token_end, boundary, next_token, pages FROM transfer WHERE "
       "transfer = " ONE_SAVE,
       {.may_change = {{"evidence/transfers_of_strangers", "it is what was added"}}}},
      {"waits_harmless_reuse_after_the_wait", "waits", "", silence,
       "a saved page is written again after the wait",
       "INSERT INTO reuse SELECT process, " ADDED ", end_ns + 10, transfer, 1, 1, rank, " MLA
       " FROM wait WHERE transfer = " ONE_SAVE},
  };
}

} // namespace hitproof::audit::selftest
