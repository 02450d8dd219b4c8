// The recording under audit and what every rule wants to know of it. Inside the auditor errors
// travel as AuditError; audit_archive turns them into a Status.
#pragma once

#include "schema/archive.h"
#include "schema/recording.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::audit {

namespace screen {
class Screen;
}

class AuditError : public std::runtime_error {
 public:
  explicit AuditError(schema::Status status)
      : std::runtime_error(status.to_string()), status_(std::move(status)) {}
  const schema::Status& status() const noexcept { return status_; }

 private:
  schema::Status status_;
};

class Context {
 public:
  // `dir` is the archive; opens its recording read-only and attaches the control arm's, where there
  // is one, under the name `reference`. With PageCheck::later nothing that it says may be believed
  // before check_pages() succeeded and pages_are_sound() was called.
  explicit Context(const std::string& dir, schema::PageCheck check = schema::PageCheck::first);
  ~Context();

  // Checks the pages of both arms' files, each on its own. May run beside the use of a Context.
  static schema::Status check_pages(const std::string& dir);
  void pages_are_sound() { recording_.pages_are_sound(); }

  const std::string& dir() const noexcept { return dir_; }
  schema::Recording& recording() noexcept { return recording_; }
  bool has_reference() const noexcept { return has_reference_; }
  std::string reference_path() const;
  const std::string& arm() const noexcept { return arm_; }
  // True for the arm without a connector: nothing is transferred there.
  bool is_control() const noexcept { return arm_ == "control"; }
  // True where the recording was not closed, or records are known to have been lost.
  bool records_are_missing() const noexcept { return records_are_missing_; }
  // Transfers of engines that are not recorded, which only rule keys looks at.
  std::int64_t strangers() const noexcept { return strangers_; }
  // The statement that sets them aside, empty where there are none or they are in view.
  const std::string& aside_sql() const noexcept { return aside_sql_; }
  // Their records are in view again: for a rule that counts records, whoever they are about.
  void bring_strangers_back();
  std::int64_t first_ns() const noexcept { return first_ns_; }
  const std::vector<std::int64_t>& ranks() const noexcept { return ranks_; }
  // The query that gives them, in order.
  const char* ranks_sql() const noexcept { return ranks_sql_; }
  // "layers.3.mla", or "entry 7" where the model registered no name.
  std::string entry_name(std::int64_t rank, std::int64_t entry) const;

  // Reads all records once, so that queries have less to do (screen/look.h). Without it, or where
  // the recording is of a form that it does not know, every query runs over all records.
  void look_at_all_records();
  // Uses what `other`, a context of the same archive, saw.
  void share_look_of(const Context& other) { screen_ = other.screen_; }
  // Null where nobody looked.
  const screen::Screen* screen() const noexcept { return screen_.get(); }

  // What verify_archive said of the folder; `verified` says where it comes from, once.
  using Verified = schema::Result<std::vector<schema::ArchiveProblem>>;
  void set_verified(std::function<Verified()> verified) { verified_ = std::move(verified); }
  Verified archive_problems() const;

  schema::Query query(const std::string& sql);
  // First column of the first row; `fallback` where there is none or it is NULL.
  std::int64_t number(const std::string& sql, std::int64_t fallback = 0);
  // All columns of the first row, NULL as 0; `columns` zeros where there is no row.
  std::vector<std::int64_t> first_row(const std::string& sql, std::size_t columns);
  std::vector<std::int64_t> numbers(const std::string& sql);
  std::string fact(const std::string& key, const std::string& fallback = {});
  // Whether the arm attached as `where` ("" or "reference") has that column: older recordings lack
  // those that were added.
  bool has_column(const std::string& where, const std::string& table, const std::string& column);

 private:
  void set_strangers_aside();

  std::string dir_;
  schema::Recording recording_;
  bool records_are_missing_ = false;
  std::int64_t strangers_ = 0;
  std::string aside_sql_;
  bool has_reference_ = false;
  std::string arm_;
  std::int64_t first_ns_ = 0;
  std::vector<std::int64_t> ranks_;
  const char* ranks_sql_ = "SELECT DISTINCT rank FROM entry WHERE origin = 0 ORDER BY rank";
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names_;
  std::function<Verified()> verified_;
  std::shared_ptr<const screen::Screen> screen_;
};

// Throws AuditError unless ok.
void require(const schema::Status& status);
template <class T> T require(schema::Result<T> result) {
  if (!result.ok()) throw AuditError(result.status());
  return std::move(result).value();
}

} // namespace hitproof::audit
