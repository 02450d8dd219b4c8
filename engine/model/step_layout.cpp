#include "engine/model/step_layout.h"

#include <stdexcept>
#include <string>

namespace hitproof::engine {
namespace {

void require(bool holds, const SeqInput& in, const char* what) {
  if (!holds)
    throw std::logic_error("step input of request " + std::to_string(in.request) + ": " + what);
}

void check(const ModelConfig& c, const CacheGeometry& g, const SeqInput& in) {
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
  require(in.tail_block > 0, in, "null tail block");
  for (const StateSlots& s : in.state) {
    require(s.in >= 0 && (s.in > 0 || in.start == 0), in, "no state block to continue from");
    require(s.out[0] > 0 && (in.prefill || rows == 1 || s.out[1] > 0), in,
            "null state block for the result");
  }
}

} // namespace

StepLayout lay_out(const ModelConfig& c, const CacheGeometry& g, std::span<const SeqInput> inputs) {
  StepLayout layout;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SeqInput& in = inputs[i];
    check(c, g, in);
    Segment s;
    s.input = static_cast<int>(i);
    s.row = layout.rows();
    s.rows = static_cast<int>(in.tokens.size());
    s.start = in.start;
    s.prefill = in.prefill;
    s.attn_blocks = in.attn_blocks;
    s.tail_block = in.tail_block;
    s.state = in.state;
    layout.segments.push_back(s);
    for (size_t t = 0; t < in.tokens.size(); ++t) {
      layout.tokens.push_back(in.tokens[t]);
      layout.positions.push_back(in.start + static_cast<int64_t>(t));
    }
  }
  return layout;
}

} // namespace hitproof::engine
