#include "kernels/model/mhc.h"

#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

struct Case {
  int hidden, rows;
  Floats fn, packed, base, scale, norm, streams;
  MhcShape shape;
  MhcSite site;
  MhcBlocks blocks{256, 64};

  Case(int hidden_, int rows_) : hidden(hidden_), rows(rows_) {
    fn = testing::normal(24 * 4 * hidden, 1, 0.5f / std::sqrt(4.0f * hidden));
    packed.resize(mhc_packed_floats(hidden));
    mhc_pack_fn(fn.data(), hidden, packed.data());
    base = testing::normal(24, 2, 0.5f);
    for (int i = 0; i < 4; ++i) base[8 + 5 * i] += 3.0f;
    scale = {1.0f, 0.7f, 1.3f};
    norm = testing::uniform(hidden, 3, 0.5f, 1.5f);
    streams = testing::normal(static_cast<size_t>(rows) * 4 * hidden, 4, 2.0f);
    shape.hidden = hidden;
    site = {packed.data(), base.data(), scale.data(), norm.data()};
  }
};

// docs/model.md 2.2, steps 1 to 5, one token.
void reference_pre(const Case& c, const float* x, double* mix, double* u_n) {
  const int inner = 4 * c.hidden;
  double squares = 0.0;
  for (int i = 0; i < inner; ++i) squares += double{x[i]} * x[i];
  double z[24];
  for (int o = 0; o < 24; ++o) {
    z[o] = 0.0;
    for (int i = 0; i < inner; ++i) z[o] += double{c.fn[o * inner + i]} * x[i];
    z[o] /= std::sqrt(squares / inner + 1e-5);
  }
  for (int i = 0; i < 4; ++i) {
    mix[i] = testing::sigmoid(z[i] * c.scale[0] + c.base[i]) + 1e-6;
    mix[4 + i] = 2.0 * testing::sigmoid(z[4 + i] * c.scale[1] + c.base[4 + i]);
  }
  double m[4][4];
  for (int i = 0; i < 4; ++i) {
    double sum = 0.0;
    for (int j = 0; j < 4; ++j) {
      m[i][j] = std::exp(z[8 + 4 * i + j] * c.scale[2] + c.base[8 + 4 * i + j]);
      sum += m[i][j];
    }
    for (int j = 0; j < 4; ++j) m[i][j] = m[i][j] / sum + 1e-6;
  }
  for (int round = 0; round < 20; ++round) {
    if (round > 0) {
      for (auto& row : m) {
        const double sum = row[0] + row[1] + row[2] + row[3] + 1e-6;
        for (double& v : row) v /= sum;
      }
    }
    for (int j = 0; j < 4; ++j) {
      const double sum = m[0][j] + m[1][j] + m[2][j] + m[3][j] + 1e-6;
      for (auto& row : m) row[j] /= sum;
    }
  }
  for (int i = 0; i < 16; ++i) mix[8 + i] = m[i / 4][i % 4];
  double u_squares = 0.0;
  for (int d = 0; d < c.hidden; ++d) {
    u_n[d] = 0.0;
    for (int i = 0; i < 4; ++i) u_n[d] += mix[i] * x[i * c.hidden + d];
    u_squares += u_n[d] * u_n[d];
  }
  for (int d = 0; d < c.hidden; ++d) {
    u_n[d] *= c.norm[d] / std::sqrt(u_squares / c.hidden + 1e-5);
  }
}

TEST(Mhc, PreMatchesTheFormulas) {
  for (const int hidden : {8, 64, 72}) {
    for (const int rows : {1, 3, 4, 5, 8, 13}) {
      const Case c(hidden, rows);
      Floats mix(rows * 24), u(rows * hidden);
      mhc_pre(c.shape, c.site, c.blocks, c.streams.data(), rows, mix.data(), u.data(), hidden);
      Doubles want_mix(mix.size()), want_u(u.size());
      for (int r = 0; r < rows; ++r) {
        reference_pre(c, &c.streams[r * 4 * hidden], &want_mix[r * 24], &want_u[r * hidden]);
      }
      EXPECT_LT(testing::relative_error(mix, want_mix), 2e-6) << hidden << ' ' << rows;
      EXPECT_LT(testing::relative_error(u, want_u), 2e-6);
    }
  }
}

