#include "audit/selftest/selftest.h"

#include "audit/rule.h"
#include "audit/selftest/world/small.h"
#include "schema/clock.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

namespace hitproof::audit::selftest {
namespace {

using schema::Code;
using schema::Status;

constexpr unsigned most_jobs = 8;

schema::Result<Report> real_auditor(const std::string& dir) {
  // Damage is one of the changes: it must show as a finding.
  return audit_archive(dir, Options{.refuse_damaged = false});
}

// "rule" or "rule.violation", with something there to be blind to.
Status check_blind(const std::string& blind) {
  const auto dot = blind.find('.');
  const std::string name = blind.substr(0, dot);
  for (const Rule* rule : all_rules()) {
    if (name != rule->name) continue;
    if (dot == std::string::npos) return {};
    for (const Sentence& s : rule->sentences)
      if (blind.substr(dot + 1) == s.violation) return {};
  }
  return Status(Code::invalid_argument, "no rule or violation '" + blind + "'");
}

// The auditor with one violation, or a whole rule, out of its sight.
void look_away(const std::string& blind, Report& report) {
  const auto dot = blind.find('.');
  const std::string name = blind.substr(0, dot);
  Verdict whole = Verdict::not_applicable;
  for (RuleReport& rule : report.rules) {
    if (rule.name == name) {
      std::erase_if(rule.findings, [&](const Finding& f) {
        return dot == std::string::npos || f.violation == blind.substr(dot + 1);
      });
      if (rule.verdict != Verdict::not_applicable) {
        rule.verdict = rule.missing.empty() ? Verdict::pass : Verdict::inconclusive;
        for (const Finding& f : rule.findings)
          rule.verdict = worse(rule.verdict, f.effect);
      }
    }
    whole = worse(whole, rule.verdict);
  }
  report.verdict = whole == Verdict::not_applicable ? Verdict::inconclusive : whole;
}

Status check_archive(const std::string& dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error))
    return Status(Code::not_found, dir + ": no such folder");
  if (!std::filesystem::exists(dir + "/data/recording.sqlite", error))
    return Status(Code::not_found, dir + ": no recording is there");
  return {};
}

// Nothing that lies there is overwritten.
Status check_keep(const std::string& keep, const std::vector<const Mutation*>& list) {
  std::error_code error;
  for (const Mutation* m : list)
    if (!keep.empty() && std::filesystem::exists(keep + "/" + m->name, error))
      return Status(Code::invalid_argument, keep + "/" + m->name + " exists already");
  return {};
}

Auditor auditor_of(const Settings& settings) {
  Auditor auditor = settings.auditor ? settings.auditor : Auditor(real_auditor);
  if (settings.blind.empty()) return auditor;
  return [auditor, blind = settings.blind](const std::string& dir) {
    auto report = auditor(dir);
    if (report.ok()) look_away(blind, *report);
    return report;
  };
}

// Hands the list out to workers, each with a copy of the archive of its own.
class Run {
 public:
  Run(std::string source, const Settings& settings, std::vector<const Mutation*> list,
      const OnTrial& progress)
      : source_(std::move(source)), settings_(settings), auditor_(auditor_of(settings)),
        list_(std::move(list)), progress_(progress), trials_(list_.size()) {}

