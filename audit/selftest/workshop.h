// One copy of a good archive in a folder of its own: changed, audited, made good again.
#pragma once

#include "audit/audit.h"
#include "audit/selftest/mutation.h"
#include "audit/selftest/scratch.h"

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace hitproof::audit::selftest {

// Who is put to the test: gives the report of the archive in `dir`.
using Auditor = std::function<schema::Result<Report>(const std::string& dir)>;

enum class Outcome { answered, wrong, skipped };

struct Trial {
  const Mutation* mutation = nullptr;
  Outcome outcome = Outcome::skipped;
  std::string came; // what came instead, or why it was skipped; empty where answered
  std::string kept; // folder of the changed archive; empty where it was not kept
};

class Workshop {
 public:
  // Copies the archive in `source`, which must stay as it is while the workshop lives, and audits
  // the copy. Errors: those of the auditor; io_error, no_space.
  static schema::Result<std::unique_ptr<Workshop>> open(const std::string& source, Auditor auditor);

  const Report& good() const noexcept { return good_; }
  // Changes the copy, audits it and holds the report against what the mutation demands. With
  // `keep` the changed archive goes into `<keep>/<name>` where the answer is wrong, or in any case
  // where `keep_all`. A mutation whose subject the archive lacks is skipped. Errors: of
  // making the change or keeping it; no_space, refused (by the machine, whatever the auditor would
  // have said).
  schema::Result<Trial> try_out(const Mutation& mutation, const std::string& keep = "",
                                bool keep_all = false);
  // The report of the changed copy, for who wants to see all of it. Errors: invalid_argument where
  // the mutation does not apply here, and those of the auditor.
  schema::Result<Report> report_of(const Mutation& mutation);

 private:
  Workshop(std::string source, Auditor auditor)
      : source_(std::move(source)), auditor_(std::move(auditor)), dir_("hitproof-selftest") {}
  std::string archive() const { return dir_.path() + "/archive"; }
  schema::Status make_good();
  // Empty, or why the mutation means nothing here.
  schema::Result<std::string> misfit(const Mutation& mutation);
  schema::Result<std::string> apply(const Mutation& mutation);

  std::string source_;
  Auditor auditor_;
  ScratchDir dir_;
  Report good_;
  std::string good_json_;
  std::set<std::string> changed_; // files to be made good, relative; "" for all
};

} // namespace hitproof::audit::selftest
