#include "audit/selftest/workshop.h"

#include "audit/context.h"
#include "audit/json.h"
#include "audit/selftest/compare.h"
#include "schema/archive.h"
#include "schema/recording.h"

#include <fstream>

namespace hitproof::audit::selftest {
namespace fs = std::filesystem;

namespace {

const char* file_of(Arm arm) {
  return arm == Arm::control ? "data/reference/recording.sqlite" : "data/recording.sqlite";
}

schema::Status copy_tree(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::copy(from, to, fs::copy_options::recursive, error);
  if (error) return schema::Status::from_errno(error.value(), "copy " + from + " to " + to);
  // A signed statement is about the archive as it was, and would be a finding of its own.
  fs::remove(to + "/" + schema::attestation_file, error);
  return {};
}

// SQLite counts in its header how often the file was written (bytes 24 to 27).
std::string times_written(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string count(4, '\0');
  in.seekg(24);
  in.read(count.data(), 4);
  return count;
}

// What the machine could not do says nothing about the auditor, nor about the archive.
bool is_the_machines(const schema::Status& status) {
  return status.code() == schema::Code::refused || status.code() == schema::Code::no_space;
}

// Empty, or that nothing was written, although the statements ran.
schema::Result<std::string> change(const std::string& file, const std::string& sql) {
  std::string before;
  {
    auto recording = schema::Recording::open_file(file, schema::Access::read_write);
    if (!recording.ok()) return recording.status();
    before = times_written(file);
    schema::Status status = recording->execute("PRAGMA journal_mode = MEMORY");
    if (status.ok()) status = recording->execute(sql);
    if (is_the_machines(status)) return status;
    if (!status.ok()) return "it cannot be made here: " + status.message();
  }
  return times_written(file) == before ? std::string("it changes nothing here") : std::string();
}

const Finding* find(const RuleReport& rule, const std::string& violation) {
  for (const Finding& f : rule.findings)
    if (f.violation == violation) return &f;
  return nullptr;
}

// "pages is fail (page_not_copied, extent_not_covered), waits is pass": what a rule says, the named
// one first, then those that are not as they were.
std::string said(const Report& report, const Report& good, const std::string& first) {
  std::string words;
  const auto add = [&](const RuleReport& rule) {
    words += (words.empty() ? "" : "; ") + rule.name + " is " + verdict_words(rule.verdict);
    std::string inside;
    for (const Finding& f : rule.findings)
      inside += (inside.empty() ? "" : ", ") + f.violation;
    for (const std::string& lack : rule.missing)
      inside += (inside.empty() ? "" : ", ") + lack;
    if (!inside.empty()) words += " (" + inside + ")";
  };
  if (const RuleReport* rule = report.rule(first)) add(*rule);
  for (const RuleReport& rule : report.rules) {
    const RuleReport* before = good.rule(rule.name);
    if (rule.name != first && (before == nullptr || before->verdict != rule.verdict)) add(rule);
  }
  return words.empty() ? "no rule says anything" : words;
}

// Empty, or what is wrong with the answer to a must-fail control or a note.
std::string complaint(const Mutation& m, const Report& report, const Report& good) {
  const RuleReport* rule = report.rule(m.rule);
  const Finding* finding = rule != nullptr ? find(*rule, m.violation) : nullptr;
  if (finding == nullptr) return said(report, good, m.rule);
  const Verdict expected = m.answer == Answer::fail           ? Verdict::fail
                           : m.answer == Answer::inconclusive ? Verdict::inconclusive
                                                              : Verdict::pass;
  if (rule->verdict != expected) return said(report, good, m.rule);
  if (m.answer == Answer::note ? report.verdict != good.verdict : report.verdict == Verdict::pass)
    return "the whole archive is " + std::string(verdict_words(report.verdict));
  if (finding->words.find('{') != std::string::npos)
    return "the finding does not say what it is about: " + finding->words;
  if (finding->first.transfer && finding->witness.empty())
    return "the finding shows no record: " + finding->words;
  return "";
}

} // namespace

schema::Result<std::unique_ptr<Workshop>> Workshop::open(const std::string& source,
                                                         Auditor auditor) {
  std::unique_ptr<Workshop> made(new Workshop(source, std::move(auditor)));
  made->changed_ = {""};
  if (auto status = made->make_good(); !status.ok()) return status;
  auto good = made->auditor_(made->archive());
  if (!good.ok()) return good.status();
  made->good_ = std::move(good).value();
  made->good_json_ = to_json(made->good_);
  return made;
}

schema::Status Workshop::make_good() {
  if (changed_.contains("")) {
    if (auto status = copy_tree(source_, archive()); !status.ok()) return status;
  } else {
    for (const std::string& file : changed_) {
      std::error_code error;
      fs::copy_file(source_ + "/" + file, archive() + "/" + file,
                    fs::copy_options::overwrite_existing, error);
      if (error) return schema::Status::from_errno(error.value(), "copy " + source_ + "/" + file);
    }
  }
  changed_.clear();
  return {};
}

schema::Result<std::string> Workshop::misfit(const Mutation& m) {
  if (m.further.arm != Arm::candidate && !good_.has_reference)
    return std::string("the archive has no control arm");
  if (!m.harmless()) {
    const RuleReport* rule = good_.rule(m.rule);
    if (rule != nullptr && rule->verdict != Verdict::pass)
      return "rule " + m.rule + " is " + verdict_words(rule->verdict) + " here as it is";
    if (rule != nullptr && find(*rule, m.violation) != nullptr)
      return m.rule + "." + m.violation + " is there as it is";
  }
  if (m.further.needs == nullptr) return std::string();
  auto recording = schema::Recording::open_existing(archive());
  if (!recording.ok()) return recording.status();
  auto q = recording->query(m.further.needs->sql);
  if (!q.ok()) return q.status();
  return q->next() && q->integer(0) != 0
             ? std::string()
             : "the archive lacks " + std::string(m.further.needs->words);
}

// Empty where the change was made, else why it cannot be.
schema::Result<std::string> Workshop::apply(const Mutation& m) {
  if (auto status = make_good(); !status.ok()) return status;
  if (auto reason = misfit(m); !reason.ok() || !reason->empty()) return reason;
  const Further& further = m.further;
  bool any = m.sql.empty();
  for (const Arm arm : {Arm::candidate, Arm::control}) {
    if (m.sql.empty() || (further.arm != arm && further.arm != Arm::both)) continue;
    changed_.insert(file_of(arm));
    const auto reason = change(archive() + "/" + file_of(arm), m.sql);
    if (!reason.ok()) return reason.status();
    if (!reason->empty() && further.arm != Arm::both) return *reason;
    any = any || reason->empty();
  }
  if (!any) return std::string("it changes nothing here");
  if (further.files != nullptr) changed_ = {""};
  // What a changed recording no longer allows (it was never closed) is for the auditor to say.
  const auto close = [&] {
    const auto closed = schema::close_archive(archive());
    return is_the_machines(closed.status()) ? closed.status() : schema::Status();
  };
  schema::Status closed;
  if (!further.manifests_follow) closed = close();
  if (closed.ok() && further.files != nullptr)
    if (auto status = further.files(archive()); !status.ok()) {
      if (is_the_machines(status)) return status;
      return "it cannot be made here: " + status.message();
    }
  if (closed.ok() && further.manifests_follow) closed = close();
  if (!closed.ok()) return closed;
  return std::string();
}

schema::Result<Report> Workshop::report_of(const Mutation& m) {
  const auto reason = apply(m);
  if (!reason.ok()) return reason.status();
  if (!reason->empty())
    return schema::Status(schema::Code::invalid_argument, m.name + ": " + *reason);
  return auditor_(archive());
}

schema::Result<Trial> Workshop::try_out(const Mutation& m, const std::string& keep, bool keep_all) {
  Trial trial{&m, Outcome::wrong, "", ""};
  const auto reason = apply(m);
  if (!reason.ok()) return reason.status();
  if (!reason->empty()) {
    trial.outcome = Outcome::skipped;
    trial.came = *reason;
    return trial;
  }
  const auto report = auditor_(archive());
  if (is_the_machines(report.status())) return report.status();
  if (!report.ok())
    trial.came = "the audit ends with: " + report.status().to_string();
  else if (m.harmless())
    trial.came = difference(good_json_, to_json(*report), m.further.may_change);
  else
    trial.came = complaint(m, *report, good_);
  if (trial.came.empty()) trial.outcome = Outcome::answered;
  if (keep.empty() || (trial.came.empty() && !keep_all)) return trial;
  const std::string kept = keep + "/" + m.name;
  std::error_code error;
  fs::create_directories(keep, error);
  if (auto status = copy_tree(archive(), kept); !status.ok()) return status;
  trial.kept = kept;
  return trial;
}

} // namespace hitproof::audit::selftest
