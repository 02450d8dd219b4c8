#include "engine/describe.h"

#include "engine/front/tokenizer.h"
#include "engine/model/geometry.h"
#include "engine/model/preset.h"
#include "engine/model/profile.h"

#include <nlohmann/json.hpp>

namespace hitproof::engine {

std::string describe_preset(const std::string& preset, int tp,
                            const std::vector<std::string>& device_names,
                            const std::string& collectives) {
  using nlohmann::ordered_json;
  const ModelConfig config = find_preset(preset);
  const CacheGeometry geometry(config, tp, 1);
  ordered_json profile = ordered_json::object();
  for (const auto& choice : KernelProfile::recorded().choices)
    profile[choice.name] = choice.value;
  ordered_json facts = {
      {"preset", preset},
      {"tp", tp},
      {"checkpoint", geometry.block_tokens},
      {"vocabulary", config.vocab},
      {"max_tokens", config.max_positions},
      {"end_token", end_token},
      {"entries", geometry.entries.size()},
      {"mla_page_bytes", geometry.mla_page},
      {"indexer_page_bytes", geometry.index_page},
      {"state_content_bytes", geometry.state_bytes},
      {"tail_bytes", geometry.tail_bytes},
      {"attention_bytes_per_chunk", geometry.attention_bytes()},
      {"state_and_tail_bytes", geometry.state_and_tail_bytes()},
      {"profile", profile},
      {"device_names", device_names},
      {"collectives", collectives},
  };
  if (encodes_text(config.vocab)) facts["first_byte_token"] = first_byte_token;
  return facts.dump(2);
}

} // namespace hitproof::engine
