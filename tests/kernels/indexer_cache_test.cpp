#include "kernels/model/indexer.h"

#include <bit>

#include "kernels/model/numeric.h"
#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

constexpr int block_tokens = 256;  // 64 states
constexpr int ring = 4;

struct Cache {
  IndexerShape shape;
  std::vector<uint8_t> pages, tail;
  std::vector<int32_t> table = {3, 0, 2};
  Floats ape;

  explicit Cache(IndexerShape s) : shape(s) {
    pages.assign(4 * index_block_bytes(s, block_tokens), 0);
    tail.assign(size_t{2} * ring * s.dim * 4, 0);
    ape = testing::normal(4 * s.dim, 111);
  }
  PagedCache paged() {
    return {pages.data(), static_cast<int64_t>(index_block_bytes(shape, block_tokens)),
            table.data(), block_tokens};
  }
  TailView view() { return {tail.data(), int64_t{ring} * shape.dim, shape.dim, 1, ring}; }
  void append(const Floats& ki, const Floats& gs, int first, int rows) {
    indexer_append(shape, &ki[first * shape.dim], shape.dim, &gs[first * shape.dim], shape.dim,
                   ape.data(), first, rows, view(), paged());
  }
};

// Weighted mean of a pool in double precision from inputs as they are used.
Doubles pooled(const Cache& c, const Floats& ki, const Floats& gs, int pool) {
  const int dim = c.shape.dim;
  Doubles key(dim);
  for (int d = 0; d < dim; ++d) {
    double sum = 0.0, value = 0.0;
    for (int j = 0; j < 4; ++j) {
      const int i = (4 * pool + j) * dim + d;
      const float k = c.shape.exact ? ki[i] : testing::bf16(ki[i]);
      const float g = c.shape.exact ? gs[i] : testing::bf16(gs[i]);
      const double e = std::exp(double{g} + c.ape[j * dim + d]);
      sum += e;
      value += e * k;
    }
    key[d] = value / sum;
  }
  return key;
}

TEST(IndexerLayout, SizesOfThePresets) {
  EXPECT_EQ(index_page_states(1792), 64);
  EXPECT_EQ(index_page_states(1152), 32);
  EXPECT_EQ(index_page_states(128), 32);
  EXPECT_EQ(index_block_bytes({32, 128}, 1792), 59136u);
  EXPECT_EQ(index_block_bytes({2, 32}, 1792), 16128u);
}

TEST(IndexerAppend, ExactKeysAreTheWeightedMeans) {
  Cache c({2, 16, true});
  const int tokens = 300;
  const Floats ki = testing::normal(tokens * 16, 112), gs = testing::normal(tokens * 16, 113);
  c.append(ki, gs, 0, tokens);
  for (int p = 0; p < tokens / 4; ++p) {
    const auto* block = reinterpret_cast<const float*>(
        &c.pages[c.table[p / 64] * index_block_bytes(c.shape, block_tokens)]);
    const Floats got(block + p % 64 * 16, block + (p % 64 + 1) * 16);
    EXPECT_LT(testing::relative_error(got, pooled(c, ki, gs, p)), 1e-6) << p;
  }
}

TEST(IndexerAppend, QuantisedKeysFollowTheChain) {
  Cache c({2, 32});
  const int tokens = 400, dim = 32;
  const Floats ki = testing::normal(tokens * dim, 114), gs = testing::normal(tokens * dim, 115);
  c.append(ki, gs, 0, tokens);
  Floats packed(indexer_packed_floats(c.shape, tokens / 4));
  indexer_load_keys(c.shape, c.paged(), tokens / 4, packed.data());
  for (int p = 0; p < tokens / 4; ++p) {
    const uint8_t* page = &c.pages[c.table[p / 64] * index_block_bytes(c.shape, block_tokens)];
    const uint8_t* codes = page + p % 64 * dim;
    float scale;
    std::memcpy(&scale, page + 64 * dim + 4 * (p % 64), 4);
    int exponent;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5f);  // a power of two
    const Doubles key = pooled(c, ki, gs, p);
    double top = 0.0;
    for (int i = 0; i < dim; ++i) {
      double x = 0.0;
      for (int j = 0; j < dim; ++j) {
        x += (std::popcount(static_cast<unsigned>(i & j)) % 2 ? -1.0 : 1.0) * key[j];
      }
      x /= std::sqrt(dim);
      const float got = e4m3_to_float(codes[i]) * scale;
      EXPECT_NEAR(got, x, std::fabs(x) * 0.07 + 0.01 * scale + 0.02) << p << ' ' << i;
      top = std::max(top, std::fabs(double{got}));
      EXPECT_EQ(packed[p / 16 * 16 * dim + i * 16 + p % 16], e4m3_to_float(codes[i]));
    }
    // The scale is the least power of two that keeps every value within 448.
    EXPECT_LE(top, 448.0 * scale);
    EXPECT_GT(top, 448.0 * scale / 2 * 0.93);
    const int padded = (tokens / 4 + 15) / 16 * 16;
    EXPECT_EQ(packed[padded * dim + p], scale);
  }
}

