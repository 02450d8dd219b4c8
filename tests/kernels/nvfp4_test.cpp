#include "kernels/model/nvfp4.h"

#include "kernels/model/numeric.h"
#include "reference.h"

namespace hitproof::kernels {
namespace {

// The published unit vector of docs/model.md 3.2 (layer 3, expert 0, gate_proj): global scale 17280,
// first six weights.
TEST(Nvfp4, ReproducesTheUnitVector) {
  const float global_scale = 17280.0f;
  const float want[6] = {0.0055555557f,  -0.0166666675f, -0.0222222228f,
                         -0.0333333351f, -0.0222222228f, -0.0027777778f};
  // want * 17280 = 96, -288, -384, -576, -384, -48: multiples of one scale s with e2m1 factors.
  // 96/s, 288/s, 384/s, 576/s, 48/s all in {0.5, 1, 1.5, 2, 3, 4, 6} holds for s = 96 only.
  std::vector<uint8_t> packed(8, 0);
  const uint8_t codes[6] = {2, 0x8 | 5, 0x8 | 6, 0x8 | 7, 0x8 | 6, 0x8 | 1};
  for (int i = 0; i < 3; ++i) {
    packed[i] = static_cast<uint8_t>(codes[2 * i] | (codes[2 * i + 1] << 4));
  }
  const uint8_t scale = float_to_e4m3(96.0f);
  ASSERT_EQ(e4m3_to_float(scale), 96.0f);
  std::vector<float> out(16, 9.0f);
  nvfp4_dequantise(packed.data(), &scale, global_scale, 1, 16, out.data());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], want[i]) << i;
  for (int i = 6; i < 16; ++i) EXPECT_EQ(out[i], 0.0f);
}

TEST(Nvfp4, EveryCodeAndGroup) {
  const double table[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const int rows = 3, cols = 64;
  std::vector<uint8_t> packed(rows * cols / 2), scale(rows * cols / 16);
  std::mt19937 engine(5);
  for (uint8_t& b : packed) b = static_cast<uint8_t>(engine());
  for (uint8_t& s : scale) s = static_cast<uint8_t>(engine() % 0x7f);
  std::vector<float> out(rows * cols);
  nvfp4_dequantise(packed.data(), scale.data(), 3.0f, rows, cols, out.data());
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) {
      const int byte = packed[(r * cols + c) / 2];
      const int code = c % 2 == 0 ? byte & 15 : byte >> 4;
      const float factor = e4m3_to_float(scale[r * (cols / 16) + c / 16]) / 3.0f;
      const float want = static_cast<float>((code & 8 ? -1.0 : 1.0) * table[code & 7]) * factor;
      EXPECT_EQ(out[r * cols + c], want);
      if (code == 8) {
        EXPECT_TRUE(std::signbit(out[r * cols + c]));
      }
    }
  }
}

TEST(Fp8Blocks, ScaleOfTheBlock) {
  const int rows = 130, cols = 260;
  std::vector<uint8_t> codes(rows * cols, float_to_e4m3(2.0f));
  const std::vector<float> scale = {1, 2, 3, 4, 5, 6};
  std::vector<float> out(rows * cols);
  fp8_block_dequantise(codes.data(), scale.data(), rows, cols, out.data());
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[128], 4.0f);
  EXPECT_EQ(out[259], 6.0f);
  EXPECT_EQ(out[127 * cols + 127], 2.0f);
  EXPECT_EQ(out[128 * cols], 8.0f);
  EXPECT_EQ(out[129 * cols + 256], 12.0f);
}

}  // namespace
}  // namespace hitproof::kernels