  schema::Result<std::vector<Trial>> trials() {
    // The first copy tells whether the archive is good at all.
    auto first = Workshop::open(source_, auditor_);
    if (!first.ok()) return first.status();
    if (auto status = check_good((*first)->good()); !status.ok()) return status;
    unsigned jobs = settings_.jobs != 0
                        ? settings_.jobs
                        : std::clamp(std::thread::hardware_concurrency(), 1U, most_jobs);
    jobs =
        static_cast<unsigned>(std::min<std::size_t>(jobs, std::max<std::size_t>(list_.size(), 1)));
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < jobs; ++i)
      others.emplace_back([this] { work_on_a_copy(); });
    work(**first);
    others.clear(); // joins
    if (failed_) return *failed_;
    return std::move(trials_);
  }

 private:
  Status check_good(const Report& good) const {
    if (good.verdict != Verdict::fail) return {};
    const RuleReport* evidence = good.rule("evidence");
    for (const Finding& f : evidence != nullptr ? evidence->findings : std::vector<Finding>())
      if (f.violation == "archive_problem" && f.effect == Verdict::fail)
        return Status(Code::corruption, source_ + ": the archive is damaged: " + f.words);
    return Status(Code::invalid_argument,
                  source_ + ": not a good archive, its audit says: " + good.sentence());
  }

  void fail(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = status;
    next_ = list_.size();
  }

  void work_on_a_copy() {
    try {
      auto workshop = Workshop::open(source_, auditor_);
      if (workshop.ok())
        work(**workshop);
      else
        fail(workshop.status());
    } catch (const std::exception& error) {
      fail(Status(Code::io_error, error.what()));
    }
  }

  void work(Workshop& workshop) {
    for (std::size_t i = next_++; i < list_.size(); i = next_++) {
      if (settings_.stop && settings_.stop()) {
        fail(Status(Code::incomplete, "stopped before all changes were tried"));
        return;
      }
      const Mutation& m = *list_[i];
      Trial trial{&m, Outcome::wrong, "", ""};
      try {
        auto tried = workshop.try_out(m, settings_.keep, !settings_.only.empty());
        if (!tried.ok()) {
          fail(tried.status());
          return;
        }
        trial = std::move(tried).value();
      } catch (const std::bad_alloc&) {
        fail(Status(Code::refused, "no memory left"));
        return;
      } catch (const std::system_error& error) {
        const Status status = Status::from_errno(error.code().value(), error.what());
        if (status.code() == Code::refused) { // a thread that the machine does not give
          fail(status);
          return;
        }
        trial.came = std::string("the audit ends with: ") + error.what();
      } catch (const std::exception& error) {
        trial.came = std::string("the audit ends with: ") + error.what();
      }
      const std::lock_guard lock(mutex_);
      trials_[i] = std::move(trial);
      if (progress_) progress_(++done_, list_.size(), trials_[i]);
    }
  }

  std::string source_;
  const Settings& settings_;
  Auditor auditor_;
  std::vector<const Mutation*> list_;
  const OnTrial& progress_;
  std::vector<Trial> trials_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::optional<Status> failed_;
};

} // namespace

schema::Result<std::vector<const Mutation*>> chosen(const std::vector<std::string>& only) {
  std::vector<const Mutation*> list;
  for (const std::string& name : only) {
    const auto& all = mutations();
    if (std::none_of(all.begin(), all.end(),
                     [&](const Mutation& m) { return m.name == name || m.rule == name; }))
      return Status(Code::invalid_argument, "no mutation and no rule '" + name + "'");
  }
  for (const Mutation& m : mutations())
    if (only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& name) {
          return m.name == name || m.rule == name;
        }))
      list.push_back(&m);
  return list;
}

schema::Result<Score> run(const std::string& archive, const Settings& settings,
                          const OnTrial& progress) {
  if (!settings.blind.empty())
    if (auto status = check_blind(settings.blind); !status.ok()) return status;
  auto list = chosen(settings.only);
  if (!list.ok()) return list.status();
  if (!archive.empty())
    if (auto status = check_archive(archive); !status.ok()) return status;
  if (auto status = check_keep(settings.keep, *list); !status.ok()) return status;
  const std::uint64_t began = schema::now();
  try {
    std::optional<ScratchDir> built_in;
    if (archive.empty())
      write_archive(built_in.emplace("hitproof-selftest").path(), smallest_spec());
    Run all(archive.empty() ? built_in->path() : archive, settings, std::move(list).value(),
            progress);
    auto trials = all.trials();
    if (!trials.ok()) return trials.status();
    return Score{archive, std::move(trials).value(),
                 static_cast<double>(schema::now() - began) / 1e9};
  } catch (const std::exception& error) {
    return Status(Code::io_error, error.what());
  }
}

} // namespace hitproof::audit::selftest
