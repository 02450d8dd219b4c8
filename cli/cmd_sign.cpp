// hitproof sign: audit an archive and put the signed verdict beside it.
#include "audit/audit.h"
#include "cli/plain_json.h"
#include "cli/report_output.h"
#include "schema/archive.h"
#include "schema/attestation.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace hitproof::cli {
namespace {

using audit::Verdict;

// The predicate knows no "inconclusive": a warning is what a reader must not take for a pass.
const char* result_name(Verdict verdict) {
  if (verdict == Verdict::pass) return "PASSED";
  return verdict == Verdict::fail ? "FAILED" : "WARNED";
}

schema::TestResult result_of(const audit::Report& report) {
  schema::TestResult result;
  result.result = result_name(report.verdict);
  for (const audit::RuleReport& rule : report.rules) {
    if (rule.verdict == Verdict::pass) result.passed.push_back(rule.name);
    if (rule.verdict == Verdict::inconclusive) result.warned.push_back(rule.name);
    if (rule.verdict == Verdict::fail) result.failed.push_back(rule.name);
  }
  result.program_version = HITPROOF_VERSION;
  if (const auto digest = schema::sha256_file("/proc/self/exe"); digest.ok())
    result.program = *digest;
  return result;
}

struct SignCommand : Command {
  std::string dir;
  std::string key_file;

  const char* name() const override { return "sign"; }
  const char* summary() const override {
    return "Audit an archive and put the signed verdict beside it";
  }
  const char* examples() const override {
    return "  hitproof sign out/demo/candidate --key lab.key\n"
           "  HITPROOF_KEY=lab.key hitproof sign out/demo/candidate\n";
  }
  void add(CLI::App& app) override {
    app.add_option("DIR", dir, "Folder of the archive")->type_name("DIR")->required();
    app.add_option("--key", key_file, "Private Ed25519 key (PEM, PKCS#8, no passphrase)")
        ->type_name("FILE")
        ->envname("HITPROOF_KEY")
        ->required();
  }

  int run() override {
    const auto key = schema::SigningKey::read_private(key_file);
    if (!key.ok()) {
      complain(key.status().message(), "hitproof keygen --out KEY makes one");
      return exit_usage;
    }
    if (!schema::is_archive(dir)) {
      complain(dir + ": no closed archive; only one that can no longer change is signed",
               "name the folder that a study wrote to its end");
      return exit_usage;
    }
    const auto report = audit::audit_archive(dir, audit::Options{});
    if (!report.ok()) return complain_about_archive(report.status(), dir);
    const schema::TestResult result = result_of(*report);
    if (const auto status = schema::attest(dir, result, *key); !status.ok()) {
      const bool there = status.code() == schema::Code::invalid_argument;
      complain(status.message(), there ? "hitproof verify " + dir + " shows what the statement says"
                                       : "make " + dir +
                                             " a folder that can be written, with room "
                                             "for one more file, and sign again");
      return exit_usage;
    }
    const std::string file = dir + "/" + schema::attestation_file;
    if (common.json) {
      std::cout << plain_json(
          {{"archive", dir}, {"result", result.result}, {"key", key->id()}, {"file", file}});
      return exit_pass;
    }
    std::cout << "Signed " << result.result << " into " << file << " with key " << key->id()
              << ".\n"
              << report->sentence() << "\nnext: hitproof verify " << dir << " --key " << key_file
              << ".pub\n";
    return exit_pass;
  }
};

} // namespace

std::unique_ptr<Command> make_sign_command() { return std::make_unique<SignCommand>(); }

} // namespace hitproof::cli
