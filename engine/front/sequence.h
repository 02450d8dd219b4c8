// One request as the scheduler sees it: its tokens, what of them is computed, and the blocks it
// owns.
#pragma once

#include "engine/front/prefix_hash.h"
#include "engine/model/geometry.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hitproof::engine {

inline constexpr int attention_group = 0;
inline constexpr int tail_group = 1;
inline constexpr int first_state_group = 2;

enum class FinishReason { none, length, stop, aborted };

/// A kept state page: the recurrence over the first `boundary` tokens.
struct Checkpoint {
  int32_t boundary = 0;
  int32_t block = 0;
};

/// State pages of one state group. Two working pages take turns: a decode step with a draft leaves
/// the state after its first token in one and after the draft in the other. A page at a multiple of
/// the block size is never written again; the computation goes on in the working pages.
struct StatePages {
  int32_t running = 0; // page that holds the state after `computed` tokens, 0 = fresh zero state
  std::array<int32_t, 2> working{};
  std::vector<Checkpoint> checkpoints;
  int32_t next_checkpoint = 0; // taken for the next boundary; holds nothing valid yet

  /// The kept page for a boundary, or 0.
  int32_t checkpoint(int32_t boundary) const {
    for (const Checkpoint& c : checkpoints)
      if (c.boundary == boundary) return c.block;
    return 0;
  }
};

/// A restore from the external cache that the sequence's first step carries out.
struct PendingLoad {
  int32_t token_begin = 0; // found on the device already
  int32_t boundary = 0; // B: tokens that the restored state represents; 0 where nothing is loaded
  std::array<int32_t, num_state_groups> state{};
};

struct Sequence {
  uint64_t id = 0;
  std::string tag;
  std::vector<int32_t> tokens; // prompt, then what was generated
  int32_t prompt_tokens = 0;
  int32_t max_tokens = 0;
  bool ignore_eos = false;

  int32_t computed = 0; // tokens whose cache entries stand
  int32_t prefill_end =
      0;              // computed by prefill chunks up to here (a resumed sequence: past its prompt)
  int32_t draft = -1; // proposed token after the last one
  std::vector<int32_t> attention;
  int32_t tail = 0;
  std::array<StatePages, num_state_groups> state;
  PendingLoad load;

  std::vector<PrefixHash> hashes;
  int32_t cached_tokens = 0; // credited at the first admission, for the usage report
  int32_t preemptions = 0;
  uint64_t lookup = 0; // external lookup of the latest admission, 0 where none
  FinishReason finish = FinishReason::none;

  int32_t length() const { return static_cast<int32_t>(tokens.size()); }
  int32_t generated() const { return length() - prompt_tokens; }
  int32_t remaining() const { return max_tokens - generated(); }
  bool prefilling() const { return computed < prefill_end; }
};

} // namespace hitproof::engine
