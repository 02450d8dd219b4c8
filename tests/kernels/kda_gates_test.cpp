#include <span>

#include "kernels/model/kda.h"
#include "kernels/model/numeric.h"
#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

struct Conv {
  KdaShape shape;
  int channels, rows;
  Floats raw, weight;
  Conv(int heads, int dim, int rows_) : shape{heads, dim}, channels(3 * heads * dim), rows(rows_) {
    raw = testing::normal(static_cast<size_t>(rows) * channels, 21);
    weight = testing::normal(4 * channels, 22, 0.5f);
  }
  Floats run(int first, int count, const uint16_t* history) const {
    Floats out(static_cast<size_t>(count) * channels);
    kda_conv_silu(shape, &raw[static_cast<size_t>(first) * channels], channels, count,
                  weight.data(), history, out.data(), channels);
    return out;
  }
};

TEST(KdaConv, MatchesTheFormulaFromTheFirstToken) {
  for (const int rows : {1, 2, 3, 4, 15, 16, 17, 40}) {
    const Conv c(2, 8, rows);
    const Floats out = c.run(0, rows, nullptr);
    Doubles want(out.size());
    for (int t = 0; t < rows; ++t) {
      for (int ch = 0; ch < c.channels; ++ch) {
        double sum = 0.0;
        for (int j = 0; j < 4; ++j) {
          if (t - 3 + j < 0) continue;
          sum += double{c.weight[j * c.channels + ch]} *
                 testing::bf16(c.raw[(t - 3 + j) * c.channels + ch]);
        }
        want[t * c.channels + ch] = testing::silu(sum);
      }
    }
    EXPECT_LT(testing::relative_error(out, want), 1e-6) << rows;
  }
}

TEST(KdaConv, RestartAnywhereGivesTheBitsOfOneShot) {
  const int rows = 37;
  const Conv c(1, 16, rows);
  const Floats whole = c.run(0, rows, nullptr);
  for (int cut = 1; cut < rows; ++cut) {
    std::vector<uint16_t> state(kda_conv_bytes(c.shape) / 2);
    kda_conv_state(c.shape, c.raw.data(), c.channels, cut, nullptr, state.data());
    const Floats rest = c.run(cut, rows - cut, state.data());
    EXPECT_TRUE(testing::same_bits(rest.data(), &whole[cut * c.channels], rest.size())) << cut;
  }
}

TEST(KdaConv, StateIsTheLastRowsNewestLast) {
  const Conv c(1, 8, 9);
  std::vector<uint16_t> once(kda_conv_bytes(c.shape) / 2), steps(once.size(), 0xffff);
  for (const int rows : {1, 2, 4, 5, 9}) {
    kda_conv_state(c.shape, c.raw.data(), c.channels, rows, nullptr, once.data());
    for (int i = 0; i < 4; ++i) {
      const int token = rows - 4 + i;
      for (int ch = 0; ch < c.channels; ++ch) {
        const uint16_t want = token < 0 ? uint16_t{0} : float_to_bf16(c.raw[token * c.channels + ch]);
        ASSERT_EQ(once[i * c.channels + ch], want);
      }
    }
    // Token by token, in place.
    kda_conv_state(c.shape, c.raw.data(), c.channels, 1, nullptr, steps.data());
    for (int t = 1; t < rows; ++t) {
      kda_conv_state(c.shape, &c.raw[t * c.channels], c.channels, 1, steps.data(), steps.data());
    }
    EXPECT_EQ(once, steps) << rows;
  }
}

TEST(KdaGates, DecayAndBeta) {
  const KdaShape shape{3, 16};
  const int rows = 5, width = 48;
  const Floats f = testing::normal(rows * width, 31, 3.0f), b = testing::normal(rows * 3, 32, 3.0f);
  const Floats a_exp = {1.0f, 0.3f, 4.0f}, bias = testing::uniform(width, 33, -4.5f, -1.5f);
  Floats g = f, beta = b;
  kda_gates(shape, g.data(), width, beta.data(), 3, rows, a_exp.data(), bias.data(), g.data(), width,
            beta.data(), 3);
  Doubles want_g(g.size()), want_beta(beta.size());
  for (int t = 0; t < rows; ++t) {
    for (int h = 0; h < 3; ++h) {
      want_beta[t * 3 + h] = testing::sigmoid(b[t * 3 + h]);
      for (int d = 0; d < 16; ++d) {
        const int i = h * 16 + d;
        const double x = double{a_exp[h]} * (double{f[t * width + i]} + bias[i]);
        want_g[t * width + i] = -5.0 * testing::sigmoid(x);
        EXPECT_LE(g[t * width + i], 0.0f);
        EXPECT_GE(g[t * width + i], -5.0f);
      }
    }
  }
  EXPECT_LT(testing::relative_error(g, want_g), 1e-6);
  EXPECT_LT(testing::relative_error(beta, want_beta), 1e-6);
}

TEST(KdaGates, OutputGate) {
  const KdaShape shape{2, 24};
  const int rows = 3, width = 48;
  const Floats o = testing::normal(rows * width, 41), gate = testing::normal(rows * width, 42);
  const Floats norm = testing::normal(24, 43);
  Floats y = o;
  kda_output_gate(shape, y.data(), width, gate.data(), width, rows, norm.data(), 1e-5f, 16, y.data(),
                  width);
  Doubles want(y.size());
  for (int t = 0; t < rows; ++t) {
    for (int h = 0; h < 2; ++h) {
      const int at = t * width + h * 24;
      double squares = 0.0;
      for (int d = 0; d < 24; ++d) squares += double{o[at + d]} * o[at + d];
      for (int d = 0; d < 24; ++d) {
        want[at + d] = o[at + d] / std::sqrt(squares / 24 + 1e-5) * norm[d] *
                       testing::sigmoid(gate[at + d]);
      }
    }
  }
  EXPECT_LT(testing::relative_error(y, want), 1e-6);
}

}  // namespace
}  // namespace hitproof::kernels
