#include "audit/selftest/parts.h"

namespace hitproof::audit::selftest {

using enum Answer;

namespace {

// Where one load's stream records the load's completion event.
#define COMPLETION                                                                                 \
  "(SELECT o.rowid FROM order_op o JOIN transfer_mark m ON m.process = o.process AND m.event = "   \
  "o.event WHERE m.kind = 5 AND m.transfer = " ONE_LOAD                                            \
  " AND o.op = 2 AND o.t_ns >= m.t_ns ORDER BY o.t_ns LIMIT 1)"

// The load's stream records another event, for which another stream waits where `whole`; that
// stream records the completion event. Handles are such as no program has.
std::string by_way_of_a_second_stream(bool whole) {
  const std::string calls = std::string("(SELECT 1 AS n, 0 AS op UNION ALL SELECT 2, 2") +
                            (whole ? " UNION ALL SELECT 3, 5)" : ")");
  return "INSERT INTO order_op (process, thread, seq, t_ns, stream, event, end_ns, value, handle, "
         "result, call, op, device) SELECT o.process, o.thread + 50000000, c.n, o.t_ns - 16 + 4 * "
         "c.n, CASE c.n WHEN 1 THEN 0 WHEN 2 THEN o.stream ELSE o.stream + 3 END, o.event + 1, "
         "o.t_ns - 14 + 4 * c.n, 0, zeroblob(32), 0, o.call, c.op, o.device FROM order_op o "
         "CROSS JOIN " +
         calls +
         " c WHERE o.rowid = " COMPLETION
         "; UPDATE order_op SET stream = stream + 3 WHERE rowid = " COMPLETION;
}

// A launch of a graph, whose node recorded what `where` selects.
std::string recorded_by_a_graph(const char* where) {
  return std::string("INSERT INTO hook (process, thread, seq, t_ns, id, level, installed, name) "
                     "SELECT process, " ADDED ", t_ns, 900000, 0, 1, 'cudaGraphLaunch' FROM hook "
                     "WHERE rowid = (SELECT MIN(rowid) FROM hook); UPDATE order_op SET call = "
                     "900000 WHERE ") +
         where;
}

std::string counted_in_a_rank(const char* name) {
  return std::string("INSERT INTO coverage (process, thread, seq, t_ns, name, calls, bytes, "
                     "installed, dropped) SELECT process, process + 50000000, 1, MAX(t_ns), '") +
         name + "', 3, 0, 1, 0 FROM coverage WHERE process = " RANK_PROCESS " GROUP BY process";
}

} // namespace

std::vector<Mutation> mutations_of_order() {
  return {
      {"order_read_before_the_wait", "order", "read_before_load_waited_for", fail,
       "the step that reads a load begins before the wait for it",
       "UPDATE step SET t_ns = (SELECT t_ns + 1 FROM transfer WHERE transfer = " ONE_LOAD
       ") WHERE step IN (SELECT step FROM step_request WHERE transfer = " ONE_LOAD ")"},
      {"order_read_while_copying", "order", "read_before_load_complete", fail,
       "the step that reads a load begins before the load is complete",
       "UPDATE transfer_mark SET t_ns = t_ns + 60000000000 WHERE kind = 3 AND transfer "
       "= " ONE_LOAD},
      {"order_save_without_producer", "order", "save_before_producer", fail,
       "no save waits for the step that computed its pages", "DELETE FROM order_op WHERE op = 5"},
      {"order_wait_on_another_stream", "order", "save_before_producer", fail,
       "another stream than that of the copies waits for the producer",
       "UPDATE order_op SET stream = stream + 8 WHERE op = 5"},
      {"order_producer_event_is_old", "order", "producer_wait_is_stale", fail,
       "saves wait on events that were recorded before their step",
       "UPDATE order_op SET t_ns = t_ns - 90000000000000, end_ns = end_ns - 90000000000000 WHERE "
       "op = 2 AND process IN (SELECT process FROM entry WHERE origin = 0); UPDATE order_op SET "
       "t_ns = t_ns - 100000000000000, end_ns = end_ns - 100000000000000 WHERE op = 0 AND process "
       "IN (SELECT process FROM entry WHERE origin = 0); DELETE FROM order_op WHERE op = 1 AND "
       "process IN (SELECT process FROM entry WHERE origin = 0)"},
      {"order_load_over_a_running_save", "order", "second_transfer_on_a_busy_page", fail,
       "a load writes a page while a save still reads it",
       "UPDATE transfer_page SET block = (SELECT p.block FROM transfer_page p WHERE p.transfer "
       "= " ONE_SAVE " AND p.entry = " MLA ") WHERE transfer = " ONE_LOAD " AND entry = " MLA
       "; UPDATE transfer SET t_ns = (SELECT t_ns FROM transfer WHERE transfer = " ONE_SAVE
       ") + 10 WHERE transfer = " ONE_LOAD},
      {"order_block_freed_under_a_save", "order", "block_taken_while_busy", fail,
       "a block is freed while a save still reads it",
       "INSERT INTO block SELECT process, " ADDED ", (SELECT t_ns + 10 FROM transfer WHERE "
       "transfer = " ONE_SAVE "), request, block, generation, engine_group, 1, 0, " CHUNK
       " FROM block WHERE rowid = (SELECT MIN(rowid) FROM block WHERE block = (SELECT block FROM "
       "transfer_page WHERE transfer = " ONE_SAVE " AND entry = " MLA "))"},
      {"order_any_source_order", "order", "any_order_behind_a_stream_wait", inconclusive,
       "saves may read their sources in any order",
       "UPDATE copy SET access_order = 3 WHERE direction = 0"},
      {"order_never_complete", "order", "load_never_completed", inconclusive,
       "the completion of a load is dropped",
       "DELETE FROM transfer_mark WHERE kind = 3 AND transfer = " ONE_LOAD},
      {"order_first_read_unseen", "order", "first_read_not_announced", inconclusive,
       "no step says that it reads a load",
       "UPDATE step_request SET transfer = 0 WHERE transfer = " ONE_LOAD},
      {"order_producer_unseen", "order", "producer_step_unknown", inconclusive,
       "the steps of a saved request are dropped",
       "DELETE FROM step_request WHERE request = (SELECT request FROM transfer WHERE transfer "
       "= " ONE_SAVE ")"},
      {"order_path_cut_in_the_middle", "order", "path_not_proved", inconclusive,
       "a load's completion is recorded on a stream that waits for nothing",
       by_way_of_a_second_stream(false)},
      {"order_completion_of_an_earlier_life", "order", "path_not_proved", inconclusive,
       "a load's completion event is recorded in an earlier life of its handle only",
       "DELETE FROM order_op WHERE rowid = " COMPLETION},
      {"order_producer_recorded_by_another_thread", "order", "path_not_proved", inconclusive,
       "threads that ran no step record the events that saves wait for",
       "UPDATE order_op SET thread = thread + 50000000 WHERE op = 2 AND process IN (SELECT process "
       "FROM entry WHERE origin = 0)"},
      {"order_producer_recorded_by_a_graph", "order", "path_not_proved", inconclusive,
       "nodes of graphs record the events that saves wait for, and no step is seen to end",
       "UPDATE step SET end_ns = t_ns; " +
           recorded_by_a_graph("op = 2 AND process IN (SELECT process FROM entry WHERE origin = "
                               "0)")},
      {"order_graph_unread", "order", "path_not_proved", inconclusive,
       "a process launched a graph whose nodes the probe could not read",
       counted_in_a_rank("path:graph_unreadable")},
      {"order_graph_of_an_older_probe", "order", "path_not_proved", inconclusive,
       "a process launched graphs under a probe that does not look for events in them",
       counted_in_a_rank("cudaGraphLaunch")},
      {"order_harmless_completion_recorded_by_a_graph",
       "order",
       "",
       silence,
       "a graph that is launched behind a load's copies records the load's completion",
       recorded_by_a_graph("rowid = " COMPLETION),
       {.may_change = {{"order/paths", "the call that records is a launch"}}}},
      {"order_harmless_path_over_two_events",
       "order",
       "",
       silence,
       "a load's completion is recorded on a second stream, which waits for the load's",
       by_way_of_a_second_stream(true),
       {.may_change = {{"order/operations", "the calls are operations too, and are counted"},
                       {"order/paths", "the load is ordered by another path"}}}},
      {"order_harmless_more_waits",
       "order",
       "",
       silence,
       "streams wait for their producers a second time",
       "INSERT INTO order_op SELECT process, " ADDED ", t_ns + 1, stream, event, end_ns + 1, "
       "value, handle, result, call, op, device FROM order_op WHERE op = 5",
       {.may_change = {{"order/operations", "the waits are operations too, and are counted"}}}},
  };
}

#undef COMPLETION

} // namespace hitproof::audit::selftest
