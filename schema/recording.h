// A recording: `<dir>/data/recording.sqlite`, one table per record of records.def plus the study's
// tables and the facts about the recording itself (FORMAT.md, records.sql).
//
// One process writes (WAL while it records); others may read meanwhile. close() leaves a single
// file that needs no side files. A recording that was never closed says so: closed() is false. Not
// thread safe: one Recording, one thread at a time.
#pragma once

#include "schema/query.h"
#include "schema/records.h"
#include "schema/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema {

inline constexpr int recording_format_version = 1;

enum class Access { read_only, read_write };

// Whose record it is: the columns that every record table has.
struct Origin {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint32_t seq = 0;
  std::uint64_t t_ns = 0;
};

// A record with its origin, as read back.
template <class R> struct Row : R { Origin origin; };

// One operation of a study (plan_operations.h). Written once when it begins and once more when
// it ends (same op: the later one replaces).
struct StudyOperation {
  std::int64_t op = 0;
  std::string arm; // control, candidate
  std::int64_t case_index = 0;
  std::int64_t prompt_tokens = 0;
  std::string kind;            // cold, interpose, repeat, reset, reload
  std::string which;           // A, X, Y; empty for a reset
  std::string prompt_template; // tagged, ledger, rules, code
  std::int64_t trial = 0;      // number of the trial, 0 where the study has none
  bool warmup = false;         // it is set aside
  std::uint64_t request = 0;   // id in table request, 0 where none
  Digest prompt{};             // SHA-256 of the prompt ids, 4 little-endian bytes each
  std::string tag;
  std::string status; // running, ok, failed
  std::string error;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0; // 0 while running
};

struct StudyToken {
  std::int64_t op = 0;
  std::int64_t position = 0; // index among the generated tokens, from 0
  std::int64_t token = 0;    // token id
  Digest logits{};           // SHA-256 of the logits' bytes
  double margin = 0;         // top-1 minus top-2 logit
  std::uint64_t t_ns = 0;    // time of the token's event
};

// Whether the pages of a recording's file are checked before it is opened (recording_guard.h), or
// by the opener's own doing: what is read until then is not to be believed, and its work is
// bounded.
enum class PageCheck { first, later };

class Recording {
 public:
  // Creates `<dir>/data/recording.sqlite` (and the folders). Errors: invalid_argument where one
  // exists already (recordings are never overwritten), no_space, io_error.
  static Result<Recording> open_new(const std::string& dir);
  // Errors: not_found; corruption (not a recording, damaged); newer_format; io_error.
  static Result<Recording> open_existing(const std::string& dir, Access access = Access::read_only,
                                         PageCheck check = PageCheck::first);
  // The same for a database file of any name (a reference inside an archive).
  static Result<Recording> open_file(const std::string& path, Access access = Access::read_only,
                                     PageCheck check = PageCheck::first);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording(); // without close(): everything committed stays, closed stays 0

  // Transactions. Inserts outside of one commit one by one, which is slow.
  Status begin();
  Status commit();
  Status rollback();

  // Inserts one record. `payload` is the struct of record `type`; unknown types are
  // invalid_argument.
  Status insert(std::uint16_t type, const void* payload, const Origin& origin);
  template <class R> Status insert(const R& record, const Origin& origin) {
    return insert(R::type, &record, origin);
  }

  // Facts about the recording (table `recording`), for example plan_sha256, device, arm, lookup,
  // tail_effect. put replaces.
  Status put(std::string_view key, std::string_view value);
  Status put(std::string_view key, std::int64_t value);
  Result<std::string> get(std::string_view key); // not_found
  std::string get_or(std::string_view key, std::string_view fallback);
  std::int64_t get_int(std::string_view key, std::int64_t fallback); // fallback where not a number

  Status put_operation(const StudyOperation& operation);
  Status put_token(const StudyToken& token);
  Status put_exclusion(std::string_view id, std::string_view what, std::string_view reason);
  Status put_process_exit(std::uint32_t pid, std::string_view role, int status, int signal);
  Result<std::vector<StudyOperation>> operations();        // by op
  Result<std::vector<StudyToken>> tokens(std::int64_t op); // by position
  Result<std::vector<StudyToken>> tokens();                // by op, position

  // Reads record rows in order of (process, thread, seq), or by `tail`, the SQL that follows the
  // table's name: "WHERE rank = 3 ORDER BY t_ns". The visitor returns false to stop.
  template <class R>
  Status each(std::string_view tail, const std::function<bool(const Row<R>&)>& visit);
  template <class R> Result<std::vector<Row<R>>> read(std::string_view tail = {});
  Result<std::int64_t> count(std::string_view table, std::string_view where = {});

  // Any SELECT; parameters are bound in order (query.h).
  Result<Query> query(std::string_view sql);
  // Adds the tables of another recording's database file as `name`.<table>, for reading. It is
  // opened and checked by itself first. Errors: those of open_file.
  Status attach(const std::string& file, const std::string& name,
                PageCheck check = PageCheck::first);
  // To be called once the pages of a recording opened with PageCheck::later, and of what was
  // attached to it, were found sound (by open_file): its work is no longer bounded.
  void pages_are_sound();

  // Any statements without result rows (indexes of the auditor, tests).
  Status execute(std::string_view sql);

  // Ends the recording: reason "completed", "interrupted", ...; stores closed=1, closed_reason,
  // ended_ns; folds the WAL in and turns to a plain file. Drain::finish() comes before it.
  Status close(std::string_view reason);
  bool closed(); // table says closed=1
  std::string closed_reason();
  // Folds the WAL of a recording that was not closed into the file, without marking it closed.
  Status checkpoint();
  // SQLite's own check of the file. corruption names the first problem.
  Status check_integrity();

  const std::string& path() const noexcept;

 private:
  struct Impl;
  explicit Recording(std::unique_ptr<Impl> impl) noexcept;
  Status each_payload(std::uint16_t type, std::string_view tail,
                      const std::function<bool(const void* payload, const Origin&)>& visit);
  std::unique_ptr<Impl> impl_;
};

template <class R>
Status Recording::each(std::string_view tail, const std::function<bool(const Row<R>&)>& visit) {
  Row<R> row;
  return each_payload(R::type, tail, [&](const void* payload, const Origin& origin) {
    std::memcpy(static_cast<R*>(&row), payload, sizeof(R));
    row.origin = origin;
    return visit(row);
  });
}

template <class R> Result<std::vector<Row<R>>> Recording::read(std::string_view tail) {
  std::vector<Row<R>> rows;
  Status status = each<R>(tail, [&](const Row<R>& row) {
    rows.push_back(row);
    return true;
  });
  if (!status.ok()) return status;
  return rows;
}

} // namespace hitproof::schema
