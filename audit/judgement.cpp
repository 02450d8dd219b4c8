#include "audit/judgement.h"

#include "audit/reloads.h"
#include "audit/rule.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace hitproof::audit {
namespace {

// The rules and the rows of reloads, each by whichever context is free.
class Judgement {
 public:
  explicit Judgement(const Took& took) : took_(took), rules_(all_rules().size()) {
    // What takes longest comes first, so that two contexts end together.
    for (std::size_t i = 0; i < rules_.size(); ++i)
      parts_.push_back(i);
    std::stable_sort(parts_.begin(), parts_.end(), [](std::size_t a, std::size_t b) {
      return all_rules()[a]->cost > all_rules()[b]->cost;
    });
    parts_.push_back(reloads);
    errors_.resize(parts_.size());
  }

  // Until nothing is left; may run in two threads at once, each with its own context.
  void work(Context& context) {
    for (std::size_t next = next_++; next < parts_.size(); next = next_++) {
      try {
        do_part(context, parts_[next]);
      } catch (const AuditError& e) {
        errors_[next] = e.status();
        next_ = parts_.size();
      }
    }
  }

  // Throws AuditError where a part failed.
  void finish(Report& report) {
    for (const schema::Status& status : errors_)
      require(status);
    report.verdict = Verdict::not_applicable;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      RuleReport& r = rules_[i];
      if (all_rules()[i]->optional && r.verdict == Verdict::not_applicable) continue;
      report.verdict = worse(report.verdict, r.verdict);
      report.rules.push_back(std::move(r));
    }
    if (report.verdict == Verdict::not_applicable) report.verdict = Verdict::inconclusive;
    report.reloads = std::move(reloads_);
  }

 private:
  static constexpr std::size_t reloads = ~std::size_t{0};

  void do_part(Context& context, std::size_t part) {
    Stopwatch watch(took_);
    if (part == reloads) {
      reloads_ = reload_rows(context);
    } else {
      const Rule& rule = *all_rules()[part];
      RuleReport& r = rules_[part];
      r.name = rule.name;
      r.proves = rule.proves;
      rule.judge(context, rule, r);
      conclude(r);
    }
    const std::lock_guard lock(took_mutex_);
    watch.lap(part == reloads ? "reloads" : all_rules()[part]->name);
  }

  const Took& took_;
  std::mutex took_mutex_;
  std::vector<std::size_t> parts_; // places in all_rules(), or `reloads`
  std::atomic<std::size_t> next_ = 0;
  std::vector<schema::Status> errors_;
  std::vector<RuleReport> rules_;
  std::vector<ReloadRow> reloads_;
};

} // namespace

Report judge_all(Context& context, const Took& took) {
  Report report;
  report.path = context.dir();
  report.arm = context.arm();
  report.lookup = context.fact("lookup");
  report.device = context.fact("device");
  report.preset = context.fact("preset");
  report.has_reference = context.has_reference();
  Judgement judgement(took);
  if (context.screen() != nullptr && std::thread::hardware_concurrency() > 1) {
    // A second connection; its file was found sound and is not checked again.
    Context beside(context.dir());
    beside.share_look_of(context);
    beside.set_verified([&context] { return context.archive_problems(); });
    auto other = std::async(std::launch::async, [&] { judgement.work(beside); });
    judgement.work(context);
    other.get();
  } else {
    judgement.work(context);
  }
  judgement.finish(report);
  auto excluded = context.query("SELECT what, reason FROM exclusion ORDER BY id");
  while (excluded.next())
    report.exclusions.push_back(excluded.text(0) + ": " + excluded.text(1));
  require(excluded.status());
  return report;
}

} // namespace hitproof::audit
