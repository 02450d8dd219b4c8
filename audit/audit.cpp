#include "audit/audit.h"

#include "audit/judgement.h"
#include "schema/archive.h"

#include <cstdlib>
#include <filesystem>
#include <future>
#include <unistd.h>

namespace hitproof::audit {
namespace {

// Damage that makes the records themselves doubtful; an archive that is merely not closed is not
// damaged.
bool is_damage(const schema::ArchiveProblem& problem) {
  return problem.kind != schema::ArchiveProblemKind::not_closed &&
         problem.kind != schema::ArchiveProblemKind::leftover;
}

schema::Status refuse_damage(const std::string& dir, const Context::Verified& problems) {
  if (!problems.ok()) return problems.status();
  for (const schema::ArchiveProblem& p : *problems) {
    if (p.kind != schema::ArchiveProblemKind::newer_format) continue;
    return schema::Status(schema::Code::newer_format, dir + "/" + p.file + ": " + p.message);
  }
  std::string words;
  int shown = 0;
  for (const schema::ArchiveProblem& p : *problems) {
    if (!is_damage(p) || ++shown > 5) continue;
    words += (words.empty() ? "" : "; ") + p.file + ": " + p.message;
  }
  if (shown == 0) return {};
  if (shown > 5) words += "; and " + std::to_string(shown - 5) + " more";
  return schema::Status(schema::Code::corruption, dir + ": the archive is damaged: " + words);
}

// Where SQLite puts its temporary files (sqlite.org/tempfiles.html, section 5).
std::string temporary_folder() {
  for (const char* name : {"SQLITE_TMPDIR", "TMPDIR"}) {
    const char* folder = std::getenv(name);
    if (folder != nullptr && ::access(folder, W_OK | X_OK) == 0) return folder;
  }
  for (const char* folder : {"/var/tmp", "/usr/tmp", "/tmp"})
    if (::access(folder, W_OK | X_OK) == 0) return folder;
  return ".";
}

// An audit writes nothing but temporary tables, so whatever found no room was one of them.
schema::Status explained(const schema::Status& status) {
  if (status.code() != schema::Code::no_space) return status;
  return schema::Status(schema::Code::no_space,
                        temporary_folder() + " has no room left for the temporary tables of the "
                                             "audit: free some, or name another folder in "
                                             "SQLITE_TMPDIR");
}

} // namespace

schema::Result<Report> audit_archive(const std::string& dir, const Options& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error)) {
    return schema::Status(schema::Code::not_found, dir + ": no such folder");
  }
  const bool recorded = std::filesystem::exists(dir + "/data/recording.sqlite", error);
  if (error == std::errc::permission_denied)
    return schema::Status::from_errno(error.value(), "look into " + dir);
  if (!schema::is_archive(dir) && !recorded) {
    return schema::Status(schema::Code::not_found,
                          dir + ": neither an archive nor a recording is there");
  }
  // The files are hashed beside all else; rule evidence asks for the answer too.
  std::shared_future<Context::Verified> verified =
      std::async(std::launch::async, [&dir] { return schema::verify_archive(dir); }).share();
  // So are the pages of the database checked, beside the look at its records.
  std::shared_future<schema::Status> sound =
      std::async(std::launch::async, [&dir] { return Context::check_pages(dir); }).share();
  // Damage is said before anything that was read of a damaged archive.
  const auto refused = [&] {
    schema::Status status = options.refuse_damaged || verified.get().code() == schema::Code::refused
                                ? refuse_damage(dir, verified.get())
                                : schema::Status();
    return status.ok() ? explained(sound.get()) : status;
  };
  // What is read before its pages are known to be sound has its work bounded; a recording for which
  // that was not enough is read again afterwards.
  for (schema::PageCheck check = schema::PageCheck::later;; check = schema::PageCheck::first) {
    bool known_sound = check == schema::PageCheck::first;
    try {
      Stopwatch watch(options.took);
      Context context(dir, check);
      context.set_verified([verified] { return verified.get(); });
      watch.lap("open");
      if (!options.statements_only) context.look_at_all_records();
      watch.lap("look");
      if (auto status = refused(); !status.ok()) return status;
      known_sound = true;
      context.pages_are_sound();
      watch.lap("verify");
      return judge_all(context, options.took);
    } catch (const AuditError& e) {
      if (auto status = refused(); !status.ok()) return status;
      if (known_sound) return explained(e.status());
    }
  }
}

} // namespace hitproof::audit
