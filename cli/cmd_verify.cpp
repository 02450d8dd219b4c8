// hitproof verify: are the files of an archive the ones that its manifests name?
#include "cli/output.h"
#include "cli/report_output.h"
#include "schema/archive.h"
#include "schema/attestation.h"
#include "schema/recording.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

namespace hitproof::cli {
namespace {

using schema::ArchiveProblemKind;

struct VerifyCommand : Command {
  std::string dir;
  std::string key_file;
  std::optional<schema::SigningKey> key;
  std::optional<schema::Claim> claim; // what a signed statement beside the bag says

  const char* name() const override { return "verify"; }
  const char* summary() const override { return "Check an archive's files against its manifests"; }
  const char* examples() const override {
    return "  hitproof verify out/demo/candidate\n"
           "  hitproof verify out/demo/candidate --key lab.key.pub\n"
           "  (cd out/demo/candidate && sha256sum -c manifest-sha256.txt)\n";
  }
  void add(CLI::App& app) override {
    app.add_option("DIR", dir, "Folder of the archive")->type_name("DIR")->required();
    app.add_option("--key", key_file,
                   "Public Ed25519 key (PEM) that must have signed the archive's attestation")
        ->type_name("PUB");
  }

  // The database must be whole as well: a file may be the one that was hashed and still not open.
  // Not ok where the machine refused to open it, which is no problem of the archive's.
  schema::Status check_database(std::vector<schema::ArchiveProblem>& problems) const {
    schema::Status refused;
    const auto add = [&](const schema::Status& status) {
      if (status.ok()) return;
      if (status.code() == schema::Code::refused) {
        refused = status;
        return;
      }
      const bool newer = status.code() == schema::Code::newer_format;
      problems.push_back(
          {newer ? ArchiveProblemKind::newer_format : ArchiveProblemKind::changed_file,
           "data/recording.sqlite", status.message()});
    };
    // A file that is reported already is not the one that was hashed, and not opened.
    for (const auto& p : problems)
      if (p.file.starts_with("data/recording.sqlite")) return {};
    auto recording = schema::Recording::open_existing(dir);
    if (recording.ok())
      add(recording->check_integrity());
    else if (recording.code() != schema::Code::not_found || problems.empty())
      add(recording.status());
    return refused;
  }

  // The statement must be about this archive whoever signed it; only a key tells who did.
  schema::Status check_statement(std::vector<schema::ArchiveProblem>& problems) {
    auto found = schema::check_attestation(dir, key ? &*key : nullptr);
    if (found.ok()) {
      claim = std::move(found).value();
    } else if (found.code() == schema::Code::refused) {
      return found.status();
    } else if (found.code() != schema::Code::not_found) {
      problems.push_back({ArchiveProblemKind::bad_attestation, schema::attestation_file,
                          found.status().message()});
    } else if (key) {
      problems.push_back({ArchiveProblemKind::bad_attestation, schema::attestation_file,
                          "a signature by key " + key->id() + " is asked for, but none is there"});
    }
    return {};
  }

  std::string words_of_claim() const {
    return "attestation: " + claim->result + ", " + std::to_string(claim->passed.size()) +
           " rules passed, " + std::to_string(claim->failed.size()) + " failed; " +
           (key ? "signed by key " : "NOT CHECKED who signed it (--key), it names key ") +
           claim->key_id;
  }

  static int exit_code(const std::vector<schema::ArchiveProblem>& problems) {
    int code = exit_pass;
    for (const auto& p : problems) {
      if (schema::is_damage(p.kind)) return exit_damaged;
      code = exit_inconclusive;
    }
    return code;
  }

  void print_json(const std::vector<schema::ArchiveProblem>& problems, int code) const {
    nlohmann::ordered_json j;
    j["archive"] = dir;
    j["verdict"] = code == exit_pass ? "intact" : code == exit_damaged ? "damaged" : "not_closed";
    if (claim)
      j["attestation"] = {{"result", claim->result},
                          {"key", claim->key_id},
                          {"signature_checked", key.has_value()}};
    j["problems"] = nlohmann::ordered_json::array();
    for (const auto& p : problems) {
      j["problems"].push_back({{"kind", schema::archive_problem_name(p.kind)},
                               {"file", p.file},
                               {"message", p.message}});
    }
    std::cout << j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }

  // True for a folder that is not there too: the reader of archives has better words for that.
  bool holds_anything() const {
    std::error_code error;
    if (!std::filesystem::is_directory(dir, error)) return true;
    for (const char* part : {"data", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"})
      if (std::filesystem::exists(dir + "/" + part, error) || error) return true;
    return false;
  }

  int run() override {
    if (!key_file.empty()) {
      auto read = schema::SigningKey::read_public(key_file);
      if (!read.ok()) {
        complain(read.status().message(), "name the .pub file that hitproof keygen wrote");
        return exit_usage;
      }
      key = std::move(read).value();
    }
    if (!holds_anything()) {
      complain(dir + " is no archive: it holds neither records nor manifests",
               "name the folder that a study or run wrote (it contains data/recording.sqlite)");
      return exit_usage;
    }
    auto found = schema::verify_archive(dir);
    if (!found.ok()) return complain_about_archive(found.status(), dir);
    auto problems = std::move(found).value();
    schema::Status refused = check_database(problems);
    if (refused.ok()) refused = check_statement(problems);
    if (!refused.ok()) return complain_about_archive(refused, dir);
    const int code = exit_code(problems);
    if (common.json) {
      print_json(problems, code);
      return code;
    }
    const auto out = make_output(Format::text, std::cout, common.color);
    for (const auto& p : problems) {
      out->line(std::string(schema::archive_problem_name(p.kind)) + "  " + p.file + ": " +
                p.message);
    }
    if (claim) out->line(words_of_claim());
    if (code == exit_pass)
      out->verdict("PASS: every file is the one that was written.", "hitproof audit " + dir);
    else if (code == exit_damaged) {
      out->verdict("FAIL: the archive is damaged (" + std::to_string(problems.size()) +
                       " problems).",
                   "hitproof audit " + dir + " --despite-damage");
    } else {
      out->verdict("INCONCLUSIVE: the archive was never closed; what was recorded is readable.",
                   "hitproof inspect " + dir);
    }
    return code;
  }
};

} // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<VerifyCommand>(); }

} // namespace hitproof::cli
