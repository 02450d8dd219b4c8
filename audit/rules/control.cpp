// Rule control: the arms differ in the cache and in nothing else.
#include "audit/rule.h"
#include "audit/trace.h"

namespace hitproof::audit {
namespace {

const Sentence sentences[] = {
    {"profile_not_in_force",
     "Rank {rank}: the profile asks for {expected}, the kernel used {actual}."},
    {"profile_not_exercised",
     "Rank {rank}: no kernel that takes the choice {expected} ran, so it was not used."},
    {"profile_not_read_back",
     "Rank {rank}: the choice {expected} was never read back after the run."},
    {"profile_changed",
     "Rank {rank}: the recorded choice {expected} was {actual} at another time."},
    {"profile_incomplete", "Rank {rank} recorded {actual} kernel choices, other ranks {expected}."},
    {"step_differs_from_control",
     "Operation {op}, rank {rank}: a step computes {actual} (start+tokens), the control's "
     "computes {expected}, although nothing was reloaded."},
    {"other_number_of_steps",
     "Operation {op}: {actual} steps, in the control {expected}, although nothing was "
     "reloaded.",
     RestsOn::absence},
    {"steps_not_recorded", "Operation {op}: its steps are not recorded in both arms."},
    {"profile_differs_from_control",
     "Rank {rank}: the control used {expected}, here {actual} was used."},
    {"profile_without_control",
     "Rank {rank}: the choice {expected} is not recorded in the control arm."},
    {"content_input_differs_from_control",
     "Rank {rank}: '{expected}', which the cached bytes depend on, differs from "
     "the control's."},
    {"weights_of_control_unknown", "The identity of the weights is not recorded in both arms."},
};

const char* const tables[] = {"profile", "step_request", "study_operation", "content_input"};
const char* const queries[] = {"control", "control_arms"};

void judge(Context& context, const Rule& rule, RuleReport& report) {
  collect(context, rule, "control", report);
  const std::string steps_sql =
      "SELECT COUNT(*) FROM step_request q LEFT JOIN (SELECT DISTINCT request FROM transfer WHERE "
      "direction = 1) r ON r.request = q.request WHERE r.request IS NULL";
  const std::string choices_sql =
      "SELECT COUNT(*) FROM (SELECT DISTINCT rank, name FROM profile WHERE phase = 1)";
  const std::int64_t choices = context.number(choices_sql);
  Figure steps = {"steps_compared", 0, traced(context, "control_arms.sql", "SELECT 0")};
  if (context.has_reference()) {
    collect(context, rule, "control_arms", report);
    steps = counted(context, "control_arms.sql", "steps_compared", steps_sql);
    if (std::get<std::int64_t>(steps.value) == 0)
      report.missing.push_back("no step is recorded that could be compared with the control's");
  } else if (!context.is_control()) {
    report.missing.push_back(
        "there is no control arm to compare with (data/reference/recording.sqlite)");
  }
  if (choices == 0) report.missing.push_back("no kernel choice was read back");
  report.figures = {std::move(steps), counted(context, "control.sql", "choices", choices_sql)};
  report.observations = report.figure("steps_compared") + choices;
  report.observed = traced(
      context, "control.sql",
      context.has_reference() ? "SELECT (" + steps_sql + ") + (" + choices_sql + ")" : choices_sql);
}

} // namespace

const Rule control_rule = {"control",
                           "Both arms have the same weights and kernel choices, the choices that "
                           "the profile asks for, and the same steps "
                           "wherever nothing was reloaded.",
                           sentences,
                           tables,
                           queries,
                           judge};

} // namespace hitproof::audit
