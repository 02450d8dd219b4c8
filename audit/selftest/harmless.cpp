// What no rule may rest on: the order of rows, the numbers that a run happened to give out, where
// its memory lay, when it ran, how the file is kept. Most are made from the list of records, so
// that a record added there is changed along.
#include "audit/selftest/parts.h"
#include "schema/record_table.h"

#include <set>

namespace hitproof::audit::selftest {

using enum Answer;

namespace {

using schema::FieldInfo;
using schema::FieldKind;
using schema::RecordInfo;

// One UPDATE for every record that has one of `columns`; the value is `of` with "{}" for the
// column. 0 stays: it means none.
std::string update_columns(const std::set<std::string>& columns, const std::string& of,
                           const std::string& unless = "0") {
  std::string sql;
  for (const RecordInfo& record : schema::all_records()) {
    std::string sets;
    for (const FieldInfo& field : record.fields) {
      if (!columns.contains(field.name)) continue;
      const std::string column = "\"" + std::string(field.name) + "\"";
      std::string value = of;
      for (auto at = value.find("{}"); at != std::string::npos; at = value.find("{}"))
        value.replace(at, 2, column);
      sets += (sets.empty() ? "" : ", ") + column + " = CASE WHEN " + column + " IN (" + unless +
              ") THEN " + column + " ELSE " + value + " END";
    }
    if (!sets.empty()) sql += "UPDATE \"" + std::string(record.name) + "\" SET " + sets + "; ";
  }
  return sql;
}

// A column that every record has.
std::string update_origin(const std::string& column, const std::string& value) {
  std::string sql;
  for (const RecordInfo& record : schema::all_records())
    sql += "UPDATE \"" + std::string(record.name) + "\" SET " + column + " = " + value + "; ";
  return sql;
}

std::string reordered(const std::string& order) {
  std::string sql;
  for (const RecordInfo& record : schema::all_records()) {
    const std::string table = "\"" + std::string(record.name) + "\"";
    sql += "CREATE TEMP TABLE again AS SELECT * FROM main." + table + " ORDER BY " + order +
           "; DELETE FROM main." + table + "; INSERT INTO main." + table +
           " SELECT * FROM again; DROP TABLE again; ";
  }
  return sql;
}

std::string wider_tables() {
  std::string sql;
  for (const RecordInfo& record : schema::all_records())
    sql += "ALTER TABLE \"" + std::string(record.name) + "\" ADD COLUMN selftest_mood TEXT; ";
  return sql;
}

std::string later() {
  const std::string by = "3600000000000";
  return update_origin("t_ns", "t_ns + " + by) +
         update_columns({"end_ns", "poison_ns"}, "{} + " + by) +
         "UPDATE study_operation SET begin_ns = begin_ns + " + by + ", end_ns = end_ns + " + by +
         "; UPDATE study_token SET t_ns = t_ns + " + by +
         "; UPDATE recording SET value = CAST(value AS INTEGER) + " + by +
         " WHERE key IN ('started_ns', 'ended_ns', 'plan_registered_ns')";
}

std::string other_processes() {
  return update_origin("process", "process + 100000") +
         "UPDATE process SET parent = parent + 100000; UPDATE process_exit SET pid = pid + 100000; "
         "UPDATE journal_file SET pid = pid + 100000";
}

// Ids of blocks go up by 16, and each region begins 16 pages earlier, so that addresses stay.
std::string other_blocks() {
  std::string sql = "UPDATE entry SET base = base - 16 * page_stride, num_pages = num_pages + 16; "
                    "UPDATE tail_read SET naive = naive - 16 * " +
                    std::string(STRIDE_OF("tail_read.entry")) + " + 16 * " +
                    BYTES_OF("tail_read.entry") + "; ";
  return sql + update_columns({"block"}, "{} + 16", "0, 4294967295");
}

// Bytes of a handle or key in another order: other ones, and as different from each other as
// before.
const char* const turned = "CAST(SUBSTR({}, 9) || SUBSTR({}, 1, 8) AS BLOB)";

// Notes of an archive show where they were seen.
std::vector<MayChange> shown() {
  const char* const why = "a note names its records by what was changed";
  return {{"*/findings/*/first", why},
          {"*/findings/*/words", why},
          {"*/findings/*/query", why},
          {"*/findings/*/witness", why},
          {"order/paths", "so does a path"}};
}

std::vector<MayChange> with_requests() {
  std::vector<MayChange> all = shown();
  all.push_back({"boundary_matrix/*/request", "it is the number that was changed"});
  return all;
}

Mutation harmless(const char* name, const char* words, std::string sql, Further further = {}) {
  return {name, "all", "", silence, words, std::move(sql), std::move(further)};
}

} // namespace

std::vector<Mutation> harmless_changes() {
  return {
      // ---- how the rows and the file are kept
      harmless("rows_backwards", "the rows of every table lie in reverse order",
               reordered("rowid DESC")),
      harmless("rows_shuffled", "the rows of every table lie in a scattered order",
               reordered("(rowid * 7919) % 104729, rowid")),
      harmless("rows_backwards_in_the_control", "the control arm's rows lie in reverse order",
               reordered("rowid DESC"), {.arm = Arm::control}),
      harmless("columns_added", "every table has a column more", wider_tables()),
      harmless("columns_filled", "every copy has a column more, with text in it",
               "ALTER TABLE copy ADD COLUMN selftest_mood TEXT; UPDATE copy SET selftest_mood = "
               "'fair ' || rowid"),
      harmless("table_added", "a table of the laboratory's own is there",
               "CREATE TABLE selftest_notes (id INTEGER PRIMARY KEY, words TEXT NOT NULL); INSERT "
               "INTO selftest_notes VALUES (1, 'the kettle boiled during the run')"),
      harmless("facts_added", "the recording names further facts",
               "INSERT INTO recording (key, value) VALUES ('selftest_room', '12'), "
               "('selftest_weather', 'rain')"),
      harmless("file_vacuumed", "the database was vacuumed", "VACUUM"),
      harmless("file_of_small_pages", "the database has pages of 4,096 bytes",
               "PRAGMA page_size = 4096; VACUUM"),
      harmless("file_of_large_pages", "the database has pages of 65,536 bytes",
               "PRAGMA page_size = 65536; VACUUM"),
      harmless("file_marked", "the database carries another program's marks",
               "PRAGMA user_version = 7; PRAGMA application_id = 1213222215"),
      harmless("log_added", "a log was added before the archive was closed", "",
               {.files = add_log}),

      // ---- numbers that a run gives out
      harmless("transfers_renumbered", "transfers have other numbers",
               update_columns({"transfer"}, "{} + 1000000"), {.may_change = shown()}),
      harmless("requests_renumbered", "requests have other numbers",
               update_columns({"request"}, "{} + 5000") +
                   "UPDATE study_operation SET request = request + 5000 WHERE request > 0",
               {.may_change = with_requests()}),
      harmless("steps_renumbered", "steps have other numbers", update_columns({"step"}, "{} + 70"),
               {.may_change = shown()}),
      harmless("lookups_renumbered", "look-ups have other numbers",
               update_columns({"lookup"}, "{} + 900"), {.may_change = shown()}),
      harmless("objects_renumbered", "stored objects have other numbers",
               update_columns({"host_object"}, "{} + 31337"), {.may_change = shown()}),
      harmless("blocks_renumbered", "blocks have other numbers", other_blocks(),
               {.may_change = shown()}),
      harmless("hooks_renumbered", "hooked calls have other numbers",
               update_columns({"call"}, "{} + 400") + "UPDATE hook SET id = id + 400 WHERE id > 0",
               {.may_change = shown()}),
      harmless("keys_renamed", "keys are other hashes", update_columns({"key"}, turned),
               {.may_change = shown()}),
      harmless("handles_renamed", "IPC handles have other bytes",
               update_columns({"handle"}, turned), {.may_change = shown()}),
      harmless("processes_renumbered", "processes have other ids", other_processes(),
               {.may_change = shown()}),
      harmless("processes_renumbered_in_the_control", "the control arm's processes have other ids",
               other_processes(), {.arm = Arm::control}),
      harmless("threads_renumbered", "threads have other ids",
               update_origin("thread", "thread + 70000") +
                   "UPDATE journal_file SET tid = tid + 70000",
               {.may_change = shown()}),
      harmless("devices_renumbered", "the devices have other numbers",
               update_columns({"device"}, "{} + 1", "-1"), {.may_change = shown()}),

      // ---- where and when it ran
      harmless("host_memory_elsewhere", "the external cache lies elsewhere in host memory",
               "UPDATE transfer_page SET host_address = host_address + 1048576; UPDATE copy SET "
               "dst = dst + 1048576 WHERE direction = 0 AND transfer <> 0; UPDATE copy SET src = "
               "src + 1048576 WHERE direction = 1 AND transfer <> 0",
               {.may_change = shown()}),
      harmless("streams_elsewhere", "streams have other handles",
               update_columns({"stream"}, "{} + 16777216"), {.may_change = shown()}),
      harmless("events_elsewhere", "events have other handles",
               update_columns({"event"}, "{} + 16777216"), {.may_change = shown()}),
      harmless("clock_later", "the run was an hour later", later(), {.may_change = shown()}),
      harmless("clock_later_in_the_control", "the control arm ran an hour later", later(),
               {.arm = Arm::control}),
      harmless("programs_elsewhere", "the programs lay under other absolute paths",
               "UPDATE process SET exe = '/somewhere/else/' || exe; UPDATE meta SET value = "
               "'/somewhere/else' || value WHERE value LIKE '/%'",
               {.may_change = shown()}),
      harmless("operations_tagged", "operations and requests carry other tags",
               "UPDATE study_operation SET tag = 'selftest ' || op; UPDATE request SET tag = "
               "'selftest ' || request",
               {.may_change = shown()}),
      harmless("entries_renamed", "the cache entries have other names",
               "UPDATE entry SET name = 'cache.' || entry", {.may_change = shown()}),
  };
}

} // namespace hitproof::audit::selftest
