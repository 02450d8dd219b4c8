#include "audit/diff.h"

#include "audit/diff_parts.h"

#include <algorithm>

namespace hitproof::audit {
namespace {

void compare_records(const std::string& part, Context& a, Context& b, Differences& out) {
  if (part == "tokens") compare_tokens(a, b, out);
  if (part == "plan") compare_plans(a, b, out);
  if (part == "versions") compare_versions(a, b, out);
  if (part == "environment") compare_environment(a, b, out);
}

void compare_reports(const std::string& part, const Report& a, const Report& b, Differences& out) {
  if (part == "verdicts") compare_verdicts(a, b, out);
  if (part == "figures") compare_figures(a, b, out);
  if (part == "findings") compare_findings(a, b, out);
  if (part == "boundary") compare_boundary(a, b, out);
}

} // namespace

const std::vector<std::string>& diff_parts() {
  static const std::vector<std::string> parts = {"verdicts", "figures", "findings", "boundary",
                                                 "tokens",   "plan",    "versions", "environment"};
  return parts;
}

schema::Result<std::vector<Difference>> diff_archives(const std::string& a, const std::string& b,
                                                      const std::vector<std::string>& parts,
                                                      const Options& options) {
  const auto first = audit_archive(a, options);
  if (!first.ok()) return first.status();
  const auto second = audit_archive(b, options);
  if (!second.ok()) return second.status();
  Differences out;
  try {
    Context in_a(a), in_b(b);
    for (const std::string& part : diff_parts()) {
      if (!parts.empty() && std::find(parts.begin(), parts.end(), part) == parts.end()) continue;
      compare_reports(part, *first, *second, out);
      compare_records(part, in_a, in_b, out);
    }
  } catch (const AuditError& e) {
    return e.status();
  }
  return out;
}

} // namespace hitproof::audit
