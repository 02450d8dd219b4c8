#include "engine/model/preset.h"

#include <bit>
#include <stdexcept>

namespace hitproof::engine {
namespace {

ModelConfig make_micro() {
  ModelConfig c;
  c.name = "micro";
  c.hidden = 32;
  c.vocab = 512;
  c.max_positions = 4096;
  c.kda_heads = 4;
  c.kda_dim = 16;
  c.kda_rank = 8;
  c.mla_heads = 4;
  c.mla_dim = 16;
  c.q_lora = 16;
  c.latent = 8;
  c.latent_tile = 8;
  c.record_padding = 0;
  c.index_heads = 2;
  c.index_dim = 16;
  c.index_topk = 64;
  c.dense_width = 64;
  c.experts = 8;
  c.experts_per_token = 2;
  c.expert_width = 32;
  return c;
}

ModelConfig make_tiny() {
  ModelConfig c;
  c.name = "tiny";
  c.hidden = 64;
  c.vocab = 4096;
  c.max_positions = 32768;
  c.kda_heads = 12;
  c.kda_dim = 64;
  c.kda_rank = 16;
  c.mla_heads = 4;
  c.mla_dim = 32;
  c.q_lora = 32;
  c.latent = 16;
  c.latent_tile = 8;
  c.record_padding = 4;
  c.index_heads = 2;
  c.index_dim = 32;
  c.index_topk = 256;
  c.dense_width = 128;
  c.experts = 16;
  c.experts_per_token = 4;
  c.expert_width = 32;
  return c;
}

// Everything that is cached has the sizes and head counts of the released model (docs/model.md,
// section 1): KDA heads, latent and its tiles, index key, top-k. Hidden size, query heads, experts
// and vocabulary are reduced, so that four ranks fit on one device.
ModelConfig make_paper() {
  ModelConfig c;
  c.name = "paper";
  c.hidden = 512;
  c.vocab = 8192;
  c.max_positions = 32768;
  c.kda_heads = 64;
  c.kda_dim = 128;
  c.kda_rank = 128;
  c.mla_heads = 16;
  c.mla_dim = 128;
  c.q_lora = 256;
  c.latent = 512;
  c.latent_tile = 128;
  c.record_padding = 64;
  c.index_heads = 32;
  c.index_dim = 128;
  c.index_topk = 2048;
  c.dense_width = 1024;
  c.experts = 32;
  c.experts_per_token = 8;
  c.expert_width = 256;
  return c;
}

// The stack that committed reference vectors were made with: narrow, with a top-k that short
// prompts exceed.
ModelConfig make_parity() {
  ModelConfig c = make_micro();
  c.name = "parity";
  c.numerics = Numerics::exact;
  c.vocab = 256;
  c.max_positions = 1024;
  c.kda_heads = 4;
  c.kda_dim = 8;
  c.index_topk = 32;
  // Many index heads: with few, several pools score exactly 0 (every relu closed) and their order
  // is unspecified.
  c.index_heads = 16;
  return c;
}

std::string not_divisible(const char* what, int value, int by) {
  return std::string(what) + " (" + std::to_string(value) + ") is not a multiple of " +
         std::to_string(by);
}

} // namespace

std::vector<std::string> preset_names() { return {"parity", "micro", "tiny", "paper"}; }

ModelConfig find_preset(std::string_view name) {
  if (name == "micro") return make_micro();
  if (name == "tiny") return make_tiny();
  if (name == "paper") return make_paper();
  if (name == "parity") return make_parity();
  std::string message = "unknown preset '" + std::string(name) + "'; known presets:";
  for (const std::string& known : preset_names())
    message += " " + known;
  throw std::invalid_argument(message);
}

std::string check_config(const ModelConfig& c, int tp) {
  if (tp < 1) return "the number of ranks must be at least 1";
  const struct {
    const char* what;
    int value;
  } sharded[] = {{"KDA heads", c.kda_heads},
                 {"MLA heads", c.mla_heads},
                 {"vocabulary", c.vocab},
                 {"dense width", c.dense_width},
                 {"expert width", c.expert_width}};
  for (const auto& s : sharded) {
    if (s.value <= 0 || s.value % tp != 0) return not_divisible(s.what, s.value, tp);
  }
  if (c.layers % 4 == 0 || c.dsa_layers() != 11 || c.kda_layers() != 34) {
    return "the layer pattern must be 34 KDA and 11 DSA layers";
  }
  if (!std::has_single_bit(static_cast<unsigned>(c.index_dim)))
    return "index head size must be a power of two";
  if (c.latent_tile <= 0 || c.latent % c.latent_tile != 0)
    return not_divisible("latent", c.latent, c.latent_tile);
  if (c.index_topk % c.pool != 0) return not_divisible("index top-k", c.index_topk, c.pool);
  if (c.pool != 4 || c.ring != 4) return "pool and ring must be 4";
  if (c.conv_width != 4 || c.streams != 4) return "conv width and residual streams must be 4";
  if (c.experts_per_token > c.experts) return "more experts a token than experts";
  return {};
}

} // namespace hitproof::engine
