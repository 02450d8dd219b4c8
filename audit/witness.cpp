#include "audit/witness.h"

#include "audit/trace.h"

#include <algorithm>
#include <cstring>

namespace hitproof::audit {
namespace {

// How one table is cited: which of its rows (about the subject) and how a row reads. Both are SQL;
// :rank, :transfer, :request, :entry, :block, :process, :op, :at become numbers or NULL, :expected
// a text.
struct Cite {
  const char* table;
  const char* where;
  const char* words;
};

#define PAGE                                                                                       \
  "transfer = :transfer AND (:entry IS NULL OR entry = :entry) AND (:block IS NULL OR block = "    \
  ":block)"

#define GENERATED(arm)                                                                             \
  "'operation ' || op || '" arm " generated token ' || token || ' at index ' || position || ', "   \
  "logits ' || LOWER(SUBSTR(HEX(logits), 1, 16))"

const Cite cites[] = {
    {"entry", "rank = :rank AND entry = :entry",
     "'process ' || process || CASE origin WHEN 0 THEN ' (model) registered ' ELSE ' (transfer "
     "side) maps ' END "
     "|| name || ' with page 0 at ' || base || ', a page every ' || page_stride || ' bytes, ' || "
     "page_bytes "
     "|| ' bytes moved, ' || content_bytes || ' of content'"},
    {"entry_shape", "rank = :rank AND entry = :entry",
     "'its page is ' || shape0 || ' x ' || shape1 || ' x ' || shape2 || ' elements with strides ' "
     "|| stride0 "
     "|| ', ' || stride1 || ', ' || stride2"},
    {"request", "request = :request",
     "'request ' || request || ' accepted: N = ' || prompt_tokens || ' prompt tokens, ' || "
     "max_tokens "
     "|| ' to generate'"},
    {"lookup", "request = :request",
     "'external lookup ' || lookup || ' for ' || query_tokens || ' tokens answered ' || "
     "answer_tokens "
     "|| CASE mode WHEN 0 THEN ' (strict)' ELSE ' (full)' END"},
    {"admission", "request = :request",
     "'scheduler credits request ' || request || ' with p = ' || computed || ' tokens (label of "
     "the state: ' "
     "|| label_boundary || ') and schedules ' || scheduled || ' tokens, ' || drafts || ' of them "
     "drafts'"},
    {"block", "block = :block AND op IN (0, 1) AND (:at IS NULL OR ABS(t_ns - :at) < 60000000000)",
     "'block ' || block || CASE op WHEN 0 THEN ' given out to request ' ELSE ' freed by request ' "
     "END || request "
     "|| ', generation ' || generation || ', for tokens ' || token_begin || ' to ' || token_end"},
    {"state",
     "rank = :rank AND entry = :entry AND content IN (SELECT d.content FROM page_digest d WHERE "
     "d.transfer = "
     ":transfer AND d.entry = :entry AND d.place = 0)",
     "'rank ' || rank || ' computed a state with this very content after ' || tokens || ' tokens, "
     "for request ' "
     "|| request || ', in block ' || block"},
    {"transfer", "transfer = :transfer",
     "CASE direction WHEN 0 THEN 'save ' ELSE 'load ' END || transfer || ' announced for request ' "
     "|| request "
     "|| ' on rank ' || rank || ': tokens ' || token_begin || ' to ' || token_end || ', state of ' "
     "|| boundary "
     "|| ' tokens by its label'"},
    {"transfer_page", PAGE,
     "'page of entry ' || entry || ', block ' || block || ' (generation ' || generation || '), "
     "tokens ' "
     "|| token_begin || ' to ' || token_end || ', announced at ' || device_address || ', ' || "
     "bytes || ' bytes' "
     "|| CASE held WHEN 1 THEN ', held already' ELSE '' END"},
    {"copy",
     "transfer = :transfer AND ((:entry IS NULL OR entry = :entry) AND (:block IS NULL OR block = "
     ":block) "
     "OR entry = 65535)",
     "'copy of ' || bytes || ' bytes from ' || src || ' to ' || dst || CASE entry WHEN 65535 THEN "
     "', which is no announced page' ELSE '' END || CASE result WHEN 0 THEN '' ELSE ', refused "
     "with ' || result END"},
    {"page_digest", PAGE,
     "CASE moment WHEN 0 THEN 'left ' ELSE 'landed ' END || CASE place WHEN 0 THEN 'on the device' "
     "ELSE "
     "'in the host object' END || ' with content digest ' || LOWER(SUBSTR(HEX(content), 1, 16)) "
     "|| ' and page digest ' || LOWER(SUBSTR(HEX(page), 1, 16)) || ', ' || nonzero || ' bytes not "
     "zero'"},
    {"page_compare", PAGE,
     "'compared after the copies: ' || content_differ || ' of ' || content_bytes || ' content "
     "bytes and ' "
     "|| padding_differ || ' of ' || padding_bytes || ' padding bytes differ, the first at ' || "
     "first_differ"},
    {"page_poison", PAGE,
     "verified_bytes || ' of ' || page_bytes || ' bytes seen poisoned before the copies; ' || "
     "residue_bytes "
     "|| ' left after them (' || residue_content || ' in the content), the first at offset ' || "
     "first_residue"},
    {"tail_read",
     "rank = :rank AND entry = :entry AND (:transfer IS NULL OR transfer = :transfer) AND "
     "(:block IS NULL OR block = :block)",
     "'tail read at ' || effective || ': ' || nonzero || ' of ' || elements || ' elements not "
     "zero; at the "
     "contiguous address ' || naive || ': ' || naive_nonzero"},
    {"transfer_mark", "transfer = :transfer AND kind <> 0",
     "CASE kind WHEN 0 THEN 'announced' WHEN 1 THEN 'delay of ' || value || ' ns begins' WHEN 2 "
     "THEN 'delay ended' "
     "WHEN 3 THEN 'copies complete' ELSE 'announcement closed, completion event ' || event END"},
    {"order_op",
     "event IN (SELECT m.event FROM transfer_mark m WHERE m.transfer = :transfer AND m.event <> 0 "
     "UNION SELECT "
     "w.event FROM wait w WHERE w.transfer = :transfer) AND op IN (2, 3, 4, 5, 12, 13) AND t_ns >= "
     "(SELECT "
     "MIN(t.t_ns) FROM transfer t WHERE t.transfer = :transfer) AND t_ns <= (SELECT MAX(x.at) FROM "
     "(SELECT "
     "w.end_ns AS at FROM wait w WHERE w.transfer = :transfer UNION ALL SELECT m.t_ns FROM "
     "transfer_mark m WHERE "
     "m.transfer = :transfer) x)",
     "'process ' || process || CASE op WHEN 2 THEN ' records event ' WHEN 3 THEN ' queries event ' "
     "WHEN 4 THEN "
     "' synchronises with event ' WHEN 5 THEN ' makes a stream wait for event ' WHEN 12 THEN ' "
     "exports event ' "
     "ELSE ' opens event ' END || event"},
    {"wait", "transfer = :transfer",
     "'rank ' || rank || ' waited on event ' || event || ' for ' || ((end_ns - t_ns) / 1000) || ' "
     "microseconds'"},
    {"reuse", "transfer = :transfer AND (:block IS NULL OR block = :block)",
     "'step ' || step || ' writes into block ' || block || ' of entry ' || entry"},
    {"step_request",
     "(:transfer IS NULL OR transfer = :transfer) AND request = :request AND (:rank IS NULL OR "
     "rank = :rank)",
     "'step ' || step || ' on rank ' || rank || ' computes request ' || request || ' from position "
     "' || start "
     "|| ', ' || tokens || ' tokens, ' || drafts || ' of them drafts'"},
    {"content_input", "rank = :rank",
     "'bytes of rank ' || rank || ' depend on ' || name || ' = ' || LOWER(SUBSTR(HEX(value), 1, "
     "16))"},
    {"key_input",
     "rank = :rank AND key IN (SELECT t.key FROM transfer t WHERE t.transfer = :transfer)",
     "'key ' || LOWER(SUBSTR(HEX(key), 1, 16)) || ' is made from ' || name || ' = ' || "
     "LOWER(SUBSTR(HEX(value), 1, 16))"},
    {"profile", "rank = :rank AND recorded <> selected",
     "'rank ' || rank || ': ' || name || ' should be ' || recorded || ', used was ' || selected"},
    {"process_exit", "pid = :process AND (signal <> 0 OR status <> 0)",
     "'process ' || pid || ' (' || role || ') ended with status ' || status || ', signal ' || "
     "signal"},
    {"coverage", "process = :process AND name = :expected",
     "'process ' || process || ', ' || name || ': ' || calls || ' calls, ' || dropped || ' not "
     "recorded'"},
    {"study_operation", "op = :op",
     "'operation ' || op || ', ' || kind || ' ' || which || ' of case ' || case_index || ', N = ' "
     "|| prompt_tokens "
     "|| ', ' || status"},
    {"study_token",
     "position = CAST(:actual AS INTEGER) AND (op = :op OR op IN (SELECT c.op FROM study_operation "
     "r JOIN study_operation c ON c.case_index = r.case_index AND c.which = r.which AND c.kind = "
     "'cold' WHERE r.op = :op AND r.kind = 'reload'))",
     GENERATED("")},
    {"reference.study_token",
     "position = CAST(:actual AS INTEGER) AND op IN (SELECT c.op FROM study_operation o JOIN "
     "reference.study_operation c ON c.prompt = o.prompt AND (c.kind = o.kind OR (o.kind = "
     "'reload' "
     "AND c.kind = 'cold' AND NOT EXISTS (SELECT 1 FROM reference.study_operation WHERE kind = "
     "'reload'))) WHERE o.op = :op)",
     GENERATED(" of the control arm")},
};

#undef PAGE
#undef GENERATED

std::string literal(const std::optional<std::int64_t>& n) {
  return n ? std::to_string(*n) : "NULL";
}

std::string digits(const std::string& text) {
  const bool number = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](unsigned char c) { return std::isdigit(c); });
  return number ? text : "NULL";
}

