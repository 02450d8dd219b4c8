// The judgement of a recording that was looked at: every rule, and the rows of its reloads.
// Internal to the auditor.
#pragma once

#include "audit/audit.h"
#include "audit/context.h"

#include <chrono>

namespace hitproof::audit {

class Stopwatch {
 public:
  explicit Stopwatch(const Took& took) : took_(took) {}
  // Since the call before.
  void lap(const std::string& part) {
    const auto now = std::chrono::steady_clock::now();
    if (took_) took_(part, std::chrono::duration<double>(now - begin_).count());
    begin_ = now;
  }

 private:
  const Took& took_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Throws AuditError. `context`: its pages are known to be sound.
Report judge_all(Context& context, const Took& took);

} // namespace hitproof::audit