TEST(Mhc, CombIsNearlyDoublyStochastic) {
  const Case c(64, 8);
  Floats mix(8 * 24), u(8 * 64);
  mhc_pre(c.shape, c.site, c.blocks, c.streams.data(), 8, mix.data(), u.data(), 64);
  for (int r = 0; r < 8; ++r) {
    for (int i = 0; i < 4; ++i) {
      float row = 0.0f, column = 0.0f;
      for (int j = 0; j < 4; ++j) {
        row += mix[r * 24 + 8 + 4 * i + j];
        column += mix[r * 24 + 8 + 4 * j + i];
      }
      EXPECT_NEAR(row, 1.0f, 1e-2f);
      EXPECT_NEAR(column, 1.0f, 1e-4f);
    }
  }
}

TEST(Mhc, RowsDoNotDependOnTheBatch) {
  const int hidden = 64, rows = 21;
  const Case c(hidden, rows);
  Floats mix(rows * 24), u(rows * hidden);
  mhc_pre(c.shape, c.site, {64, 32}, c.streams.data(), rows, mix.data(), u.data(), hidden);
  for (int r = 0; r < rows; ++r) {
    Floats one_mix(24), one_u(hidden);
    mhc_pre(c.shape, c.site, {64, 32}, &c.streams[r * 4 * hidden], 1, one_mix.data(), one_u.data(),
            hidden);
    EXPECT_TRUE(testing::same_bits(one_mix.data(), &mix[r * 24], 24));
    EXPECT_TRUE(testing::same_bits(one_u.data(), &u[r * hidden], hidden));
  }
}

TEST(Mhc, PostMixesSourceToDestination) {
  const int hidden = 16, rows = 3;
  const Floats x = testing::normal(rows * 4 * hidden, 8), y = testing::normal(rows * hidden, 9);
  const Floats mix = testing::uniform(rows * 24, 10, 0.0f, 1.0f);
  Floats got = x;
  mhc_post(y.data(), hidden, mix.data(), rows, hidden, got.data());
  Doubles want(x.size());
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < 4; ++j) {
      for (int d = 0; d < hidden; ++d) {
        double sum = double{mix[r * 24 + 4 + j]} * y[r * hidden + d];
        for (int i = 0; i < 4; ++i) {
          sum += double{mix[r * 24 + 8 + 4 * i + j]} * x[(r * 4 + i) * hidden + d];
        }
        want[(r * 4 + j) * hidden + d] = sum;
      }
    }
  }
  EXPECT_LT(testing::relative_error(got, want), 1e-6);
}

TEST(Mhc, PostPreEqualsPostThenPre) {
  const int hidden = 64, rows = 19;
  const Case c(hidden, rows);
  const Floats y = testing::normal(rows * hidden, 5);
  Floats mix(rows * 24), u(rows * hidden);
  mhc_pre(c.shape, c.site, c.blocks, c.streams.data(), rows, mix.data(), u.data(), hidden);
  Floats x1 = c.streams, x2 = c.streams, mix1 = mix, mix2 = mix, u1(u.size()), u2(u.size());
  mhc_post(y.data(), hidden, mix1.data(), rows, hidden, x1.data());
  mhc_pre(c.shape, c.site, c.blocks, x1.data(), rows, mix1.data(), u1.data(), hidden);
  mhc_post_pre(y.data(), hidden, c.shape, c.site, c.blocks, x2.data(), rows, mix2.data(), u2.data(),
               hidden);
  EXPECT_EQ(x1, x2);
  EXPECT_EQ(mix1, mix2);
  EXPECT_EQ(u1, u2);
}

TEST(Mhc, SpreadAndMean) {
  const int hidden = 24;
  const Floats e = testing::normal(2 * hidden, 6);
  Floats x(2 * 4 * hidden), h(2 * hidden);
  mhc_spread(e.data(), hidden, 2, hidden, x.data());
  mhc_mean(x.data(), 2, hidden, h.data(), hidden);
  EXPECT_EQ(h, e);
}

}  // namespace
}  // namespace hitproof::kernels
