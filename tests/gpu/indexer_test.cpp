// Sparse indexer: CUDA against the CPU.
#include "tests/gpu/sides.h"
#include "tests/kernels/reference.h"

namespace hitproof::kernels::testing {
namespace {

using Bytes = std::vector<uint8_t>;

std::string text_of(const IndexerShape& s) {
  return shape_text({{"heads", s.heads}, {"dim", s.dim}, {"exact", s.exact}});
}

constexpr IndexerShape shapes[] = {{2, 16}, {2, 32}, {32, 128}, {3, 256}, {16, 16, true}, {2, 8}};
const std::vector<int32_t> table = {2, 4, 1};

struct Cached {
  Bytes tail, region;
  Floats packed;
};

// Appends in calls that end at `ends`, then decodes every complete pool.
Cached append(const ModelKernels& k, const IndexerShape& shape, int ring,
              const std::vector<int>& ends) {
  Side s(k);
  constexpr int block_tokens = 128;
  const auto dim = static_cast<size_t>(shape.dim);
  const auto tokens = static_cast<size_t>(ends.back());
  const size_t stride = index_block_bytes(shape, block_tokens) + 8;
  const PagedCache cache{s.room<uint8_t>(5 * stride), static_cast<int64_t>(stride), s.put(table),
                         block_tokens};
  const size_t tail_bytes = 2 * static_cast<size_t>(ring) * dim * (shape.exact ? 4 : 2);
  auto* tail_memory = s.room<uint8_t>(tail_bytes);
  const TailView tail{tail_memory, static_cast<int64_t>(ring) * shape.dim, shape.dim, 1, ring};
  const int64_t row = static_cast<int64_t>(dim) + 5;
  const float* ki = s.put(normal(tokens * (dim + 5), 91));
  const float* gs = s.put(normal(tokens * (dim + 5), 92));
  const float* ape = s.put(normal(4 * dim, 93));
  int begin = 0;
  for (const int end : ends) {
    s.k.indexer_append(nullptr, shape, ki + begin * row, row, gs + begin * row, row, ape, begin,
                       end - begin, tail, cache);
    begin = end;
  }
  const int pools = begin / index_pool;
  const size_t packed_floats = s.k.indexer_packed_floats(shape, pools);
  float* packed = s.room<float>(packed_floats);
  s.k.indexer_load_keys(nullptr, shape, cache, pools, packed);
  return {s.get(tail_memory, tail_bytes), s.get(cache.base, 5 * stride),
          s.get(packed, packed_floats)};
}

TEST(IndexerCache, EqualsTheCpuHoweverTheTokensAreSplit) {
  for (const IndexerShape& shape : shapes) {
    for (const int ring : {4, 8}) {
      const Cached want = append(cpu_model_kernels(), shape, ring, {279});
      for (const std::vector<int>& ends :
           {std::vector<int>{279}, {1, 2, 4, 7, 8, 9, 11, 130, 131, 135, 279}}) {
        const Cached got = append(cuda_table(), shape, ring, ends);
        expect_equal("indexer_append", text_of(shape), got.tail, want.tail);
        expect_equal("indexer_append", text_of(shape), got.region, want.region);
        expect_equal("indexer_load_keys", text_of(shape), got.packed, want.packed);
      }
    }
  }
}

TEST(IndexerQueries, EqualTheCpu) {
  for (const IndexerShape& shape : shapes) {
    const int columns = shape.heads * shape.dim, rows = 9;
    Floats q = normal(static_cast<size_t>(rows * columns), 94);
    for (int i = 0; i < columns; ++i)
      q[static_cast<size_t>(i)] *= 1e-6f;
    const Floats w = normal(static_cast<size_t>(rows * (shape.heads + 4)), 95);
    check_rows({"indexer_queries", text_of(shape), rows, [&](Side& s, int first, int count) {
                  const int stride = shape.heads + 4;
                  float* codes = s.put(q) + first * columns;
                  float* folded = s.put(w) + first * stride;
                  s.k.indexer_queries(nullptr, shape, codes, columns, folded, stride, count, codes,
                                      columns, folded, stride);
                  return join_rows(count, {s.get(codes, static_cast<size_t>(count * columns)),
                                           s.get(folded, static_cast<size_t>(count * stride))});
                }});
  }
}

// A context of `pools` packed keys with random codes and scales, and queries.
struct Context {
  IndexerShape shape;
  int pools;
  int rows;
  Floats packed, codes, folded;
  int columns = shape.heads * shape.dim;
  Context(const IndexerShape& s, int pools_in, int rows_in)
      : shape(s), pools(pools_in), rows(rows_in),
        packed(normal(cpu_model_kernels().indexer_packed_floats(s, pools), 96)),
        codes(normal(static_cast<size_t>(rows * s.heads * s.dim), 97)),
        folded(normal(static_cast<size_t>(rows * s.heads), 98)) {}
};

TEST(IndexerScores, EqualTheCpu) {
  for (const IndexerShape& shape : shapes) {
    for (const int block : {8, 32, 512}) {
      const Context c(shape, 85, 26);
      check_rows(
          {"indexer_scores", text_of(shape), c.rows, [&](Side& s, int first, int count) {
             const int stride = 96, pools = 77;
             float* scores = s.room<float>(static_cast<size_t>(count * stride));
             s.k.indexer_scores(nullptr, shape, s.put(c.codes) + first * c.columns, c.columns,
                                s.put(c.folded) + first * shape.heads, shape.heads, count,
                                s.put(c.packed), c.pools, pools, block, scores, stride);
             const Floats all = s.get(scores, static_cast<size_t>(count * stride));
             Floats seen; // behind the last pool the sides may differ
             for (int r = 0; r < count; ++r)
               seen.insert(seen.end(), all.begin() + r * stride, all.begin() + r * stride + pools);
             return seen;
           }});
    }
  }
}

TEST(IndexerTopk, EqualsTheCpuWithTiesNanAndZeros) {
  for (const auto& [pools, topk] :
       {std::pair{700, 64}, {700, 512}, {255, 1}, {2500, 512}, {20, 64}}) {
    const int rows = 9;
    Floats scores = normal(static_cast<size_t>(rows * pools), 99);
    for (size_t i = 0; i < scores.size(); ++i) {
      const size_t row = i / static_cast<size_t>(pools);
      if (row % 3 == 1) scores[i] = std::round(scores[i] * 2.0f);
      if (row == 2) scores[i] = i % 2 == 0 ? 0.0f : -0.0f;
      if (row == 3 && i % 3 != 0) scores[i] = std::nanf("");
      if (row == 5 && i % 7 != 0) scores[i] = -HUGE_VALF;
    }
    check_rows({"indexer_topk", shape_text({{"pools", pools}, {"topk", topk}}), rows,
                [&, pools = pools, topk = topk](Side& s, int first, int count) {
                  const int stride = topk + 1;
                  auto* chosen = s.room<int32_t>(static_cast<size_t>(count * stride));
                  s.k.indexer_topk(nullptr, s.put(scores) + first * pools, pools, count, pools,
                                   topk, chosen, stride, chosen + topk, stride,
                                   s.room<int32_t>(static_cast<size_t>(pools + 8)));
                  return as_floats(s.get(chosen, static_cast<size_t>(count * stride)));
                }});
  }
}

void check_select(const IndexerShape& shape, int pools, int rows, int topk, bool listed) {
  const Context c(shape, pools, rows);
  const int64_t start = static_cast<int64_t>(pools) * index_pool - rows;
  std::vector<int64_t> positions;
  for (int r = 0; r < rows; ++r)
    positions.push_back(listed ? 3 + (r * 37) % (pools * 4 - 4) : start + r);
  check_rows(
      {"indexer_select", text_of(shape) + " " + shape_text({{"pools", pools}, {"rows", rows}}),
       rows, [&](Side& s, int first, int count) {
         const int stride = topk + 1;
         auto* chosen = s.room<int32_t>(static_cast<size_t>(count * stride));
         const int64_t* at = listed ? s.put(positions) + first : nullptr;
         s.k.indexer_select(nullptr, shape, s.put(c.codes) + first * c.columns, c.columns,
                            s.put(c.folded) + first * shape.heads, shape.heads, start + first, at,
                            count, s.put(c.packed), pools, topk, 32, chosen, stride, chosen + topk,
                            stride,
                            s.room<float>(s.k.indexer_select_workspace_floats(count, pools)));
         const int width = 4 * topk + 3;
         auto* ids = s.room<int32_t>(static_cast<size_t>(count * width));
         auto* counts = s.room<int32_t>(static_cast<size_t>(count));
         s.k.indexer_expand(nullptr, chosen, stride, chosen + topk, stride, start + first, at,
                            count, ids, width, width, counts);
         return join_rows(count, {as_floats(s.get(chosen, static_cast<size_t>(count * stride))),
                                  as_floats(s.get(ids, static_cast<size_t>(count * width))),
                                  as_floats(s.get(counts, static_cast<size_t>(count)))});
       }});
}

TEST(IndexerSelect, EqualsTheCpu) {
  check_select({2, 32}, 100, 60, 64, false);
  check_select({2, 16}, 30, 300, 16, true);
  check_select({32, 128}, 600, 5, 512, false);
  check_select({16, 16, true}, 40, 30, 8, true);
  check_select({2, 32}, 40, 10, 64, false);
}

} // namespace
} // namespace hitproof::kernels::testing
