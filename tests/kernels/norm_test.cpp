#include "kernels/model/norm.h"

#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

Doubles reference_rms(const Floats& x, const Floats& w, double eps, int rows, int dim) {
  Doubles y(x.size());
  for (int r = 0; r < rows; ++r) {
    double squares = 0.0;
    for (int i = 0; i < dim; ++i) squares += double{x[r * dim + i]} * x[r * dim + i];
    const double inv = 1.0 / std::sqrt(squares / dim + eps);
    for (int i = 0; i < dim; ++i) y[r * dim + i] = x[r * dim + i] * inv * (w.empty() ? 1.0 : w[i]);
  }
  return y;
}

TEST(RmsNorm, MatchesTheFormulaForEverySizeAndBlock) {
  for (const int dim : {1, 7, 8, 16, 33, 64, 128}) {
    for (const int block : {8, 24, 64}) {
      const Floats x = testing::normal(3 * dim, 11), w = testing::normal(dim, 12);
      Floats y(x.size());
      rms_norm(x.data(), dim, w.data(), 1e-5f, 3, dim, block, y.data(), dim);
      EXPECT_LT(testing::relative_error(y, reference_rms(x, w, 1e-5, 3, dim)), 1e-6) << dim;
      rms_norm(x.data(), dim, nullptr, 1e-5f, 3, dim, block, y.data(), dim);
      EXPECT_LT(testing::relative_error(y, reference_rms(x, {}, 1e-5, 3, dim)), 1e-6) << dim;
    }
  }
}

TEST(RmsNorm, ZeroRowGivesZeros) {
  const Floats x(16, 0.0f), w(16, 1.0f);
  Floats y(16, 5.0f);
  rms_norm(x.data(), 16, w.data(), 1e-5f, 1, 16, 64, y.data(), 16);
  EXPECT_EQ(y, x);
}

TEST(RmsNorm, InPlaceAndRowByRowGiveTheSameBits) {
  const int dim = 64;
  const Floats x = testing::normal(5 * dim, 13), w = testing::normal(dim, 14);
  Floats whole(x.size()), in_place = x;
  rms_norm(x.data(), dim, w.data(), 1e-5f, 5, dim, 32, whole.data(), dim);
  rms_norm(in_place.data(), dim, w.data(), 1e-5f, 5, dim, 32, in_place.data(), dim);
  EXPECT_EQ(whole, in_place);
  for (int r = 0; r < 5; ++r) {
    Floats one(dim);
    rms_norm(x.data() + r * dim, dim, w.data(), 1e-5f, 1, dim, 32, one.data(), dim);
    EXPECT_TRUE(testing::same_bits(one.data(), whole.data() + r * dim, dim));
  }
}

TEST(AddRmsNorm, EqualsAddThenNorm) {
  const int dim = 40;
  const Floats a = testing::normal(2 * dim, 15), b = testing::normal(2 * dim, 16);
  const Floats w = testing::normal(dim, 17);
  Floats sum(a.size()), y(a.size()), sum2(a.size()), y2(a.size());
  add_rms_norm(a.data(), dim, b.data(), dim, w.data(), 1e-5f, 2, dim, 64, sum.data(), dim, y.data(),
               dim);
  add_rows(a.data(), dim, b.data(), dim, 2, dim, sum2.data(), dim);
  rms_norm(sum2.data(), dim, w.data(), 1e-5f, 2, dim, 64, y2.data(), dim);
  EXPECT_EQ(sum, sum2);
  EXPECT_EQ(y, y2);
}

TEST(LayerNorm, MatchesTheFormula) {
  for (const int dim : {3, 8, 32, 45, 128}) {
    Floats x = testing::normal(2 * dim, 18);
    for (float& v : x) v += 3.0f;
    const Floats w = testing::normal(dim, 19), b = testing::normal(dim, 20);
    Floats y(x.size());
    layer_norm(x.data(), dim, w.data(), b.data(), 1e-6f, 2, dim, 24, y.data(), dim);
    Doubles want(x.size());
    for (int r = 0; r < 2; ++r) {
      double mean = 0.0, variance = 0.0;
      for (int i = 0; i < dim; ++i) mean += x[r * dim + i] / double(dim);
      for (int i = 0; i < dim; ++i) variance += std::pow(x[r * dim + i] - mean, 2) / dim;
      for (int i = 0; i < dim; ++i) {
        want[r * dim + i] = w[i] * (x[r * dim + i] - mean) / std::sqrt(variance + 1e-6) + b[i];
      }
    }
    EXPECT_LT(testing::relative_error(y, want), 2e-6) << dim;
  }
}

}  // namespace
}  // namespace hitproof::kernels
