#include <limits>
#include <numeric>

#include "kernels/model/indexer.h"
#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;
using Ids = std::vector<int32_t>;

Ids slow_topk(const Floats& scores, int topk) {
  Ids order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() * 2 : double{scores[i]};
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (std::isnan(scores[a]) || std::isnan(scores[b])) {
      return !std::isnan(scores[a]) && std::isnan(scores[b]);
    }
    return value(a) > value(b);
  });
  order.resize(std::min<size_t>(order.size(), topk));
  std::sort(order.begin(), order.end());
  return order;
}

Ids fast_topk(const Floats& scores, int topk) {
  Ids selected(std::min<size_t>(scores.size(), topk), -5), keys((scores.size() + 15) / 8 * 8);
  const int n = indexer_topk(scores.data(), static_cast<int>(scores.size()), topk, selected.data(),
                             keys.data());
  EXPECT_EQ(n, static_cast<int>(selected.size()));
  return selected;
}

TEST(IndexerTopk, EqualsSortingWithLowerIdFirst) {
  std::mt19937 engine(1);
  for (int trial = 0; trial < 400; ++trial) {
    const int pools = 1 + static_cast<int>(engine() % 300), topk = 1 + static_cast<int>(engine() % 70);
    Floats scores = testing::normal(pools, 200 + trial);
    if (trial % 2 == 0) {
      for (float& s : scores) s = std::max(0.0f, std::round(s * 2) / 2);  // many ties, many zeros
    }
    if (trial % 5 == 0) {
      for (int i = 0; i < pools; i += 3) scores[i] = -0.0f;
    }
    if (trial % 7 == 0) scores[pools / 2] = std::nanf("");
    if (trial % 11 == 0) scores[0] = -std::numeric_limits<float>::infinity();
    ASSERT_EQ(fast_topk(scores, topk), slow_topk(scores, topk)) << trial;
  }
}

TEST(IndexerTopk, Degenerate) {
  EXPECT_EQ(fast_topk(Floats(20, 1.0f), 3), (Ids{0, 1, 2}));
  EXPECT_EQ(fast_topk(Floats(20, std::nanf("")), 3), (Ids{0, 1, 2}));
  EXPECT_EQ(fast_topk(Floats(2, 1.0f), 5), (Ids{0, 1}));
  EXPECT_EQ(fast_topk({}, 5), Ids{});
  EXPECT_EQ(fast_topk({std::numeric_limits<float>::infinity(), 3.0f, -1.0f}, 1), Ids{0});
  EXPECT_EQ(fast_topk({-3.0f, std::numeric_limits<float>::lowest(), -1.0f}, 2), (Ids{0, 2}));
}

struct Scored {
  IndexerShape shape{2, 32, true};
  int pools, rows;
  Floats keys, packed, codes, folded;
  Scored(int pools_, int rows_) : pools(pools_), rows(rows_) {
    const int dim = shape.dim;
    keys = testing::normal(pools * dim, 131);
    packed.assign(indexer_packed_floats(shape, pools), 0.0f);
    const int padded = (pools + 15) / 16 * 16;
    for (int p = 0; p < pools; ++p) {
      for (int i = 0; i < dim; ++i) packed[p / 16 * 16 * dim + i * 16 + p % 16] = keys[p * dim + i];
      packed[padded * dim + p] = 0.5f;
    }
    codes = testing::normal(rows * 2 * dim, 132);
    folded = testing::normal(rows * 2, 133);
  }
};

TEST(IndexerScores, MatchTheFormulaWithNegativeHeadWeights) {
  for (const int rows : {1, 2, 3, 6, 11}) {
    for (const int block : {8, 16, 32}) {
      const Scored s(75, rows);
      const int stride = 80, dim = 32;
      Floats out(rows * stride);
      indexer_scores(s.shape, s.codes.data(), 2 * dim, s.folded.data(), 2, rows, s.packed.data(),
                     s.pools, s.pools, block, out.data(), stride);
      Doubles want(out.size());
      for (int r = 0; r < rows; ++r) {
        for (int p = 0; p < s.pools; ++p) {
          double sum = 0.0;
          for (int h = 0; h < 2; ++h) {
            double dot = 0.0;
            for (int i = 0; i < dim; ++i) {
              dot += double{s.codes[r * 2 * dim + h * dim + i]} * s.keys[p * dim + i];
            }
            sum += s.folded[r * 2 + h] * std::max(0.0, dot);
          }
          want[r * stride + p] = 0.5 * sum;
        }
      }
      EXPECT_LT(testing::relative_error(out, want), 1e-6) << rows << ' ' << block;
    }
  }
}

TEST(IndexerSelect, OnlyCompletePoolsAndTheSameForAnyBatch) {
  const int rows = 40, topk = 5, dim = 32, first = 10;
  const Scored s(20, rows);
  Floats workspace(indexer_select_workspace_floats(s.pools));
  Ids pools(rows * topk, -9), counts(rows);
  indexer_select(s.shape, s.codes.data(), 2 * dim, s.folded.data(), 2, first, nullptr, rows,
                 s.packed.data(), s.pools, topk, 32, pools.data(), topk, counts.data(),
                 workspace.data());
  for (int r = 0; r < rows; ++r) {
    const int64_t t = first + r;
    const int visible = static_cast<int>((t + 1) / 4);
    ASSERT_EQ(visible_pools(t), visible);
    ASSERT_EQ(counts[r], std::min(topk, visible));
    for (int i = 0; i < counts[r]; ++i) {
      EXPECT_LE(4 * pools[r * topk + i] + 3, t);
      if (i > 0) {
        EXPECT_LT(pools[r * topk + i - 1], pools[r * topk + i]);
      }
    }
    Ids one(topk, -9);
    int32_t count;
    indexer_select(s.shape, &s.codes[r * 2 * dim], 2 * dim, &s.folded[r * 2], 2, 0, &t, 1,
                   s.packed.data(), s.pools, topk, 32, one.data(), topk, &count, workspace.data());
    EXPECT_EQ(count, counts[r]);
    EXPECT_TRUE(std::equal(one.begin(), one.begin() + count, &pools[r * topk])) << r;
  }
}

TEST(IndexerExpand, FourTokensAPoolThenTheTail) {
  Ids ids(15, 0);
  const Ids pools = {0, 2};
  EXPECT_EQ(indexer_expand(pools.data(), 2, 13, ids.data(), 15), 10);
  EXPECT_EQ(ids, (Ids{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1, -1}));
  // t mod 4 == 3: no tail; the token itself only through its pool.
  EXPECT_EQ(indexer_expand(pools.data(), 2, 15, ids.data(), 15), 8);
  EXPECT_EQ(ids[8], -1);
  EXPECT_EQ(indexer_expand(nullptr, 0, 0, ids.data(), 15), 1);
  EXPECT_EQ(ids[0], 0);
  EXPECT_EQ(ids[1], -1);
}

TEST(IndexerExpand, EverythingVisibleIsAllCausalTokens) {
  for (int t = 0; t < 23; ++t) {
    Ids pools(5), ids(23), keys(8);
    const Floats scores(8, 0.0f);
    const int n = indexer_topk(scores.data(), visible_pools(t), 5, pools.data(), keys.data());
    ASSERT_EQ(indexer_expand(pools.data(), n, t, ids.data(), 23), t + 1);
    for (int i = 0; i <= t; ++i) EXPECT_EQ(ids[i], i);
  }
}

}  // namespace
}  // namespace hitproof::kernels