std::string filled(const char* sql, const Subject& s) {
  const std::pair<const char*, std::string> values[] = {
      {":rank", literal(s.rank)},       {":transfer", literal(s.transfer)},
      {":request", literal(s.request)}, {":entry", literal(s.entry)},
      {":block", literal(s.block)},     {":op", literal(s.op)},
      {":process", literal(s.process)}, {":expected", sql_quoted(s.expected)},
      {":actual", digits(s.actual)},    {":at", literal(s.at_ns)}};
  std::string out = sql;
  for (const auto& [name, value] : values) {
    for (std::size_t at = out.find(name); at != std::string::npos; at = out.find(name, at)) {
      out.replace(at, std::strlen(name), value);
    }
  }
  return out;
}

// The first of its kind proves as much as all of them, except where a comparison needs several:
// both ends of a page, both sides of a map, the marks of one transfer.
int rows_of(const std::string& table) {
  for (const char* several : {"page_digest", "transfer_mark", "order_op", "entry", "block",
                              "key_input", "study_token", "copy", "wait"}) {
    if (table == several) return 4;
  }
  return 1;
}

bool has_origin(const std::string& table) {
  return table != "study_operation" && table != "study_token" && table != "reference.study_token" &&
         table != "process_exit";
}

void cite(Context& context, const Cite& c, Finding& finding,
          std::vector<std::pair<std::int64_t, WitnessRecord>>& out) {
  const std::string where = filled(c.where, finding.first);
  const std::string table = c.table;
  std::string origin = "process, thread, seq, t_ns";
  if (table == "study_operation") origin = "0, 0, 0, begin_ns";
  if (table == "study_token" || table == "reference.study_token") origin = "0, 0, 0, t_ns";
  if (table == "process_exit") origin = "pid, 0, 0, 0";
  auto q = context.query("SELECT " + origin + ", " + filled(c.words, finding.first) + " FROM " +
                         table + " WHERE " + where + (has_origin(table) ? " ORDER BY t_ns" : "") +
                         " LIMIT " + std::to_string(rows_of(table)));
  bool any = false;
  while (q.next()) {
    any = true;
    WitnessRecord r;
    r.table = table;
    r.process = q.integer(0);
    r.thread = q.integer(1);
    r.seq = q.integer(2);
    r.at_ms = static_cast<double>(q.integer(3) - context.first_ns()) / 1e6;
    r.words = q.text(4);
    out.emplace_back(q.integer(3), std::move(r));
  }
  require(q.status());
  if (any && finding.query.empty())
    finding.query = "SELECT * FROM " + table + " WHERE " + where + ";";
}

} // namespace

void add_witness(Context& context, std::span<const char* const> tables, Finding& finding) {
  std::vector<std::pair<std::int64_t, WitnessRecord>> records;
  for (const char* table : tables) {
    for (const Cite& c : cites) {
      const bool there = context.has_reference() || std::strncmp(c.table, "reference.", 10) != 0;
      if (there && std::strcmp(c.table, table) == 0) cite(context, c, finding, records);
    }
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [at, record] : records)
    finding.witness.push_back(std::move(record));
}

std::vector<std::string> citable_tables() {
  std::vector<std::string> names;
  for (const Cite& c : cites)
    names.emplace_back(c.table);
  return names;
}

} // namespace hitproof::audit
