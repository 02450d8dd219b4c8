#include "audit/dossier.h"

#include "audit/study_tables.h"
#include "audit/tables.h"
#include "audit/trials.h"

namespace hitproof::audit {

schema::Result<Dossier> make_dossier(const std::string& dir, const DossierOptions& options) {
  auto report = audit_archive(dir, Options{options.refuse_damaged});
  if (!report.ok()) return report.status();
  Dossier d;
  d.report = std::move(report).value();
  d.tables = report_tables(d.report);
  try {
    Context context(dir);
    auto facts = context.query("SELECT key, value FROM recording");
    while (facts.next())
      d.facts[facts.text(0)] = facts.text(1);
    require(facts.status());
    d.tables.push_back(conditions_table(context, d.report));
    d.tables.push_back(numerical_control_table(context, d.report));
    d.tables.push_back(continuation_table(context, d.report));
    if (Table cases = continuation_cases_table(context); !cases.rows.empty())
      d.tables.push_back(std::move(cases));
    if (options.timings) {
      d.timings = read_timings(context);
      if (!d.timings.points.empty()) d.tables.push_back(d.timings.table);
      if (Table trials = trials_table(context); !trials.rows.empty())
        d.tables.push_back(std::move(trials));
    }
    if (options.coverage) {
      d.coverage = read_coverage(context);
      d.tables.push_back(d.coverage.groups);
    }
    if (options.slices > 0) {
      d.timeline = read_timeline(context, options.slices);
      add_paths(d.timeline, d.report);
    }
  } catch (const AuditError& e) {
    return e.status();
  }
  return d;
}

} // namespace hitproof::audit
