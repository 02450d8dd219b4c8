// The built-in good archive: a small synthetic study, candidate with its control inside, that every
// rule passes.
#pragma once

#include "audit/selftest/world/study.h"
#include "schema/status.h"

namespace hitproof::audit::selftest {

// Two ranks, lengths around one chunk boundary (N = 255, 256, 257 with chunks of 128).
StudySpec small_spec();
// The same with 9 cache entries a rank instead of 70, every kind and group among them: an eighth of
// the rows, for who audits it hundreds of times.
StudySpec smallest_spec();

// Writes candidate and control studies of `spec` into `dir`, registers a plan in both and closes
// the archive; the control's plan asks for `control_tokens` tokens, the candidate's for 16. Throws
// std::runtime_error where a file cannot be written.
void write_archive(const std::string& dir, StudySpec candidate, bool with_control = true,
                   std::uint32_t control_tokens = 16);

} // namespace hitproof::audit::selftest
