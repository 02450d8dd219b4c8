#include "cli/fleet/fleet_archive.h"

#include "schema/archive.h"
#include "schema/record_table.h"
#include "schema/table_text.h"

#include <filesystem>

namespace hitproof::cli {
namespace {

using schema::Code;
using schema::Status;
using Kind = schema::ArchiveProblemKind;

constexpr const char* id_prefix = "hp"; // no tool takes it for a number
constexpr std::size_t id_digits = 16;
constexpr std::size_t most_letters = 64;
constexpr int most_problems_named = 5;

const std::vector<schema::TableText>& known_tables() {
  static const std::vector<schema::TableText> tables =
      schema::parse_tables(schema::records_sql()).value();
  return tables;
}

// Columns that were added to an older recording have no type there.
std::string known_type(const std::string& table, const std::string& column) {
  for (const schema::TableText& t : known_tables()) {
    if (t.name != table) continue;
    const schema::ColumnText* found = t.find(column);
    if (found != nullptr) return found->type;
  }
  return "TEXT";
}

// What keeps an archive out of a fleet; ok where nothing does.
Status refusal(const std::string& dir, const std::vector<schema::ArchiveProblem>& problems) {
  std::string words;
  int shown = 0;
  for (const schema::ArchiveProblem& p : problems) {
    if (p.kind == Kind::newer_format)
      return Status(Code::newer_format, dir + "/" + p.file + ": " + p.message);
    if (!schema::is_damage(p.kind) || ++shown > most_problems_named) continue;
    words += (words.empty() ? "" : "; ") + p.file + ": " + p.message;
  }
  if (shown > most_problems_named)
    words += "; and " + std::to_string(shown - most_problems_named) + " more";
  if (shown > 0) return Status(Code::corruption, dir + ": the archive is damaged: " + words);
  for (const schema::ArchiveProblem& p : problems) {
    if (p.kind == Kind::not_closed)
      return Status(Code::incomplete, dir + ": the archive was never closed, so it has no id");
  }
  return {};
}

std::string id_of(const std::string& tag_manifest_sha256) {
  return id_prefix + tag_manifest_sha256.substr(0, id_digits);
}

// Names become files, folders and parts of statements: nothing but letters, digits and "_", and
// none that fleets need for themselves.
bool fits_a_fleet(const std::string& name) {
  static const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= most_letters && name != "archive" &&
         name.find_first_not_of(letters) == std::string::npos && !name.starts_with("fleet_") &&
         !name.starts_with("reference_");
}

std::string sql_name(const std::string& name) { return "\"" + name + "\""; }

} // namespace

schema::Result<std::string> fleet_id(const std::string& dir) {
  const auto digest = schema::sha256_file(dir + "/tagmanifest-sha256.txt");
  if (!digest.ok()) return digest.status();
  return id_of(schema::to_hex(*digest));
}

schema::Result<FleetArchive> FleetArchive::open(const std::string& dir) {
  const auto problems = schema::verify_archive(dir);
  if (!problems.ok()) return problems.status();
  if (Status s = refusal(dir, *problems); !s.ok()) return s;
  FleetArchive archive;
  archive.dir_ = dir;
  const auto digest = schema::sha256_file(dir + "/tagmanifest-sha256.txt");
  if (!digest.ok()) return digest.status();
  archive.tag_manifest_ = schema::to_hex(*digest);
  archive.id_ = id_of(archive.tag_manifest_);
  for (const schema::ArchiveProblem& p : *problems)
    archive.problems_.push_back({schema::archive_problem_name(p.kind), p.file, p.message});
  auto recording = schema::Recording::open_existing(dir);
  if (!recording.ok()) return recording.status();
  archive.recording_.emplace(std::move(recording).value());
  const std::string control = dir + "/data/reference/recording.sqlite";
  std::error_code error;
  if (std::filesystem::exists(control, error)) {
    auto other = schema::Recording::open_file(control);
    if (!other.ok()) return other.status();
    archive.control_.emplace(std::move(other).value());
  }
  Status status = archive.list_tables(false);
  if (status.ok() && archive.control_) status = archive.list_tables(true);
  if (!status.ok()) return status;
  return archive;
}

Status FleetArchive::unfit(const std::string& name) const {
  return Status(Code::corruption, dir_ + ": its table or column \"" + name +
                                      "\" has a name that no fleet holds (small letters, digits "
                                      "and _ alone; not archive, fleet_, reference_)");
}

Status FleetArchive::list_tables(bool control) {
  auto names = arm(control).query("SELECT name FROM sqlite_master WHERE type = 'table'");
  if (!names.ok()) return names.status();
  while (names->next()) {
    FleetTable table{names->text(0), control, "", {}};
    if (!fits_a_fleet(table.name)) return unfit(table.name);
    table.merged = (control ? "reference_" : "") + table.name;
    auto columns = arm(control).query("PRAGMA table_info(" + sql_name(table.name) + ")");
    if (!columns.ok()) return columns.status();
    while (columns->next()) {
      const std::string name = columns->text(1), type = columns->text(2);
      if (!fits_a_fleet(name)) return unfit(table.name + "." + name);
      table.columns.push_back({name, type.empty() ? known_type(table.name, name) : type});
    }
    if (!columns->status().ok()) return columns->status();
    tables_.push_back(std::move(table));
  }
  return names->status();
}

// SQLite keeps any value in any column; a fleet's other readers do not.
Status FleetArchive::check_types(const FleetTable& table) {
  std::string wrong;
  for (const schema::MergedColumn& c : table.columns)
    wrong += (wrong.empty() ? "" : " OR ") + std::string("typeof(") + sql_name(c.name) +
             ") NOT IN ('null', " +
             (c.type == "INTEGER" ? "'integer'"
              : c.type == "REAL"  ? "'real'"
              : c.type == "BLOB"  ? "'blob'"
                                  : "'text'") +
             ")";
  auto found =
      arm(table.control).query("SELECT COUNT(*) FROM " + sql_name(table.name) + " WHERE " + wrong);
  if (!found.ok()) return found.status();
  const bool any = found->next() && found->integer(0) > 0;
  if (!found->status().ok()) return found->status();
  if (!any) return {};
  return Status(Code::corruption, dir_ + ": table " + table.name + " has " + found->text(0) +
                                      " rows with a value that is not of its column's type");
}

schema::Result<schema::Query> FleetArchive::rows(const FleetTable& table) {
  if (Status s = check_types(table); !s.ok()) return s;
  std::string names;
  for (const schema::MergedColumn& column : table.columns)
    names += (names.empty() ? "" : ", ") + sql_name(column.name);
  return arm(table.control).query("SELECT " + names + " FROM " + sql_name(table.name));
}

} // namespace hitproof::cli