TEST(IndexerAppend, AnySplitGivesTheSameCacheAndTail) {
  const int tokens = 61;
  for (const bool exact : {false, true}) {
    const IndexerShape shape{2, 32, exact};
    const Floats ki = testing::normal(tokens * 32, 116), gs = testing::normal(tokens * 32, 117);
    Cache whole(shape);
    whole.append(ki, gs, 0, tokens);
    for (int cut = 1; cut < tokens; ++cut) {
      Cache split(shape);
      split.append(ki, gs, 0, cut);
      split.append(ki, gs, cut, tokens - cut);
      EXPECT_EQ(split.pages, whole.pages) << cut;
      EXPECT_EQ(split.tail, whole.tail) << cut;
    }
    Cache steps(shape);
    for (int t = 0; t < tokens; ++t) steps.append(ki, gs, t, 1);
    EXPECT_EQ(steps.pages, whole.pages);
    EXPECT_EQ(steps.tail, whole.tail);
  }
}

TEST(IndexerAppend, ReadsThreeEarlierSlotsAtTheGivenStrides) {
  const IndexerShape shape{2, 8};
  Cache plain(shape), strided(shape);
  const Floats ki = testing::normal(64, 118), gs = testing::normal(64, 119);
  // Channel outermost: [channel][slot][half].
  const TailView view{strided.tail.data(), 1, 2, 2 * ring, ring};
  for (const auto& [first, rows] : {std::pair{0, 3}, std::pair{3, 1}, std::pair{4, 4}}) {
    plain.append(ki, gs, first, rows);
    indexer_append(shape, &ki[first * 8], 8, &gs[first * 8], 8, strided.ape.data(), first, rows,
                   view, strided.paged());
  }
  EXPECT_EQ(plain.pages, strided.pages);
  // A bit flipped at an address that is read changes the pooled key.
  Cache broken(shape);
  broken.append(ki, gs, 0, 3);
  broken.tail[2 * 8 * 2 + 1] ^= 0x80;  // the sign of ki, slot 2, channel 0
  broken.append(ki, gs, 3, 1);
  broken.append(ki, gs, 4, 4);
  EXPECT_NE(broken.pages, plain.pages);
}

TEST(IndexerQueries, CodesTimesScaleAreTheRotatedQuery) {
  const IndexerShape shape{3, 16};
  const int rows = 5, width = 48;
  const Floats q = testing::normal(rows * width, 121, 2.0f), w = testing::normal(rows * 3, 122);
  Floats codes(q.size()), folded(w.size());
  indexer_queries(shape, q.data(), width, w.data(), 3, rows, codes.data(), width, folded.data(), 3);
  for (int r = 0; r < rows; ++r) {
    for (int h = 0; h < 3; ++h) {
      const double scale = folded[r * 3 + h] / (w[r * 3 + h] / std::sqrt(16.0 * 3.0));
      EXPECT_NEAR(std::log2(scale), std::round(std::log2(scale)), 1e-5);
      for (int i = 0; i < 16; ++i) {
        double x = 0.0;
        for (int j = 0; j < 16; ++j) {
          x += (std::popcount(static_cast<unsigned>(i & j)) % 2 ? -0.25 : 0.25) *
               q[r * width + h * 16 + j];
        }
        EXPECT_NEAR(codes[r * width + h * 16 + i] * scale, x, std::fabs(x) * 0.07 + 0.05);
      }
    }
  }
  const IndexerShape exact{3, 16, true};
  Floats in_place = q, weights = w;
  indexer_queries(exact, in_place.data(), width, weights.data(), 3, rows, in_place.data(), width,
                  weights.data(), 3);
  EXPECT_EQ(in_place, q);
  for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(weights[i], w[i] / std::sqrt(48.0), 1e-6);
}

TEST(IndexerQueries, ZeroQueryIsHarmless) {
  const IndexerShape shape{1, 8};
  const Floats q(8, 0.0f), w(1, 1.0f);
  Floats codes(8, 1.0f), folded(1);
  indexer_queries(shape, q.data(), 8, w.data(), 1, 1, codes.data(), 8, folded.data(), 1);
  EXPECT_EQ(codes, q);
  EXPECT_TRUE(std::isfinite(folded[0]) && folded[0] > 0.0f);
}

}  // namespace
}  // namespace hitproof::kernels
