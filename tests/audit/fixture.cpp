#include "tests/audit/fixture.h"

#include "schema/recording.h"

#include <filesystem>
#include <stdexcept>

namespace hitproof::audit::testing {
namespace fs = std::filesystem;

namespace {

void check(const schema::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.to_string());
}

class Made {
 public:
  explicit Made(const StudySpec& spec) { write_archive(dir_.path(), spec); }
  void copy_to(const std::string& dir) const {
    fs::copy(dir_.path(), dir, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

 private:
  ScratchDir dir_;
};

} // namespace

void copy_good_study(const std::string& dir) {
  static const Made good(small_spec());
  good.copy_to(dir);
}

void copy_smallest_study(const std::string& dir) {
  static const Made smallest(selftest::smallest_spec());
  smallest.copy_to(dir);
}

void change(const std::string& dir, const std::string& sql, bool reference) {
  const std::string path = dir + (reference ? "/data/reference" : "/data") + "/recording.sqlite";
  auto recording = schema::Recording::open_file(path, schema::Access::read_write);
  check(recording.status());
  check(recording->execute(sql));
}

Report audit_or_throw(const std::string& dir, bool refuse_damaged) {
  auto report = audit_archive(dir, Options{refuse_damaged});
  check(report.status());
  return std::move(report).value();
}

std::string findings_of(const Report& report) {
  std::string out;
  for (const RuleReport& r : report.rules) {
    for (const std::string& m : r.missing)
      out += r.name + ": " + m + "\n";
    for (const Finding& f : r.findings) {
      out += r.name + ": " + f.violation + " (" + verdict_name(f.effect) + ") x" +
             std::to_string(f.count) + ": " + f.words + "\n";
    }
  }
  return out;
}

bool has_finding(const Report& report, const std::string& rule, const std::string& violation) {
  const RuleReport* r = report.rule(rule);
  if (!r) return false;
  for (const Finding& f : r->findings) {
    if (f.violation == violation) return true;
  }
  return false;
}

} // namespace hitproof::audit::testing
