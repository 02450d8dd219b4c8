#include "kernels/model/numeric.h"

#include <bit>
#include <limits>

#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Floats;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Around every multiple of 2^16 in bit space: the points where BF16 rounding changes, and, since E4M3
// keeps fewer bits, all points where E4M3 rounding changes too. Both are monotone in between.
Floats all_turning_points() {
  Floats v;
  v.reserve(65536 * 6);
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      v.push_back(std::bit_cast<float>((high << 16) | low));
    }
  }
  return v;
}

TEST(Numeric, Bf16DecodesEveryCode) {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  Floats out(codes.size());
  bf16_to_float(codes.data(), out.data(), codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), static_cast<uint32_t>(i) << 16);
    ASSERT_EQ(std::bit_cast<uint32_t>(bf16_to_float(codes[i])), static_cast<uint32_t>(i) << 16);
  }
}

TEST(Numeric, Bf16RoundsToNearestEven) {
  const Floats in = all_turning_points();
  std::vector<uint16_t> codes(in.size());
  Floats rounded(in.size());
  float_to_bf16(in.data(), codes.data(), in.size());
  round_to_bf16(in.data(), rounded.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(codes[i], float_to_bf16(in[i])) << in[i];
    if (std::isnan(in[i])) {
      ASSERT_TRUE(std::isnan(bf16_to_float(codes[i])));
      ASSERT_TRUE(std::isnan(rounded[i]));
      continue;
    }
    ASSERT_EQ(bf16_to_float(codes[i]), rounded[i]);
    ASSERT_EQ(std::signbit(in[i]), std::signbit(rounded[i]));
    ASSERT_EQ(rounded[i], testing::bf16(in[i])) << in[i];
  }
}

TEST(Numeric, E4m3DecodesEveryCode) {
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  Floats out(256);
  e4m3_to_float(codes.data(), out.data(), 256);
  for (int code = 0; code < 256; ++code) {
    const int exponent = (code >> 3) & 15, mantissa = code & 7;
    const float scalar = e4m3_to_float(static_cast<uint8_t>(code));
    if ((code & 127) == 127) {
      EXPECT_TRUE(std::isnan(out[code]) && std::isnan(scalar));
      continue;
    }
    double want = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    if (code & 128) want = -want;
    EXPECT_EQ(out[code], want) << code;
    EXPECT_EQ(std::bit_cast<uint32_t>(out[code]), std::bit_cast<uint32_t>(scalar)) << code;
  }
}

TEST(Numeric, E4m3EncodesNearestEvenAndSaturates) {
  const Floats in = all_turning_points();
  std::vector<uint8_t> codes(in.size());
  float_to_e4m3(in.data(), codes.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (std::isnan(in[i])) {
      ASSERT_EQ(codes[i], 0x7f);
      continue;
    }
    const float got = e4m3_to_float(codes[i]);
    ASSERT_EQ(got, testing::e4m3(in[i])) << in[i];
    ASSERT_EQ(std::signbit(got), std::signbit(in[i]));
    ASSERT_EQ(codes[i], float_to_e4m3(in[i]));
  }
  EXPECT_EQ(float_to_e4m3(infinity), 0x7e);
  EXPECT_EQ(float_to_e4m3(-1e30f), 0xfe);
}

TEST(Numeric, E4m3TiesGoToTheEvenCode) {
  for (int code = 0; code < 0x7e; ++code) {
    const float low = e4m3_to_float(static_cast<uint8_t>(code));
    const float high = e4m3_to_float(static_cast<uint8_t>(code + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(float_to_e4m3(middle), code + (code & 1));
    EXPECT_EQ(float_to_e4m3(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(float_to_e4m3(std::nextafter(middle, 1000.0f)), code + 1);
  }
}

TEST(Numeric, ExpSigmoidSiluAreAccurate) {
  Floats in;
  for (double x = -87.0; x < 88.5; x += 0.00137) in.push_back(static_cast<float>(x));
  Floats e(in.size()), s(in.size()), u(in.size());
  vector_exp(in.data(), e.data(), in.size());
  vector_sigmoid(in.data(), s.data(), in.size());
  vector_silu(in.data(), u.data(), in.size());
  double worst = 0.0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in[i];
    worst = std::max(worst, std::fabs(e[i] / std::exp(x) - 1.0));
    worst = std::max(worst, std::fabs(s[i] / testing::sigmoid(x) - 1.0));
    if (x != 0.0) worst = std::max(worst, std::fabs(u[i] / testing::silu(x) - 1.0));
  }
  EXPECT_LT(worst, 2e-7);
}

TEST(Numeric, ExpAtItsEnds) {
  const Floats in = {-infinity, -1e30f, -88.0f, 0.0f, 89.0f, infinity, std::nanf("")};
  Floats out(in.size());
  vector_exp(in.data(), out.data(), in.size());
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_EQ(out[2], 0.0f);
  EXPECT_EQ(out[3], 1.0f);
  EXPECT_EQ(out[4], infinity);
  EXPECT_EQ(out[5], infinity);
  EXPECT_TRUE(std::isnan(out[6]));
  vector_sigmoid(in.data(), out.data(), in.size());
  EXPECT_LT(out[0], 2e-38f);
  EXPECT_EQ(out[5], 1.0f);
  EXPECT_TRUE(std::isnan(out[6]));
}

TEST(Numeric, AValueDoesNotDependOnItsNeighbours) {
  const Floats in = testing::normal(37, 3, 4.0f);
  Floats whole(37);
  vector_silu(in.data(), whole.data(), in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    float one;
    vector_silu(&in[i], &one, 1);
    EXPECT_TRUE(testing::same_bits(&one, &whole[i], 1)) << i;
  }
}

TEST(Numeric, HadamardMatchesItsMatrix) {
  for (const int dim : {8, 16, 32, 64, 128, 256}) {
    const Floats x = testing::normal(2 * dim, 7);
    Floats y = x;
    hadamard_rows(y.data(), dim, 2, dim);
    testing::Doubles want(2 * dim);
    for (int r = 0; r < 2; ++r) {
      for (int i = 0; i < dim; ++i) {
        double sum = 0.0;
        for (int j = 0; j < dim; ++j) {
          sum += std::popcount(static_cast<unsigned>(i & j)) % 2 ? -x[r * dim + j] : x[r * dim + j];
        }
        want[r * dim + i] = sum / std::sqrt(dim);
      }
    }
    EXPECT_LT(testing::relative_error(y, want), 5e-7) << dim;
  }
}

}  // namespace
}  // namespace hitproof::kernels
