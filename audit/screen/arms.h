// Arm against arm: the generations of candidate and control whose steps are not plainly alike.
#pragma once

#include "audit/screen/screen.h"

namespace hitproof::audit::screen {

// Plans control_arms.sql over these generations alone. None where there is no control arm, or where
// its recording is of a form that is left to the statements.
std::optional<Plan> plan_arms(Context& context, const schema::TableMap& candidate);

// The body of a common table expression replaced by another query; empty where it is not found.
std::string with_body(const std::string& sql, const std::string& name, const std::string& body);

} // namespace hitproof::audit::screen
