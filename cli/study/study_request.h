// The command lines of `hitproof study`: one form of options a kind of study, filled in from the
// same words.
#pragma once

#include "cli/study/study.h"

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace hitproof::cli {

// What was asked for.
struct StudyRequest {
  StudyOptions options;
  std::string out, arms = "both", order = "off-on";
  int repetitions = 1;
};

// Adds `hitproof study <kind>` below `app`; its values go to the request that is returned.
struct StudyForm {
  CLI::App* app = nullptr;
  std::unique_ptr<StudyRequest> request;
};
StudyForm add_study_form(CLI::App& app, const std::string& kind, const std::string& words,
                         const std::string& examples);

} // namespace hitproof::cli
