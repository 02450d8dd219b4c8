// The auditor's own controls as data: how to break a good study, and what must then be found.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace hitproof::audit::testing {

struct Mutation {
  const char* name;
  const char* rule;      // family that must answer
  const char* violation; // what it must say; null for a harmless change
  bool fails;            // the rule must fail; otherwise it must be inconclusive
  const char* sql;
  bool reference = false; // the change is made in the control arm's recording
};

inline void PrintTo(const Mutation& m, std::ostream* out) { *out << m.name; }

// At least one must-fail control and one harmless change for each rule.
const std::vector<Mutation>& mutations();

} // namespace hitproof::audit::testing
