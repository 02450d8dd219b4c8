// Projections, norms, hyper-connections and row movers: CUDA against the CPU.
#include "kernels/model/small_gemm.h"
#include "tests/gpu/sides.h"
#include "tests/kernels/reference.h"

#include <limits>

namespace hitproof::kernels::testing {
namespace {

const Floats some(size_t n, uint32_t seed, float scale = 1.0f) { return normal(n, seed, scale); }

TEST(Comparator, SeesOneFlippedBit) {
  const Floats want = some(1000, 1);
  Floats got = want;
  EXPECT_EQ(compare(got, want).differing, 0U);
  uint32_t bits;
  std::memcpy(&bits, &got[777], 4);
  bits ^= 1;
  std::memcpy(&got[777], &bits, 4);
  const Difference d = compare(got, want);
  EXPECT_EQ(d.differing, 1U);
  EXPECT_GT(d.relative, 0.0);
  got[777] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_GT(compare(got, want).relative, 1e30);
  got.pop_back();
  EXPECT_EQ(compare(got, want).differing, want.size());
  EXPECT_EQ(compare(std::vector<int32_t>{1, 2, 3}, std::vector<int32_t>{1, 2, 4}).differing, 1U);
}

TEST(Comparator, SeesACorruptedResultOfTheDevice) {
  Side device(cuda_table());
  const Floats a = some(64, 2);
  float* x = device.put(a);
  device.k.zero(nullptr, x + 40, sizeof(float));
  EXPECT_EQ(compare(device.get(x, 64), a).differing, 1U);
}

void check_gemm(int rows, int k, int n, int kblock, bool accumulate) {
  const Floats a = some(static_cast<size_t>(rows) * (k + 3), 11), w = some(size_t{1} * n * k, 12);
  const Floats c = some(static_cast<size_t>(rows) * (n + 5), 13);
  Floats packed(gemm_packed_floats(n, k));
  gemm_pack(w.data(), k, n, k, packed.data());
  check_rows({"small_gemm", shape_text({{"rows", rows}, {"k", k}, {"n", n}, {"kblock", kblock}}),
              rows, [&](Side& s, int first, int count) {
                float* out = s.put(c) + first * (n + 5);
                s.k.small_gemm(nullptr, s.put(a) + first * (k + 3), k + 3, count, k, s.put(packed),
                               n, kblock, accumulate, out, n + 5);
                return s.get(out, static_cast<size_t>(count) * (n + 5));
              }});
}

TEST(Gemm, EqualsTheCpu) {
  check_gemm(1, 64, 40, 256, false);
  check_gemm(30, 64, 611, 256, false);
  check_gemm(30, 64, 64, 8, true);
  check_gemm(5, 10, 19, 16, true);
  check_gemm(70, 4096, 48, 256, false);
  check_gemm(70, 1536, 128, 64, true);
  check_gemm(33, 100, 33, 24, false);
  check_gemm(9, 128, 2048, 1024, false);
  check_gemm(4, 2048, 32, 1024, false);
}

TEST(Gemm, EveryTileGivesTheSameBits) {
  check_gemm(290, 40, 3400, 32, true);
  check_gemm(650, 24, 3400, 16, false);
}

void check_norms(int rows, int dim, int block) {
  const int stride = dim + 3;
  const size_t cells = static_cast<size_t>(rows) * stride;
  const Floats x = some(cells, 21, 2.0f), y = some(cells, 22), weight = some(dim, 23),
               bias = some(dim, 24);
  const std::string shape = shape_text({{"rows", rows}, {"dim", dim}, {"block", block}});
  const auto out_of = [&](Side& s, float* out, int first, int count) {
    return s.get(out + first * stride, static_cast<size_t>(count) * stride);
  };
  check_rows({"rms_norm", shape, rows, [&](Side& s, int first, int count) {
                float* io = s.put(x);
                s.k.rms_norm(nullptr, io + first * stride, stride, s.put(weight), 1e-5f, count, dim,
                             block, io + first * stride, stride);
                return out_of(s, io, first, count);
              }});
  check_rows({"rms_norm", shape + " no weight", rows, [&](Side& s, int first, int count) {
                float* out = s.put(y);
                s.k.rms_norm(nullptr, s.put(x) + first * stride, stride, nullptr, 1e-5f, count, dim,
                             block, out + first * stride, stride);
                return out_of(s, out, first, count);
              }});
  check_rows(
      {"add_rms_norm", shape, rows, [&](Side& s, int first, int count) {
         float* sum = s.put(x);
         float* out = s.put(y);
         const int at = first * stride;
         s.k.add_rms_norm(nullptr, sum + at, stride, s.put(y) + at, stride, s.put(weight), 1e-5f,
                          count, dim, block, sum + at, stride, out + at, stride);
         return join_rows(count, {out_of(s, out, first, count), out_of(s, sum, first, count)});
       }});
  check_rows({"layer_norm", shape, rows, [&](Side& s, int first, int count) {
                float* io = s.put(x);
                s.k.layer_norm(nullptr, io + first * stride, stride, s.put(weight), s.put(bias),
                               1e-6f, count, dim, block, io + first * stride, stride);
                return out_of(s, io, first, count);
              }});
  check_rows({"add_rows", shape, rows, [&](Side& s, int first, int count) {
                float* io = s.put(x);
                s.k.add_rows(nullptr, io + first * stride, stride, s.put(y) + first * stride,
                             stride, count, dim, io + first * stride, stride);
                return out_of(s, io, first, count);
              }});
}

TEST(Norms, EqualTheCpu) {
  for (const int block : {8, 64, 512}) {
    for (const int dim : {16, 20, 64, 128})
      check_norms(25, dim, block);
    check_norms(4, 1536, block);
    check_norms(3, 4096, block);
  }
}

void check_mhc(int rows, int hidden, MhcBlocks blocks) {
  const size_t inner = static_cast<size_t>(mhc_streams) * hidden;
  const Floats fn = some(mhc_mix_size * inner, 31, 0.05f), base = some(mhc_mix_size, 32),
               scale = some(3, 33), norm = some(hidden, 34), x = some(rows * inner, 35),
               y = some(static_cast<size_t>(rows) * hidden, 36),
               mix = uniform(static_cast<size_t>(rows) * mhc_mix_size, 37, 0.0f, 1.0f);
  Floats packed(mhc_packed_floats(hidden));
  mhc_pack_fn(fn.data(), hidden, packed.data());
  const MhcShape shape{hidden};
  const std::string text =
      shape_text({{"rows", rows}, {"hidden", hidden}, {"block", blocks.mhc_block}});
  const auto run = [&](const char* what, auto&& call) {
    check_rows({what, text, rows, [&](Side& s, int first, int count) {
                  float* streams = s.put(x) + first * inner;
                  float* m = s.put(mix) + first * mhc_mix_size;
                  float* u = s.room<float>(static_cast<size_t>(rows) * hidden);
                  const MhcSite site{s.put(packed), s.put(base), s.put(scale), s.put(norm)};
                  call(s, site, s.put(y) + static_cast<ptrdiff_t>(first) * hidden, streams, m, u,
                       count);
                  return join_rows(count, {s.get(streams, count * inner),
                                           s.get(m, static_cast<size_t>(count) * mhc_mix_size),
                                           s.get(u, static_cast<size_t>(count) * hidden)});
                }});
  };
  using Call =
      std::function<void(Side&, const MhcSite&, const float*, float*, float*, float*, int)>;
  const Call pre = [&](Side& s, const MhcSite& site, const float*, float* streams, float* m,
                       float* u, int count) {
    s.k.mhc_pre(nullptr, shape, site, blocks, streams, count, m, u, hidden);
  };
  const Call post = [&](Side& s, const MhcSite&, const float* add, float* streams, float* m,
                        float* u, int count) {
    s.k.mhc_post(nullptr, add, hidden, m, count, hidden, streams);
    s.k.mhc_mean(nullptr, streams, count, hidden, u, hidden);
  };
  const Call both = [&](Side& s, const MhcSite& site, const float* add, float* streams, float* m,
                        float* u, int count) {
    s.k.mhc_post_pre(nullptr, add, hidden, shape, site, blocks, streams, count, m, u, hidden);
  };
  const Call spread = [&](Side& s, const MhcSite&, const float* add, float* streams, float*,
                          float* u, int count) {
    s.k.mhc_spread(nullptr, add, hidden, count, hidden, streams);
    s.k.mhc_mean(nullptr, streams, count, hidden, u, hidden);
  };
  run("mhc_pre", pre);
  run("mhc_post, mhc_mean", post);
  run("mhc_post_pre", both);
  run("mhc_spread", spread);
}

TEST(Mhc, EqualsTheCpu) {
  check_mhc(30, 64, {256, 64});
  check_mhc(9, 32, {8, 8});
  check_mhc(5, 512, {256, 64});
  check_mhc(3, 4096, {256, 64});
}

TEST(Mhc, SeveralRowsOfABlockAreIndependent) {
  check_mhc(531, 16, {64, 64});
  check_mhc(1058, 16, {32, 16});
}

TEST(Rows, MoversEqualTheCpu) {
  const int cols = 70, table_rows = 40;
  const Floats table = some(table_rows * (cols + 2), 41);
  const std::vector<int32_t> index = {3, -1, 39, 0, 3, -7, 12, 21, 39, 1};
  const int rows = static_cast<int>(index.size());
  check_rows({"gather_rows", "", rows, [&](Side& s, int first, int count) {
                float* out = s.room<float>(static_cast<size_t>(rows) * cols);
                s.k.gather_rows(nullptr, s.put(table), cols + 2, s.put(index) + first, count, cols,
                                out, cols);
                return s.get(out, static_cast<size_t>(count) * cols);
              }});
  check_rows({"copy_rows", "", rows, [&](Side& s, int first, int count) {
                float* out = s.put(Floats(static_cast<size_t>(rows) * (cols + 9), 1.0f));
                s.k.copy_rows(nullptr, s.put(table) + first * (cols + 2), cols + 2, count, cols,
                              out, cols + 9);
                return s.get(out, static_cast<size_t>(count) * (cols + 9));
              }});
  check_rows({"count_visible", "", 300, [&](Side& s, int first, int count) {
                auto* out = s.room<int32_t>(static_cast<size_t>(count));
                s.k.count_visible(nullptr, 1000 + first, count, out);
                return as_floats(s.get(out, static_cast<size_t>(count)));
              }});
}

TEST(Rows, BestTokensEqualTheCpu) {
  for (const int n : {1, 31, 1024, 5000}) {
    const int rows = 9;
    Floats logits = some(static_cast<size_t>(rows) * n, 51);
    for (float& x : logits)
      x = std::round(x * 8.0f); // ties
    for (int i = 0; i < n; ++i)
      logits[2 * static_cast<size_t>(n) + i] = 1.5f;
    logits[3 * static_cast<size_t>(n)] = std::numeric_limits<float>::quiet_NaN();
    check_rows({"best_tokens", shape_text({{"n", n}}), rows, [&](Side& s, int first, int count) {
                  auto* best = reinterpret_cast<RowBest*>(s.room<float>(3 * size_t{9}));
                  s.k.best_tokens(nullptr, s.put(logits) + static_cast<ptrdiff_t>(first) * n, n,
                                  count, n, 100, best);
                  return s.get(reinterpret_cast<const float*>(best),
                               3 * static_cast<size_t>(count));
                }});
  }
}

} // namespace
} // namespace hitproof::kernels::testing
