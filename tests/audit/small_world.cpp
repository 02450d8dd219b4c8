// Hands the auditor's controls to tests in other languages: writes the smallest good study, or
// lists the mutations that are SQL on one recording, one a line: name, rule, violation ("-" for a
// harmless change), arm, SQL, separated by tabs.
#include "audit/selftest/mutation.h"
#include "audit/selftest/world/small.h"

#include <cstdio>
#include <cstring>
#include <exception>

namespace {

int usage() {
  std::fprintf(stderr, "usage: audit_small_world --mutations | DIRECTORY\n");
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  namespace selftest = hitproof::audit::selftest;
  if (argc != 2) return usage();
  if (std::strcmp(argv[1], "--mutations") != 0 && argv[1][0] == '-') return usage();
  try {
    if (std::strcmp(argv[1], "--mutations") != 0) {
      selftest::write_archive(argv[1], selftest::smallest_spec());
      return 0;
    }
    for (const selftest::Mutation& m : selftest::mutations()) {
      if (m.rule == "all" || m.sql.empty() || m.further.arm == selftest::Arm::both) continue;
      std::printf("%s\t%s\t%s\t%s\t%s\n", m.name.c_str(), m.rule.c_str(),
                  m.harmless() ? "-" : m.violation.c_str(), arm_name(m.further.arm), m.sql.c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "audit_small_world: %s\n", error.what());
    return 1;
  }
  return 0;
}
