// Preset facts, asked from the engine program so that the command line knows no dimension by
// itself.
#include "cli/command.h"
#include "cli/study/arm.h"

#include <nlohmann/json.hpp>
#include <set>
#include <sys/wait.h>

namespace hitproof::cli {

using nlohmann::json;
using schema::Code;
using schema::Status;

schema::Result<PresetFacts> preset_facts(const std::string& preset, const std::string& device,
                                         const std::string& gpus, uint32_t tp,
                                         const std::string& collectives) {
  ProcessOptions options;
  options.command = {beside_program("hitproof-engine"),
                     "describe",
                     "--preset",
                     preset,
                     "--device",
                     device,
                     "--gpus",
                     gpus,
                     "--tp",
                     std::to_string(tp),
                     "--collectives",
                     collectives};
  options.capture_stdout = true;
  Process engine;
  if (Status s = engine.start(options); !s.ok()) return s;
  std::string text;
  for (std::string line; engine.read_line(&line, 120000);)
    text += line + "\n";
  if (const int status = engine.wait(); WIFEXITED(status) && WEXITSTATUS(status) == exit_usage) {
    return Status(device == "cuda" ? Code::unsupported : Code::invalid_argument,
                  "the engine refuses preset '" + preset + "' with " + std::to_string(tp) +
                      " ranks on device " + device + " (its message is above)");
  } else if (status != 0) {
    return Status(Code::unsupported,
                  "the engine " + describe_exit(status) +
                      " before it could do anything (its message is above): a library is missing, "
                      "or there is too little memory (ulimit -v, or the container's limit)");
  }
  json facts = json::parse(text, nullptr, false);
  if (facts.is_discarded())
    return Status(Code::io_error, "hitproof-engine describe printed something else than JSON");
  PresetFacts result;
  result.checkpoint = facts.value("checkpoint", 0U);
  result.vocabulary = facts.value("vocabulary", 0U);
  result.max_tokens = facts.value("max_tokens", 0U);
  result.checkpoint_bytes =
      facts.value("attention_bytes_per_chunk", 0ULL) + facts.value("state_and_tail_bytes", 0ULL);
  result.end_token = facts.value("end_token", -1);
  result.first_byte_token = facts.value("first_byte_token", -1);
  const auto names = facts.value("device_names", std::set<std::string>());
  for (const auto& name : names)
    result.device_name += (result.device_name.empty() ? "" : ", ") + name;
  result.collectives = facts.value("collectives", std::string());
  const json profile = facts.contains("profile") ? facts["profile"] : json::object();
  for (const auto& [name, value] : profile.items())
    result.profile.emplace_back(name, value.get<std::string>());
  if (result.checkpoint == 0 || result.vocabulary == 0)
    return Status(Code::io_error,
                  "hitproof-engine describe left out the checkpoint interval or the vocabulary");
  return result;
}

} // namespace hitproof::cli
