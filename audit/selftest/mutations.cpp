#include "audit/selftest/parts.h"

namespace hitproof::audit::selftest {

const char* answer_name(Answer answer) noexcept {
  switch (answer) {
  case Answer::fail:
    return "fail";
  case Answer::inconclusive:
    return "inconclusive";
  case Answer::note:
    return "note";
  case Answer::silence:
    break;
  }
  return "silence";
}

const char* arm_name(Arm arm) noexcept {
  switch (arm) {
  case Arm::candidate:
    return "candidate";
  case Arm::control:
    return "control";
  case Arm::both:
    break;
  }
  return "both";
}

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> list = [] {
    std::vector<Mutation> all;
    for (const auto& part : {mutations_of_pages(), mutations_of_contents(), mutations_of_waits(),
                             mutations_of_boundary(), mutations_of_order(), mutations_of_studies(),
                             mutations_of_evidence(), harmless_changes()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return list;
}

} // namespace hitproof::audit::selftest
