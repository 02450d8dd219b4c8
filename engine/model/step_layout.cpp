#include "engine/model/step_layout.h"

#include <stdexcept>
#include <string>

namespace hitproof::engine {
namespace {

void require(bool holds, const SeqInput& in, const char* what) {
  if (!holds)
    throw std::logic_error("step input of request " + std::to_string(in.request) + ": " + what);
}

void check(const ModelConfig& c, const CacheGeometry& g, bool device, const SeqInput& in) {
  const auto rows = static_cast<int64_t>(in.tokens.size());
  require(rows > 0, in, "no tokens");
  require(in.start >= 0 && in.start + rows <= c.max_positions, in,
          "positions beyond the model's limit");
  require(in.prefill || rows == (in.last_is_draft ? 2 : 1), in,
          "a decode step has one token, or two with a draft");
  require(!in.prefill || !in.last_is_draft, in, "a prefill chunk has no draft");
  for (const int32_t t : in.tokens)
    require(t >= 0 && t < c.vocab, in, "token id outside the vocabulary");
  require(in.next_token < c.vocab, in, "next token outside the vocabulary");
  const int64_t blocks = (in.start + rows + g.block_tokens - 1) / g.block_tokens;
  require(static_cast<int64_t>(in.attn_blocks.size()) >= blocks, in, "too few attention blocks");
  for (int64_t i = 0; i < blocks; ++i)
    require(in.attn_blocks[static_cast<size_t>(i)] > 0, in, "null attention block");
  require(!device || (in.tokens_device != nullptr && in.attn_blocks_device != nullptr), in,
          "tokens and attention blocks are not on the device");
  require(in.tail_block > 0, in, "null tail block");
  for (const StateSlots& s : in.state) {
    require(s.in >= 0 && (s.in > 0 || in.start == 0), in, "no state block to continue from");
    require(s.out[0] > 0 && (in.prefill || rows == 1 || s.out[1] > 0), in,
            "null state block for the result");
  }
}

} // namespace

StepLayout lay_out(const ModelConfig& c, const CacheGeometry& g, bool device,
                   std::span<const SeqInput> inputs) {
  StepLayout layout;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SeqInput& in = inputs[i];
    check(c, g, device, in);
    Segment s;
    s.input = static_cast<int>(i);
    s.row = layout.rows();
    s.rows = static_cast<int>(in.tokens.size());
    s.start = in.start;
    s.prefill = in.prefill;
    s.tokens = in.tokens_device != nullptr ? in.tokens_device : in.tokens.data();
    s.attn_blocks =
        in.attn_blocks_device != nullptr ? in.attn_blocks_device : in.attn_blocks.data();
    s.tail_block = in.tail_block;
    s.state = in.state;
    layout.segments.push_back(s);
  }
  return layout;
}

} // namespace hitproof::engine
