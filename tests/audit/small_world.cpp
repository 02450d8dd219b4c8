// Hands the auditor's controls to tests in other languages: writes the good small study, or lists
// the mutations, one a line: name, rule, violation ("-" for a harmless change), arm, SQL, separated
// by tabs.
#include "tests/audit/fixture.h"
#include "tests/audit/mutations.h"

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
  namespace testing = hitproof::audit::testing;
  if (argc != 2) return usage();
  if (std::strcmp(argv[1], "--mutations") != 0 && argv[1][0] == '-') return usage();
  try {
    if (std::strcmp(argv[1], "--mutations") != 0) {
      testing::copy_good_study(argv[1]);
      return 0;
    }
    for (const testing::Mutation& m : testing::mutations()) {
      std::printf("%s\t%s\t%s\t%s\t%s\n", m.name, m.rule, m.violation ? m.violation : "-",
                  m.reference ? "control" : "candidate", m.sql);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "audit_small_world: %s\n", error.what());
    return 1;
  }
  return 0;
}
