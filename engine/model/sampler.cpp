#include "engine/model/sampler.h"

#include "engine/model/projection.h"
#include "schema/sha256.h"

#include <algorithm>
#include <limits>

namespace hitproof::engine {

const float* Sampler::shard_logits(const Projection& lm_head, const float* hidden, int rows) {
  float* shard = shard_.get(ctx_, static_cast<size_t>(rows) * static_cast<size_t>(lm_head.n));
  project(ctx_, lm_head, hidden, lm_head.k, rows, shard, lm_head.n);
  return shard;
}

// Rows over the whole vocabulary, in host memory.
void Sampler::fetch_logits(const Projection& lm_head, const float* hidden, int rows) {
  const kernels::ModelKernels& k = ctx_.kernels;
  const int ranks = ctx_.collectives.size();
  const int shard = lm_head.n;
  const int vocab = ctx_.config.vocab;
  const size_t cells = static_cast<size_t>(rows) * static_cast<size_t>(vocab);
  const float* whole = shard_logits(lm_head, hidden, rows);
  if (ranks > 1) {
    float* all = gathered_.get(ctx_, cells);
    const ptrdiff_t part = static_cast<ptrdiff_t>(rows) * shard;
    ctx_.collectives.all_gather(whole, static_cast<size_t>(part) * sizeof(float), all);
    float* joined = rows_.get(ctx_, cells);
    for (int rank = 0; rank < ranks; ++rank) {
      k.copy_rows(ctx_.stream, all + rank * part, shard, rows, shard,
                  joined + static_cast<ptrdiff_t>(rank) * shard, vocab);
    }
    whole = joined;
  }
  k.to_host(ctx_.stream, logits_.get(ctx_, cells), whole, cells * sizeof(float));
  ctx_.synchronize();
}

std::vector<Choice> Sampler::choose(const Projection& lm_head, const float* hidden, int rows) {
  std::vector<Choice> choices(static_cast<size_t>(rows));
  if (rows == 0) return choices;
  const auto vocab = static_cast<size_t>(ctx_.config.vocab);
  fetch_logits(lm_head, hidden, rows);
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    const float* row = logits_.data() + r * vocab;
    const auto best = std::max_element(row, row + vocab); // the first of equals
    float second = -std::numeric_limits<float>::infinity();
    for (const float* x = row; x < row + vocab; ++x) {
      if (x != best) second = std::max(second, *x);
    }
    choices[r].token = static_cast<int32_t>(best - row);
    choices[r].margin = *best - second;
    choices[r].logits_sha256 = schema::sha256(row, vocab * sizeof(float));
  }
  return choices;
}

std::vector<int32_t> Sampler::draft(const Projection& lm_head, const float* hidden, int rows) {
  const kernels::ModelKernels& k = ctx_.kernels;
  const auto count = static_cast<size_t>(rows);
  const auto ranks = static_cast<size_t>(ctx_.collectives.size());
  const float* shard = shard_logits(lm_head, hidden, rows);
  kernels::RowBest* best = best_.get(ctx_, count);
  k.best_tokens(ctx_.stream, shard, lm_head.n, rows, lm_head.n, ctx_.collectives.rank() * lm_head.n,
                best);
  if (ranks > 1) {
    kernels::RowBest* all = all_best_.get(ctx_, count * ranks);
    ctx_.collectives.all_gather(best, count * sizeof(kernels::RowBest), all);
    best = all;
  }
  kernels::RowBest* candidates = candidates_.get(ctx_, count * ranks);
  k.to_host(ctx_.stream, candidates, best, count * ranks * sizeof(kernels::RowBest));
  ctx_.synchronize();

  std::vector<int32_t> tokens(count);
  for (size_t r = 0; r < count; ++r) {
    kernels::RowBest chosen = candidates[r];
    for (size_t rank = 1; rank < ranks; ++rank) {
      const kernels::RowBest& other = candidates[rank * count + r];
      if (other.best > chosen.best) chosen = other; // equal: the lower rank has the lower id
    }
    tokens[r] = chosen.token;
  }
  return tokens;
}

std::span<const float> Sampler::logits(int row) const {
  const auto vocab = static_cast<size_t>(ctx_.config.vocab);
  return {logits_.data() + static_cast<size_t>(row) * vocab, vocab};
}

const float* share_rows(ModelContext& ctx, const RowGroup& rows, const float* own, int columns,
                        const int32_t* places, int count, Scratch<float>& room) {
  const size_t cells = static_cast<size_t>(count) * static_cast<size_t>(columns);
  float* out = room.get(ctx, cells);
  ctx.kernels.gather_rows(ctx.stream, own, columns, places, count, columns, out, columns);
  // One rank holds the row and the others hold zeros: the sum is the row.
  if (!rows.replicated() && count > 0) ctx.collectives.all_reduce(out, static_cast<int>(cells));
  return out;
}

} // namespace hitproof::engine
