#include "engine/model/sampler.h"

#include "engine/model/projection.h"
#include "schema/sha256.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hitproof::engine {

const float* Sampler::shard_logits(const Projection& lm_head, const float* hidden, int rows) {
  float* shard = shard_.get(static_cast<size_t>(rows) * static_cast<size_t>(lm_head.n));
  project(ctx_, lm_head, hidden, lm_head.k, rows, shard, lm_head.n);
  return shard;
}

std::vector<Choice> Sampler::choose(const Projection& lm_head, const float* hidden, int rows) {
  std::vector<Choice> choices(static_cast<size_t>(rows));
  if (rows == 0) return choices;
  const int ranks = ctx_.collectives.size();
  const auto shard = static_cast<size_t>(lm_head.n);
  const auto vocab = static_cast<size_t>(ctx_.config.vocab);
  const float* own = shard_logits(lm_head, hidden, rows);
  const float* all = own;
  if (ranks > 1) {
    float* room = gathered_.get(static_cast<size_t>(rows) * vocab);
    ctx_.collectives.all_gather(own, static_cast<size_t>(rows) * shard * sizeof(float), room);
    all = room;
  }
  logits_.resize(static_cast<size_t>(rows) * vocab);
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    float* row = logits_.data() + r * vocab;
    for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) {
      std::memcpy(row + rank * shard, all + (rank * static_cast<size_t>(rows) + r) * shard,
                  shard * sizeof(float));
    }
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
  struct Best {
    float logit;
    int32_t token;
  };
  const auto count = static_cast<size_t>(rows);
  const auto ranks = static_cast<size_t>(ctx_.collectives.size());
  const float* shard = shard_logits(lm_head, hidden, rows);
  std::vector<Best> own(count);
  for (size_t r = 0; r < count; ++r) {
    const float* row = shard + r * static_cast<size_t>(lm_head.n);
    const float* best = std::max_element(row, row + lm_head.n);
    own[r] = {*best, static_cast<int32_t>(best - row) + ctx_.collectives.rank() * lm_head.n};
  }
  std::vector<Best> all(count * ranks);
  ctx_.collectives.all_gather(own.data(), count * sizeof(Best), all.data());
  std::vector<int32_t> tokens(count);
  for (size_t r = 0; r < count; ++r) {
    Best best = all[r];
    for (size_t rank = 1; rank < ranks; ++rank) {
      const Best& other = all[rank * count + r];
      if (other.logit > best.logit) best = other; // equal: the lower rank has the lower id
    }
    tokens[r] = best.token;
  }
  return tokens;
}

std::span<const float> Sampler::logits(int row) const {
  const auto vocab = static_cast<size_t>(ctx_.config.vocab);
  return {logits_.data() + static_cast<size_t>(row) * vocab, vocab};
}

const float* share_rows(ModelContext& ctx, const RowGroup& rows, const float* own, int columns,
                        std::span<const int> wanted, Scratch<float>& room) {
  const auto width = static_cast<size_t>(columns);
  float* out = room.get(wanted.size() * width);
  std::fill_n(out, wanted.size() * width, 0.0f);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int at = wanted[i] - rows.first();
    if (at < 0 || at >= rows.count()) continue;
    std::memcpy(out + i * width, own + static_cast<size_t>(at) * width, width * sizeof(float));
  }
  // One rank holds the row and the others hold zeros: the sum is the row.
  if (!rows.replicated() && !wanted.empty())
    ctx.collectives.all_reduce(out, static_cast<int>(wanted.size() * width));
  return out;
}

} // namespace hitproof::engine
