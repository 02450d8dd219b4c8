#include "kernels/model/small_gemm.h"

#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

Floats pack(const Floats& w, int n, int k) {
  Floats packed(gemm_packed_floats(n, k), -77.0f);
  gemm_pack(w.data(), k, n, k, packed.data());
  return packed;
}

Doubles product(const Floats& a, const Floats& w, int rows, int n, int k) {
  Doubles c(static_cast<size_t>(rows) * n);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < k; ++i) c[r * n + j] += double{a[r * k + i]} * w[j * k + i];
    }
  }
  return c;
}

TEST(SmallGemm, MatchesTheProductForOddSizes) {
  for (const int n : {1, 3, 8, 9, 16, 17, 24, 50}) {
    for (const int k : {1, 8, 31, 64, 200}) {
      for (const int rows : {1, 2, 5, 6, 7, 50, 97}) {
        const Floats a = testing::normal(rows * k, 1), w = testing::normal(n * k, 2);
        Floats c(rows * n, 1e30f);
        small_gemm(a.data(), k, rows, k, pack(w, n, k).data(), n, 64, false, c.data(), n);
        ASSERT_LT(testing::relative_error(c, product(a, w, rows, n, k)), 3e-6)
            << n << ' ' << k << ' ' << rows;
      }
    }
  }
}

TEST(SmallGemm, ARowsBitsDoNotDependOnTheBatch) {
  const int n = 43, k = 64, rows = 101;
  const Floats a = testing::normal(rows * k, 3), w = testing::normal(n * k, 4);
  const Floats packed = pack(w, n, k);
  for (const int block : {16, 64}) {
    Floats whole(rows * n);
    small_gemm(a.data(), k, rows, k, packed.data(), n, block, false, whole.data(), n);
    for (int r = 0; r < rows; ++r) {
      Floats one(n);
      small_gemm(a.data() + r * k, k, 1, k, packed.data(), n, block, false, one.data(), n);
      ASSERT_TRUE(testing::same_bits(one.data(), whole.data() + r * n, n)) << r;
    }
  }
}

TEST(SmallGemm, TheBlockChangesTheOrderOfTheSum) {
  const int n = 32, k = 64;
  const Floats a = testing::normal(k, 5), w = testing::normal(n * k, 6);
  const Floats packed = pack(w, n, k);
  Floats one(n), two(n);
  small_gemm(a.data(), k, 1, k, packed.data(), n, 64, false, one.data(), n);
  small_gemm(a.data(), k, 1, k, packed.data(), n, 16, false, two.data(), n);
  EXPECT_FALSE(testing::same_bits(one.data(), two.data(), n));
}

TEST(SmallGemm, AccumulatesAndLeavesNeighboursAlone) {
  const int n = 11, k = 8, ldc = 20;
  const Floats a = testing::normal(2 * k, 7), w = testing::normal(n * k, 8);
  Floats c(2 * ldc, 2.0f), plain(2 * n);
  small_gemm(a.data(), k, 2, k, pack(w, n, k).data(), n, 64, true, c.data(), ldc);
  small_gemm(a.data(), k, 2, k, pack(w, n, k).data(), n, 64, false, plain.data(), n);
  for (int r = 0; r < 2; ++r) {
    for (int j = 0; j < ldc; ++j) {
      EXPECT_EQ(c[r * ldc + j], j < n ? 2.0f + plain[r * n + j] : 2.0f);
    }
  }
}

TEST(SmallGemm, GatherTakesTheNamedRows) {
  const int n = 16, k = 24;
  const Floats a = testing::normal(9 * k, 9), w = testing::normal(n * k, 10);
  const std::vector<int32_t> index = {8, 0, 3, 3, 7, 1, 2};
  Floats got(index.size() * n), all(9 * n);
  small_gemm_gather(a.data(), k, index.data(), static_cast<int>(index.size()), k,
                    pack(w, n, k).data(), n, 64, false, got.data(), n);
  small_gemm(a.data(), k, 9, k, pack(w, n, k).data(), n, 64, false, all.data(), n);
  for (size_t i = 0; i < index.size(); ++i) {
    EXPECT_TRUE(testing::same_bits(&got[i * n], &all[index[i] * n], n));
  }
}

TEST(SmallGemm, PackingInPartsAndHeadByHead) {
  const int n = 27, k = 16;
  const Floats w = testing::normal(n * k, 11);
  Floats parts(gemm_packed_floats(n, k));
  gemm_pack_rows(w.data(), k, n, k, 0, 10, parts.data());
  gemm_pack_rows(w.data() + 10 * k, k, n, k, 10, 17, parts.data());
  EXPECT_EQ(parts, pack(w, n, k));

  const int heads = 3, rows = 4;
  const Floats a = testing::normal(rows * heads * k, 12);
  const Floats ws = testing::normal(heads * n * k, 13);
  const size_t each = gemm_packed_floats(n, k);
  Floats packed(heads * each);
  for (int h = 0; h < heads; ++h) gemm_pack(&ws[h * n * k], k, n, k, &packed[h * each]);
  Floats c(rows * heads * n);
  small_gemm_heads(a.data(), heads * k, rows, heads, k, packed.data(), n, 64, c.data(), heads * n);
  Doubles want(c.size());
  for (int r = 0; r < rows; ++r) {
    for (int h = 0; h < heads; ++h) {
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < k; ++i) {
          want[(r * heads + h) * n + j] +=
              double{a[(r * heads + h) * k + i]} * ws[(h * n + j) * k + i];
        }
      }
    }
  }
  EXPECT_LT(testing::relative_error(c, want), 2e-6);
}

}  // namespace
}  // namespace hitproof::kernels
