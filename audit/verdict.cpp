#include "audit/verdict.h"

namespace hitproof::audit {

const char* verdict_name(Verdict verdict) noexcept {
  switch (verdict) {
  case Verdict::pass:
    return "pass";
  case Verdict::not_applicable:
    return "not_applicable";
  case Verdict::inconclusive:
    return "inconclusive";
  case Verdict::fail:
    return "fail";
  }
  return "inconclusive";
}

const char* verdict_words(Verdict verdict) noexcept {
  return verdict == Verdict::not_applicable ? "not applicable" : verdict_name(verdict);
}

Verdict worse(Verdict a, Verdict b) noexcept {
  const auto rank = [](Verdict v) {
    switch (v) {
    case Verdict::not_applicable:
      return 0;
    case Verdict::pass:
      return 1;
    case Verdict::inconclusive:
      return 2;
    case Verdict::fail:
      return 3;
    }
    return 2;
  };
  return rank(a) < rank(b) ? b : a;
}

double rule_of_three(std::int64_t n) noexcept {
  return n <= 3 ? 1.0 : 3.0 / static_cast<double>(n);
}

} // namespace hitproof::audit
