// Preset facts, asked from the engine program so that the command line knows no dimension by itself.
#include <nlohmann/json.hpp>

#include "cli/study/arm.h"

namespace hitproof::cli {

using nlohmann::json;
using schema::Code;
using schema::Status;

schema::Result<PresetFacts> preset_facts(const std::string& preset) {
  ProcessOptions options;
  options.command = {beside_program("hitproof-engine"), "describe", "--preset", preset};
  options.capture_stdout = true;
  Process engine;
  if (Status s = engine.start(options); !s.ok()) return s;
  std::string text;
  for (std::string line; engine.read_line(&line, 120000);) text += line + "\n";
  if (engine.wait() != 0)
    return Status(Code::invalid_argument, "the engine does not know preset '" + preset + "' (its message is above)");
  json facts = json::parse(text, nullptr, false);
  if (facts.is_discarded()) return Status(Code::io_error, "hitproof-engine describe printed something else than JSON");
  PresetFacts result;
  result.checkpoint = facts.value("checkpoint", 0U);
  result.vocabulary = facts.value("vocabulary", 0U);
  result.max_tokens = facts.value("max_tokens", 0U);
  const json profile = facts.contains("profile") ? facts["profile"] : json::object();
  for (const auto& [name, value] : profile.items()) result.profile.emplace_back(name, value.get<std::string>());
  if (result.checkpoint == 0 || result.vocabulary == 0)
    return Status(Code::io_error, "hitproof-engine describe left out the checkpoint interval or the vocabulary");
  return result;
}

}  // namespace hitproof::cli
