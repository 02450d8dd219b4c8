// One page for people: verdict in words, what was checked, figures, findings with their records,
// and how to check each claim. Everything is inside the file; it loads nothing.
#include "audit/shown_paths.h"
#include "audit/tables.h"
#include "audit/trace.h"
#include "cli/escape.h"
#include "cli/formats/figures.h"
#include "cli/formats/formats.h"
#include "cli/formats/html_parts.h"
#include "cli/formats/svg.h"
#include "schema/shell_word.h"

namespace hitproof::cli {
namespace {

std::string mark_of(audit::Verdict v) {
  return std::string("<span class=\"mark ") + audit::verdict_name(v) + "\">" +
         audit::verdict_words(v) + "</span>";
}

// Wide content scrolls in its own box; the page never does.
std::string boxed(const std::string& figure, const char* classes, const std::string& caption) {
  return std::string("<figure class=\"") + classes + "\" tabindex=\"0\">" + figure +
         "<figcaption>" + caption + "</figcaption></figure>\n";
}

class HtmlOutput : public Document {
 public:
  explicit HtmlOutput(std::ostream& stream) : out_(stream) {}

  void archive(const audit::Dossier& d) override {
    begin();
    ++archives_;
    const audit::Report& r = d.report;
    out_ << "<article>\n<header class=\"" << audit::verdict_name(r.verdict)
         << "\">\n<p class=\"kind\">" << xml_text(r.path) << "</p>\n<h1>" << xml_text(r.sentence())
         << "</h1>\n<p>" << xml_text(conditions_of(d)) << "</p>\n</header>\n";
    rules(d);
    figures(d);
    findings(d);
    paths(d);
    tables(d);
    recheck(d);
    out_ << "</article>\n";
  }

  void finish() override {
    begin();
    out_ << "</main>\n<footer><p>Made by hitproof " HITPROOF_VERSION
            " from the archives named above. "
            "A verdict covers what was observed; where nothing was observed, nothing has "
            "passed.</p></footer>\n</body></html>\n";
  }
  std::string suffix() const override { return "html"; }

 private:
  void begin() {
    if (begun_) return;
    begun_ = true;
    out_ << html_head();
  }

  void rules(const audit::Dossier& d) {
    out_ << "<section><h2>What was checked</h2>\n<ul class=\"rules\">\n";
    for (const audit::RuleReport& r : d.report.rules) {
      out_ << "<li><div class=\"top\"><strong>" << xml_text(r.name) << "</strong>"
           << mark_of(r.verdict) << "</div><p>" << xml_text(r.proves) << "</p><p class=\"soft\">"
           << audit::grouped(r.observations) << " observations";
      if (r.verdict == audit::Verdict::pass)
        out_ << "; a violation rate above " << rough_number(r.bound)
             << " would have shown itself (95 %)";
      out_ << "</p>";
      for (const std::string& m : r.missing)
        out_ << "<p class=\"missing\">Missing: " << xml_text(m) << "</p>";
      out_ << figures_of_rule(d.report, r) << "</li>\n";
    }
    out_ << "</ul></section>\n";
  }

  void figures(const audit::Dossier& d) {
    out_ << "<section><h2>Figures</h2>\n";
    if (!d.report.reloads.empty())
      out_ << boxed(svg_of(boundary_figure(d)), "plain",
                    "Where each reload resumed. A dot inside its square: B = p.");
    if (!d.coverage.cells.empty())
      out_ << boxed(svg_of(coverage_figure(d)), "plain",
                    "Every registered entry on every rank, saves above, loads below." +
                        query_box(d.report.path, d.coverage.trace));
    if (!d.timeline.slices.empty())
      out_ << boxed(svg_of(timeline_figure(d)), "wide",
                    "When it happened. Times from the recording's begin.");
    if (!d.timings.groups.empty())
      out_ << boxed(svg_of(timings_figure(d)), "plain",
                    "Points, medians, and ranges from least to greatest." + timing_boxes(d));
    out_ << "</section>\n";
  }

  void findings(const audit::Dossier& d) {
    out_ << "<section><h2>Findings</h2>\n";
    bool any = false;
    for (const audit::RuleReport& r : d.report.rules) {
      for (const audit::Finding& f : r.findings) {
        any = true;
        out_ << finding_part(d.report, f, svg_of(witness_figure(f)));
      }
    }
    if (!any) out_ << "<p>No rule found a violation, and none left a note.</p>\n";
    out_ << "</section>\n";
  }

  void paths(const audit::Dossier& d) {
    for (const audit::RuleReport& r : d.report.rules) {
      if (r.paths.empty()) continue;
      out_ << "<section><h2>Paths that prove the order</h2>\n<p>"
           << xml_text(audit::scope_of_paths(r)) << "</p>\n";
      for (const audit::OrderPath& p : r.paths)
        out_ << path_part(p, svg_of(path_figure(p, d.timeline)));
      out_ << "<p>All of their records: " << command("hitproof audit " + d.report.path + " --json")
           << "</p></section>\n";
    }
  }

  void tables(const audit::Dossier& d) {
    out_ << "<section><h2>Tables</h2>\n";
    for (const audit::Table& t : d.tables) {
      const bool shown_above = t.id == "findings" || t.id == "order_paths";
      if (!shown_above && !t.rows.empty()) out_ << table_part(d.report.path, t);
    }
    out_ << "</section>\n";
  }

  void recheck(const audit::Dossier& d) {
    out_ << "<section><h2>How to check this yourself</h2>\n<ol class=\"recheck\">\n"
         << "<li>The files are the ones that were written: "
         << command("hitproof verify " + d.report.path)
         << "</li>\n<li>The verdicts follow from the records: "
         << command("hitproof audit " + d.report.path) << "</li>\n";
    for (const audit::RuleReport& r : d.report.rules) {
      out_ << "<li>Violations of rule " << xml_text(r.name) << ", none where it holds: "
           << command("hitproof audit --sql " + r.name + " | sqlite3 -readonly " +
                      schema::shell_word(d.report.path + "/data/recording.sqlite"))
           << "</li>\n";
    }
    out_ << "</ol></section>\n";
  }

  std::ostream& out_;
  bool begun_ = false;
  int archives_ = 0;
};

} // namespace

std::unique_ptr<Output> make_html_output(std::ostream& stream) {
  return std::make_unique<HtmlOutput>(stream);
}

} // namespace hitproof::cli
