// The four answers a rule can give, how they combine, and the bound that goes with "none seen".
//
// A check that saw nothing has not passed: a rule passes only by observations, and everything that
// was missing turns its answer into inconclusive.
#pragma once

#include <cstdint>
#include <string_view>

namespace hitproof::audit {

enum class Verdict { pass, not_applicable, inconclusive, fail };

// "pass", "not_applicable", "inconclusive", "fail": as in JSON and documents.
const char* verdict_name(Verdict verdict) noexcept;
// The same for a sentence: "not applicable".
const char* verdict_words(Verdict verdict) noexcept;

// The worse of two answers; fail is worst, then inconclusive, then pass; not_applicable gives way.
Verdict worse(Verdict a, Verdict b) noexcept;

// Rule of three: where none of `n` independent observations showed a violation, its rate is at most
// 3/n with 95 % confidence. 1 where n is 3 or less: nothing is excluded.
double rule_of_three(std::int64_t n) noexcept;

} // namespace hitproof::audit
