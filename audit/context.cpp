#include "audit/context.h"

#include "audit/screen/screen.h"

#include <filesystem>
#include <future>

namespace hitproof::audit {
namespace {

// A recording of this size may not have its temporary tables and sorts in memory.
constexpr std::uintmax_t large_bytes = std::uintmax_t{1} << 30;

std::string reference_of(const std::string& dir) {
  return dir + "/data/reference/recording.sqlite";
}

// Opens both arms' files, each on its own, which checks their pages; the control arm's for that
// alone: a file that was found sound is not checked again when it is attached.
schema::Result<schema::Recording> open_checked(const std::string& dir) {
  auto beside = std::async(std::launch::async, [&]() -> schema::Status {
    if (!std::filesystem::exists(reference_of(dir))) return {};
    return schema::Recording::open_file(reference_of(dir)).status();
  });
  auto recording = schema::Recording::open_existing(dir);
  schema::Status other = beside.get();
  if (recording.ok() && !other.ok()) return other;
  return recording;
}

schema::Result<schema::Recording> open(const std::string& dir, schema::PageCheck check) {
  if (check == schema::PageCheck::first) return open_checked(dir);
  return schema::Recording::open_existing(dir, schema::Access::read_only, check);
}

} // namespace

void require(const schema::Status& status) {
  if (!status.ok()) throw AuditError(status);
}

schema::Status Context::check_pages(const std::string& dir) { return open_checked(dir).status(); }

Context::Context(const std::string& dir, schema::PageCheck check)
    : dir_(dir), recording_(require(open(dir, check))) {
  if (std::filesystem::exists(reference_path())) {
    require(recording_.attach(reference_path(), "reference", check));
    has_reference_ = true;
  }
  // The joins' own indexes live in memory: spilled to files they would cost more than the reading.
  // Those of a large recording do not fit there.
  std::error_code error;
  const bool large = std::filesystem::file_size(recording_.path(), error) > large_bytes;
  require(recording_.execute(
      large ? "PRAGMA temp_store = FILE; PRAGMA cache_size = -131072; PRAGMA mmap_size = 134217728"
            : "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -262144; PRAGMA mmap_size = "
              "1073741824"));
  set_strangers_aside();
  arm_ = fact("arm");
  records_are_missing_ =
      fact("closed") != "1" ||
      number("SELECT COUNT(*) FROM recording WHERE key IN ('dropped', 'gaps', 'damaged_slots') AND "
             "CAST(value AS INTEGER) > 0") > 0 ||
      number("SELECT SUM(gaps + damaged + dropped) FROM journal_file") > 0 ||
      number("SELECT MAX(dropped) FROM coverage") > 0;
  ranks_ = numbers(ranks_sql_);
  if (ranks_.empty()) {
    ranks_sql_ = "SELECT DISTINCT rank FROM transfer ORDER BY rank";
    ranks_ = numbers(ranks_sql_);
  }
  first_ns_ =
      number("SELECT MIN(t) FROM (SELECT MIN(t_ns) AS t FROM process UNION ALL "
             "SELECT MIN(t_ns) FROM entry UNION ALL SELECT MIN(t_ns) FROM request UNION ALL "
             "SELECT MIN(t_ns) FROM transfer)");
  auto entries = query("SELECT rank, entry, MAX(name) FROM entry GROUP BY rank, entry");
  while (entries.next()) {
    names_[{entries.integer(0), entries.integer(1)}] = entries.text(2);
  }
  require(entries.status());
}

Context::~Context() = default;

void Context::look_at_all_records() { screen_ = screen::Screen::look(*this); }

Context::Verified Context::archive_problems() const {
  return verified_ ? verified_() : schema::verify_archive(dir_);
}

void Context::set_strangers_aside() {
  // A cache server that several engines use also transfers for those that are not part of this
  // recording. What it did before the first recorded request was for them: no recorded process can
  // answer for it.
  const char* const before = "t_ns < (SELECT MIN(t_ns) FROM main.request)";
  strangers_ = number(std::string("SELECT COUNT(*) FROM main.transfer WHERE ") + before);
  if (strangers_ == 0) return;
  aside_sql_ =
      std::string("CREATE TEMP VIEW transfer AS SELECT * FROM main.transfer WHERE NOT ") + before;
  require(recording_.execute(aside_sql_));
}

void Context::bring_strangers_back() {
  if (strangers_ != 0) require(recording_.execute("DROP VIEW IF EXISTS temp.transfer"));
  aside_sql_.clear();
}

std::string Context::reference_path() const { return reference_of(dir_); }

std::string Context::entry_name(std::int64_t rank, std::int64_t entry) const {
  const auto it = names_.find({rank, entry});
  if (it == names_.end() || it->second.empty()) return "entry " + std::to_string(entry);
  return it->second;
}

schema::Query Context::query(const std::string& sql) { return require(recording_.query(sql)); }

std::int64_t Context::number(const std::string& sql, std::int64_t fallback) {
  auto q = query(sql);
  const bool any = q.next();
  require(q.status());
  return any && !q.is_null(0) ? q.integer(0) : fallback;
}

std::vector<std::int64_t> Context::first_row(const std::string& sql, std::size_t columns) {
  std::vector<std::int64_t> out(columns, 0);
  auto q = query(sql);
  if (q.next()) {
    for (std::size_t i = 0; i < columns; ++i)
      out[i] = q.integer(static_cast<int>(i));
  }
  require(q.status());
  return out;
}

std::vector<std::int64_t> Context::numbers(const std::string& sql) {
  std::vector<std::int64_t> out;
  auto q = query(sql);
  while (q.next())
    out.push_back(q.integer(0));
  require(q.status());
  return out;
}

bool Context::has_column(const std::string& where, const std::string& table,
                         const std::string& column) {
  auto q = query("PRAGMA " + (where.empty() ? "main" : where) + ".table_info(" + table + ")");
  bool found = false;
  while (q.next())
    found = found || q.text(1) == column;
  require(q.status());
  return found;
}

std::string Context::fact(const std::string& key, const std::string& fallback) {
  return recording_.get_or(key, fallback);
}

} // namespace hitproof::audit
