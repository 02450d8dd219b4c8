// The dimensions of a model, and the named sets of them.
//
// Promises: every preset has the true layer pattern of the released model (45 layers, KDA
// everywhere except sparse MLA at 3, 7, ..., 43; three dense feed-forwards, then experts; one
// multi-token-prediction layer), and dimensions for which the page-size formula pads the state
// page. What differs is width only.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::engine {

/// How numbers are held between tokens. `encoded` is the serving format; `exact` keeps every cache
/// in fp32 and leaves out Hadamard and quantisation, for comparison with a reference
/// implementation.
enum class Numerics { encoded, exact };

struct ModelConfig {
  std::string name;
  Numerics numerics = Numerics::encoded;
  int hidden = 0;
  int vocab = 0;
  int max_positions = 0; ///< prompt and generated tokens together

  int layers = 45;
  int dense_layers = 3;

  int kda_heads = 0; ///< over all ranks
  int kda_dim = 0;   ///< head size, key and value alike
  int kda_rank = 0;  ///< inner size of the two low-rank gates
  int conv_width = 4;
  float gate_lower_bound = -5.0f;

  int mla_heads = 0; ///< over all ranks
  int mla_dim = 0;   ///< head size of query, key and value
  int q_lora = 0;
  int latent = 0;         ///< cached values of a token
  int latent_tile = 0;    ///< values under one e4m3 scale
  int record_padding = 0; ///< BF16 zeros at a record's end, where the kernels expect rotary values

  int index_heads = 0;
  int index_dim = 0;
  int index_topk = 0; ///< tokens; index_topk / pool of them are chosen as whole pools
  int pool = 4;
  int ring = 4; ///< tail slots of a request

  int dense_width = 0;
  int experts = 0;
  int experts_per_token = 0;
  int expert_width = 0;
  float routed_scale = 2.5f;
  float swiglu_limit = 10.0f;

  int streams = 4;
  int sinkhorn_rounds = 20;
  float hc_eps = 1e-6f;
  float rms_eps = 1e-5f;
  float norm_eps = 1e-6f; ///< LayerNorm of indexer keys, l2 norm of KDA queries and keys

  static constexpr int mtp_layer = 45;

  bool is_dsa(int layer) const { return layer == mtp_layer || layer % 4 == 3; }
  int dsa_layers() const { return layers / 4; }
  int kda_layers() const { return layers - dsa_layers(); }
  /// Position of a layer among those of its kind: DSA 0..10 and MTP 11; KDA 0..33.
  int kind_index(int layer) const {
    if (layer == mtp_layer) return dsa_layers();
    return is_dsa(layer) ? layer / 4 : layer - layer / 4;
  }
  int top_pools() const { return index_topk / pool; }
  bool exact() const { return numerics == Numerics::exact; }

  /// Bytes of one token's MLA record.
  int record_bytes() const {
    if (exact()) return latent * 4;
    return latent + 4 * (latent / latent_tile) + 2 * record_padding;
  }
  /// Bytes of one pooled indexer key, its scale included.
  int pooled_key_bytes() const { return exact() ? index_dim * 4 : index_dim + 4; }
  /// Bytes of an element of the conv history and of the tail.
  int history_element_bytes() const { return exact() ? 4 : 2; }
};

/// The preset of that name. Throws std::invalid_argument, naming the known presets, if there is
/// none.
ModelConfig find_preset(std::string_view name);

/// Names that find_preset knows, smallest model first.
std::vector<std::string> preset_names();

/// What is wrong with a set of dimensions at `tp` ranks (not divisible, not a power of two, ...);
/// empty where all is well.
std::string check_config(const ModelConfig& config, int tp);

} // namespace hitproof::engine
