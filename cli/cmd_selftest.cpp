// hitproof selftest: good archives changed on purpose, to see whether the auditor answers rightly.
#include "audit/selftest/selftest.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report_output.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

namespace hitproof::cli {
namespace {

namespace selftest = audit::selftest;

struct SelftestCommand : Command {
  std::vector<std::string> archives;
  selftest::Settings settings;
  bool list = false;

  const char* name() const override { return "selftest"; }
  const char* summary() const override {
    return "Change good archives on purpose and demand the right rule for each change";
  }
  const char* examples() const override {
    return "  hitproof selftest\n"
           "  hitproof selftest out/demo/candidate --json\n"
           "  hitproof selftest --list --only waits\n"
           "  hitproof selftest --only pages_short_copy --keep out/changed\n"
           "  hitproof selftest --blind pages.bytes_do_not_add_up\n";
  }
  void add(CLI::App& app) override {
    app.add_option("ARCHIVE", archives,
                   "Folders of good archives; they are copied and never written to. None: the "
                   "small study that is built in")
        ->type_name("DIR");
    app.add_flag("--list", list, "Show every change and what must be said, and stop");
    app.add_option("--only", settings.only,
                   "Only these changes; the name of a rule means all of its")
        ->allow_extra_args(false)
        ->type_name("NAME");
    app.add_option("--keep", settings.keep,
                   "Leave changed archives in this folder: those answered wrongly, or all that "
                   "--only names")
        ->type_name("DIR");
    app.add_option("--blind", settings.blind,
                   "Make the auditor blind to a rule or violation, to see that the selftest "
                   "notices (it must end with exit code 1)")
        ->type_name("RULE[.VIOLATION]");
    app.add_option("--jobs", settings.jobs,
                   "Archives audited at a time (default: one a core, at most 8)")
        ->check(CLI::Range(1, 256));
  }

  int complain_about(const schema::Status& status, const std::string& archive) const {
    if (status.code() == schema::Code::incomplete && interrupted()) {
      complain("the selftest was " + status.message(), "run it again; what was tried until then "
                                                       "says nothing about the rest");
      return exit_inconclusive;
    }
    // Of the study that is built in there are copies alone, made where temporary files go.
    if (archive.empty() && status.code() != schema::Code::invalid_argument) {
      complain(status.message(),
               "see that the folder for temporary files (TMPDIR) can be written "
               "and has room, and that memory and open files suffice (ulimit -a)");
      return exit_usage;
    }
    if (status.code() != schema::Code::invalid_argument)
      return complain_about_archive(status, archive);
    const auto is_about = [&](const std::string& path) {
      return !path.empty() && status.message().starts_with(path);
    };
    complain(status.message(),
             is_about(archive) ? "hitproof audit " + archive +
                                     " shows why; only a change of a good archive means anything"
             : is_about(settings.keep) ? "choose another folder for --keep"
                                       : "hitproof selftest --list shows what there is");
    return exit_usage;
  }

  int print_list() const {
    const auto chosen = selftest::chosen(settings.only);
    if (!chosen.ok()) return complain_about(chosen.status(), "");
    if (common.json) {
      std::cout << selftest::list_json(*chosen);
      return exit_pass;
    }
    audit::Table t{"mutations",
                   "Changes, and what must be said",
                   {{"name", "", false},
                    {"must say", "", false},
                    {"effect", "", false},
                    {"what is done", "", false}},
                   {},
                   {}};
    for (const selftest::Mutation* m : *chosen)
      t.rows.push_back({m->name, m->harmless() ? "nothing" : m->rule + "." + m->violation,
                        selftest::answer_name(m->answer), m->words});
    make_output(Format::text, std::cout, common.color)->table(t);
    return exit_pass;
  }

  static std::string expected(const selftest::Mutation& m) {
    if (m.harmless()) return "nothing: the report must stay as it was";
    return m.rule + "." + m.violation + " (" + selftest::answer_name(m.answer) + ")";
  }

  static std::string how_to_look(const selftest::Trial& trial, const std::string& archive) {
    if (!trial.kept.empty()) return "hitproof audit " + trial.kept + " --despite-damage";
    return "hitproof selftest " + (archive.empty() ? "" : archive + " ") + "--only " +
           trial.mutation->name + " --keep out/changed";
  }

  void print_score(Output& out, const selftest::Score& score) const {
    out.table(score.table());
    for (const selftest::Trial& trial : score.trials) {
      const selftest::Mutation& m = *trial.mutation;
      if (trial.outcome == selftest::Outcome::answered) {
        if (!trial.kept.empty()) out.line("kept " + m.name + ": " + how_to_look(trial, ""));
        continue;
      }
      if (trial.outcome == selftest::Outcome::skipped) {
        out.line("skipped " + m.name + ": " + trial.came);
        continue;
      }
      out.line(std::string(m.harmless() ? "DISTURBED " : "MISSED ") + m.name + ": " + m.words);
      out.detail("expected: " + expected(m));
      out.detail("came: " + trial.came);
      out.detail("to look at it: " + how_to_look(trial, score.archive));
    }
    char took[64];
    std::snprintf(took, sizeof took, "%.1f s", score.seconds);
    out.line(std::to_string(score.trials.size()) + " archives changed and audited in " + took);
  }

  schema::Result<selftest::Score> score_of(const std::string& archive) const {
    const auto chosen = selftest::chosen(settings.only);
    if (!chosen.ok()) return chosen.status();
    Progress progress(archive.empty() ? "selftest" : "selftest of " + archive, chosen->size(),
                      common.quiet, "archives");
    auto score = selftest::run(archive, settings,
                               [&](std::size_t done, std::size_t, const selftest::Trial& last) {
                                 progress.update(done, last.mutation->name);
                               });
    if (score.ok()) progress.finish(std::to_string(chosen->size()) + " changes tried");
    return score;
  }

  int run() override {
    if (list) return print_list();
    watch_interrupts(); // the copies under TMPDIR go before the program does
    settings.stop = interrupted;
    std::vector<std::string> subjects = archives;
    if (subjects.empty()) subjects.push_back("");
    std::vector<selftest::Score> scores;
    for (const std::string& archive : subjects) {
      auto score = score_of(archive);
      if (!score.ok()) return complain_about(score.status(), archive);
      scores.push_back(std::move(score).value());
    }
    if (common.json) {
      std::cout << selftest::to_json(scores);
      return exit_code_of(selftest::verdict_of(scores));
    }
    const auto out = make_output(Format::text, std::cout, common.color);
    for (const selftest::Score& score : scores)
      print_score(*out, score);
    const bool pass = selftest::verdict_of(scores) == audit::Verdict::pass;
    out->verdict(selftest::sentence_of(scores),
                 pass && settings.only.empty() ? "hitproof selftest --list" : "");
    return exit_code_of(selftest::verdict_of(scores));
  }
};

} // namespace

std::unique_ptr<Command> make_selftest_command() { return std::make_unique<SelftestCommand>(); }

} // namespace hitproof::cli
