// The study's tables and the facts about the recording itself.
#include "schema/recording.h"
#include "schema/recording_impl.h"

#include <charconv>
#include <set>

namespace hitproof::schema {

Status Recording::put(std::string_view key, std::string_view value) {
  Status status =
      impl_->put_fact.prepare(impl_->db, "INSERT INTO recording (key, value) VALUES (?, ?) "
                                         "ON CONFLICT (key) DO UPDATE SET value = excluded.value");
  if (!status.ok()) return status;
  bind_text(impl_->put_fact.get(), 1, key);
  bind_text(impl_->put_fact.get(), 2, value);
  return impl_->run(impl_->put_fact.get());
}

Status Recording::put(std::string_view key, std::int64_t value) {
  return put(key, std::string_view(std::to_string(value)));
}

Result<std::string> Recording::get(std::string_view key) {
  Result<Query> found = query("SELECT value FROM recording WHERE key = ?");
  if (!found.ok()) return found.status();
  found->bind(1, key);
  if (found->next()) return found->text(0);
  if (!found->status().ok()) return found->status();
  return Status(Code::not_found, impl_->path + ": the recording states no " + std::string(key));
}

std::string Recording::get_or(std::string_view key, std::string_view fallback) {
  Result<std::string> value = get(key);
  return value.ok() ? *value : std::string(fallback);
}

std::int64_t Recording::get_int(std::string_view key, std::int64_t fallback) {
  const std::string text = get_or(key, "");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : fallback;
}

Status Recording::put_operation(const StudyOperation& operation) {
  Status status = impl_->put_operation.prepare(
      impl_->db,
      "INSERT OR REPLACE INTO study_operation (op, arm, case_index, prompt_tokens, kind, "
      "which, request, prompt, tag, status, error, begin_ns, end_ns, template, trial, warmup) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  if (!status.ok()) return status;
  sqlite3_stmt* s = impl_->put_operation.get();
  sqlite3_bind_int64(s, 1, operation.op);
  bind_text(s, 2, operation.arm);
  sqlite3_bind_int64(s, 3, operation.case_index);
  sqlite3_bind_int64(s, 4, operation.prompt_tokens);
  bind_text(s, 5, operation.kind);
  bind_text(s, 6, operation.which);
  sqlite3_bind_int64(s, 7, static_cast<std::int64_t>(operation.request));
  bind_digest(s, 8, operation.prompt);
  bind_text(s, 9, operation.tag);
  bind_text(s, 10, operation.status);
  bind_text(s, 11, operation.error);
  sqlite3_bind_int64(s, 12, static_cast<std::int64_t>(operation.begin_ns));
  sqlite3_bind_int64(s, 13, static_cast<std::int64_t>(operation.end_ns));
  bind_text(s, 14, operation.prompt_template);
  sqlite3_bind_int64(s, 15, operation.trial);
  sqlite3_bind_int64(s, 16, operation.warmup ? 1 : 0);
  return impl_->run(s);
}

Status Recording::put_token(const StudyToken& token) {
  Status status = impl_->put_token.prepare(
      impl_->db, "INSERT OR REPLACE INTO study_token (op, position, token, logits, margin, t_ns) "
                 "VALUES (?,?,?,?,?,?)");
  if (!status.ok()) return status;
  sqlite3_stmt* s = impl_->put_token.get();
  sqlite3_bind_int64(s, 1, token.op);
  sqlite3_bind_int64(s, 2, token.position);
  sqlite3_bind_int64(s, 3, token.token);
  bind_digest(s, 4, token.logits);
  sqlite3_bind_double(s, 5, token.margin);
  sqlite3_bind_int64(s, 6, static_cast<std::int64_t>(token.t_ns));
  return impl_->run(s);
}

Status Recording::put_exclusion(std::string_view id, std::string_view what,
                                std::string_view reason) {
  Status status = impl_->put_exclusion.prepare(
      impl_->db, "INSERT OR REPLACE INTO exclusion (id, what, reason) VALUES (?,?,?)");
  if (!status.ok()) return status;
  bind_text(impl_->put_exclusion.get(), 1, id);
  bind_text(impl_->put_exclusion.get(), 2, what);
  bind_text(impl_->put_exclusion.get(), 3, reason);
  return impl_->run(impl_->put_exclusion.get());
}

Status Recording::put_process_exit(std::uint32_t pid, std::string_view role, int status_code,
                                   int signal) {
  Status status = impl_->put_exit.prepare(
      impl_->db,
      "INSERT OR REPLACE INTO process_exit (pid, role, status, signal) VALUES (?,?,?,?)");
  if (!status.ok()) return status;
  sqlite3_stmt* s = impl_->put_exit.get();
  sqlite3_bind_int64(s, 1, pid);
  bind_text(s, 2, role);
  sqlite3_bind_int64(s, 3, status_code);
  sqlite3_bind_int64(s, 4, signal);
  return impl_->run(s);
}

Result<std::vector<StudyOperation>> Recording::operations() {
  // Older recordings have no columns about trials and templates.
  std::set<std::string> columns;
  if (Status s = impl_->columns_of("study_operation", &columns); !s.ok()) return s;
  const bool complete = columns.contains("template");
  Result<Query> rows = query("SELECT op, arm, case_index, prompt_tokens, kind, which, request, "
                             "prompt, tag, status, error, begin_ns, end_ns, " +
                             std::string(complete ? "template, trial, warmup" : "'', 0, 0") +
                             " FROM study_operation ORDER BY op");
  if (!rows.ok()) return rows.status();
  std::vector<StudyOperation> operations;
  while (rows->next()) {
    StudyOperation o;
    o.op = rows->integer(0);
    o.arm = rows->text(1);
    o.case_index = rows->integer(2);
    o.prompt_tokens = rows->integer(3);
    o.kind = rows->text(4);
    o.which = rows->text(5);
    o.request = static_cast<std::uint64_t>(rows->integer(6));
    o.prompt = rows->digest(7);
    o.tag = rows->text(8);
    o.status = rows->text(9);
    o.error = rows->text(10);
    o.begin_ns = static_cast<std::uint64_t>(rows->integer(11));
    o.end_ns = static_cast<std::uint64_t>(rows->integer(12));
    o.prompt_template = rows->text(13);
    o.trial = rows->integer(14);
    o.warmup = rows->integer(15) != 0;
    operations.push_back(std::move(o));
  }
  if (!rows->status().ok()) return rows->status();
  return operations;
}

namespace {
Result<std::vector<StudyToken>> read_tokens(Query& rows) {
  std::vector<StudyToken> tokens;
  while (rows.next())
    tokens.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.digest(3),
                      rows.real(4), static_cast<std::uint64_t>(rows.integer(5))});
  if (!rows.status().ok()) return rows.status();
  return tokens;
}
constexpr std::string_view token_columns =
    "SELECT op, position, token, logits, margin, t_ns FROM study_token ";
} // namespace

Result<std::vector<StudyToken>> Recording::tokens(std::int64_t op) {
  Result<Query> rows = query(std::string(token_columns) + "WHERE op = ? ORDER BY position");
  if (!rows.ok()) return rows.status();
  rows->bind(1, op);
  return read_tokens(*rows);
}

Result<std::vector<StudyToken>> Recording::tokens() {
  Result<Query> rows = query(std::string(token_columns) + "ORDER BY op, position");
  if (!rows.ok()) return rows.status();
  return read_tokens(*rows);
}

} // namespace hitproof::schema
