// What a plan must obey beyond syntax. Internal to the plan.
#pragma once

#include "schema/plan.h"

#include <optional>
#include <string>

namespace hitproof::schema {

struct PlanComplaint {
  std::string key; // of the TOML text, for example "study.lengths"
  Code code;
  std::string message;
};

// The first rule that the plan breaks.
std::optional<PlanComplaint> find_complaint(const Plan& plan);

} // namespace hitproof::schema
