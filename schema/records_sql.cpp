// Makes records.sql: the record tables from records.def, and the tables that only the recorder and
// the study write, whose text stands here.
#include "schema/record_table.h"

namespace hitproof::schema {
namespace {

constexpr const char* heading =
    R"(-- Tables of a Hitproof recording (data/recording.sqlite), format version 1.
-- Made from schema/records.def by schema::records_sql(); a test compares the two. FORMAT.md
-- explains how the tables belong together. A comment gives each column's unit and meaning.
-- Unsigned 64-bit values are stored as signed ones (two's complement); digests are blobs of 32
-- bytes, all zero where there is none; times are CLOCK_MONOTONIC nanoseconds of the machine.
)";

constexpr const char* own_tables = R"(
-- Facts about the recording: format_version, hitproof_version, started_ns, started_unix_ns,
-- ended_ns, closed (0/1), closed_reason, records, dropped, gaps, damaged_slots, live_writers,
-- plan_sha256, device, arm, lookup, tail_effect and others.
CREATE TABLE IF NOT EXISTS "recording" (
  "key" TEXT PRIMARY KEY,      -- text: name of the fact
  "value" TEXT NOT NULL        -- text: its value
) WITHOUT ROWID;

-- Operations of the study in the order of running.
CREATE TABLE IF NOT EXISTS "study_operation" (
  "op" INTEGER PRIMARY KEY,    -- index: number of the operation, from 0
  "arm" TEXT NOT NULL,         -- text: control, candidate
  "case_index" INTEGER NOT NULL, -- index: case of the plan, from 0
  "prompt_tokens" INTEGER NOT NULL, -- tokens: N
  "kind" TEXT NOT NULL,        -- text: cold, interpose, repeat, reset, reload
  "which" TEXT NOT NULL,       -- text: prompt A, X or Y; empty for a reset
  "request" INTEGER NOT NULL,  -- id: row of table request, 0 where none
  "prompt" BLOB NOT NULL,      -- sha256: of the prompt ids, each as 4 little-endian bytes
  "tag" TEXT NOT NULL,         -- text: tag sent with the request
  "status" TEXT NOT NULL,      -- text: running, ok, failed
  "error" TEXT NOT NULL,       -- text: what went wrong, or empty
  "begin_ns" INTEGER NOT NULL, -- ns: when the operation began
  "end_ns" INTEGER NOT NULL,   -- ns: when it ended, 0 while running
  "template" TEXT NOT NULL DEFAULT '', -- text: what the prompt is: tagged, ledger, rules, code
  "trial" INTEGER NOT NULL DEFAULT 0, -- index: trial of a performance study, 0 where there is none
  "warmup" INTEGER NOT NULL DEFAULT 0 -- 0/1: 1 where the trial is a warm-up, set aside
);

-- Generated tokens.
CREATE TABLE IF NOT EXISTS "study_token" (
  "op" INTEGER NOT NULL,       -- index: operation
  "position" INTEGER NOT NULL, -- index: among the generated tokens, from 0
  "token" INTEGER NOT NULL,    -- token id
  "logits" BLOB NOT NULL,      -- sha256: of the logits' bytes
  "margin" REAL NOT NULL,      -- logits: top-1 minus top-2
  "t_ns" INTEGER NOT NULL,     -- ns: when the token's event arrived
  PRIMARY KEY ("op", "position")
) WITHOUT ROWID;

-- What was left out of the evidence, and why. Nothing is pooled.
CREATE TABLE IF NOT EXISTS "exclusion" (
  "id" TEXT PRIMARY KEY,       -- text: name of what is excluded
  "what" TEXT NOT NULL,        -- text: what it was
  "reason" TEXT NOT NULL       -- text: why it does not count
) WITHOUT ROWID;

-- How far each journal segment was drained into the record tables.
CREATE TABLE IF NOT EXISTS "journal_file" (
  "pid" INTEGER NOT NULL,      -- process id
  "tid" INTEGER NOT NULL,      -- thread id
  "segment" INTEGER NOT NULL,  -- index: number of the segment in its thread, from 0
  "start_ns" INTEGER NOT NULL, -- ns: when the thread's journal began
  "slots" INTEGER NOT NULL,    -- count: slots read so far
  "records" INTEGER NOT NULL,  -- count: records moved
  "gaps" INTEGER NOT NULL,     -- count: sequence numbers missing
  "damaged" INTEGER NOT NULL,  -- count: slots that could not be read
  "last_seq" INTEGER NOT NULL, -- count: last sequence number seen
  "dropped" INTEGER NOT NULL,  -- count: losses the thread had counted when this was written
  PRIMARY KEY ("pid", "tid", "segment", "start_ns")
) WITHOUT ROWID;

-- Processes of the run as they ended.
CREATE TABLE IF NOT EXISTS "process_exit" (
  "pid" INTEGER PRIMARY KEY,   -- process id
  "role" TEXT NOT NULL,        -- text: front, rank, cache_server, command
  "status" INTEGER NOT NULL,   -- code: exit status, -1 where it was ended by a signal
  "signal" INTEGER NOT NULL    -- number: the signal, 0 where it exited
);
)";

const char* column_type(FieldKind kind) {
  if (kind == FieldKind::hash) return "BLOB";
  return kind == FieldKind::text ? "TEXT" : "INTEGER";
}

void add_column(std::string& text, const char* name, const char* type, const char* unit,
                const std::string& meaning, bool last) {
  text += "  \"" + std::string(name) + "\" " + type + " NOT NULL" + (last ? "" : ",") + " -- " +
          unit + ": " + meaning + "\n";
}

} // namespace

std::string records_sql() {
  std::string text = heading;
  for (const RecordInfo& record : all_records()) {
    text += "\n-- " + std::string(record.says) + ". Journal record type " +
            std::to_string(record.type) + ".\nCREATE TABLE IF NOT EXISTS \"" + record.name +
            "\" (\n";
    add_column(text, "process", "INTEGER", "pid", "operating-system process id", false);
    add_column(text, "thread", "INTEGER", "tid", "thread id", false);
    add_column(text, "seq", "INTEGER", "count", "per-thread sequence number, from 1", false);
    add_column(text, "t_ns", "INTEGER", "ns", "time of the call or fact", false);
    for (const FieldInfo& field : record.fields)
      add_column(text, field.name, column_type(field.kind), field.unit, field.meaning,
                 &field == &record.fields.back());
    text += ");\n";
  }
  return text + own_tables;
}

} // namespace hitproof::schema
