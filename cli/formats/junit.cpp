// JUnit XML for test dashboards: one suite an archive, one case a rule. A rule that saw too little,
// or has no subject, is skipped with its reason; one that found a violation fails with the witness.
#include "cli/escape.h"
#include "cli/formats/formats.h"

#include <sstream>

namespace hitproof::cli {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list)
    out += (out.empty() ? "" : "; ") + item;
  return out;
}

std::string reason_of(const audit::RuleReport& r) {
  if (r.verdict == audit::Verdict::not_applicable) return "not applicable to this recording";
  std::string why = joined(r.missing);
  for (const audit::Finding& f : r.findings) {
    if (f.effect == audit::Verdict::inconclusive) why += (why.empty() ? "" : "; ") + f.words;
  }
  return "inconclusive: " + why;
}

std::string findings_of(const audit::RuleReport& r, const std::string& database) {
  std::ostringstream text;
  for (const audit::Finding& f : r.findings) {
    text << effect_name(f.effect) << "  " << f.violation << " (" << f.count << ")\n  " << f.words
         << '\n';
    for (const audit::WitnessRecord& w : f.witness)
      text << "    " << w.at_ms << " ms  " << w.words << "  [" << w.table << "]\n";
    if (!f.query.empty()) text << "    sqlite3 " << database << " \"" << f.query << "\"\n";
  }
  return text.str();
}

class JunitOutput : public Document {
 public:
  explicit JunitOutput(std::ostream& stream) : out_(stream) {}

  void archive(const audit::Dossier& d) override {
    int failures = 0, skipped = 0;
    for (const audit::RuleReport& r : d.report.rules) {
      failures += r.verdict == audit::Verdict::fail;
      skipped +=
          r.verdict == audit::Verdict::inconclusive || r.verdict == audit::Verdict::not_applicable;
    }
    const std::string name = xml_text(name_of(d.report));
    std::ostringstream suite;
    suite << " <testsuite name=\"hitproof." << name << "\" tests=\"" << d.report.rules.size()
          << "\" failures=\"" << failures << "\" errors=\"0\" skipped=\"" << skipped << "\">\n"
          << "  <properties>\n";
    property(suite, "archive", d.report.path);
    property(suite, "arm", d.report.arm);
    property(suite, "lookup", d.report.lookup);
    property(suite, "device", d.report.device);
    property(suite, "verdict", audit::verdict_name(d.report.verdict));
    suite << "  </properties>\n";
    for (const audit::RuleReport& r : d.report.rules)
      rule_case(suite, r, name, d.report.path + "/data/recording.sqlite");
    suite << "  <system-out>" << xml_text(d.report.sentence()) << "</system-out>\n </testsuite>\n";
    tests_ += d.report.rules.size();
    failures_ += failures;
    suites_ += suite.str();
  }

  // The totals stand at the top, so the suites wait for the last of them.
  void finish() override {
    out_ << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hitproof\" tests=\""
         << tests_ << "\" failures=\"" << failures_ << "\" errors=\"0\">\n"
         << suites_ << "</testsuites>\n";
  }
  std::string suffix() const override { return "xml"; }

 private:
  static void property(std::ostream& suite, const char* key, const std::string& value) {
    if (value.empty()) return;
    suite << "   <property name=\"" << key << "\" value=\"" << xml_text(value) << "\"/>\n";
  }

  static void rule_case(std::ostream& suite, const audit::RuleReport& r, const std::string& name,
                        const std::string& database) {
    suite << "  <testcase name=\"" << xml_text(r.name) << "\" classname=\"hitproof." << name
          << "\"";
    if (r.verdict == audit::Verdict::pass) {
      suite << "/>\n";
      return;
    }
    suite << ">\n";
    if (r.verdict == audit::Verdict::fail) {
      const audit::Finding* first = nullptr;
      for (const audit::Finding& f : r.findings) {
        if (!first && f.effect == audit::Verdict::fail) first = &f;
      }
      suite << "   <failure type=\"" << xml_text(first ? first->violation : r.name)
            << "\" message=\"" << xml_text(first ? first->words : "violated") << "\">"
            << xml_text(findings_of(r, database)) << "</failure>\n";
    } else {
      suite << "   <skipped message=\"" << xml_text(reason_of(r)) << "\"/>\n";
    }
    suite << "  </testcase>\n";
  }

  std::ostream& out_;
  std::string suites_;
  std::size_t tests_ = 0;
  int failures_ = 0;
};

} // namespace

std::unique_ptr<Output> make_junit_output(std::ostream& stream) {
  return std::make_unique<JunitOutput>(stream);
}

} // namespace hitproof::cli
