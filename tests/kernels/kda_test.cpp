#include "kernels/model/kda.h"

#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

struct Case {
  KdaShape shape;
  int rows, width;
  Floats qkv, g, beta;

  Case(int heads, int dim, int rows_, float bound = -5.0f)
      : shape{heads, dim}, rows(rows_), width(heads * dim) {
    qkv = testing::normal(static_cast<size_t>(rows) * 3 * width, 51);
    g = testing::uniform(static_cast<size_t>(rows) * width, 52, bound, 0.0f);
    beta = testing::uniform(static_cast<size_t>(rows) * heads, 53, 0.0f, 1.0f);
  }
  size_t state_size() const { return kda_state_floats(shape); }

  // Tokens [first, first + count) from `state` (null: zeros), the new state into `state_out`.
  Floats run(int chunk, int first, int count, const float* state, float* state_out) const {
    Floats o(static_cast<size_t>(count) * width);
    Floats workspace(kda_workspace_floats(shape), std::nanf(""));
    const KdaInput in{&qkv[static_cast<size_t>(first) * 3 * width], 3 * width,
                      &g[static_cast<size_t>(first) * width], width,
                      &beta[static_cast<size_t>(first) * shape.heads], shape.heads};
    kda_prefill(shape, chunk, in, count, state, state_out, o.data(), width, workspace.data());
    return o;
  }
};

// docs/model.md 2.3, steps 3 and 6, in double precision.
void reference(const Case& c, Doubles* o, Doubles* state) {
  const int d = c.shape.dim, heads = c.shape.heads;
  o->assign(static_cast<size_t>(c.rows) * c.width, 0.0);
  state->assign(c.state_size(), 0.0);
  for (int h = 0; h < heads; ++h) {
    double* s = state->data() + h * d * d;
    for (int t = 0; t < c.rows; ++t) {
      const float* row = &c.qkv[t * 3 * c.width];
      Doubles q(d), k(d);
      double qs = 1e-6, ks = 1e-6;
      for (int i = 0; i < d; ++i) {
        q[i] = row[h * d + i];
        k[i] = row[c.width + h * d + i];
        qs += q[i] * q[i];
        ks += k[i] * k[i];
      }
      for (int i = 0; i < d; ++i) {
        q[i] /= std::sqrt(qs) * std::sqrt(d);
        k[i] /= std::sqrt(ks);
        for (int v = 0; v < d; ++v) s[i * d + v] *= std::exp(double{c.g[t * c.width + h * d + i]});
      }
      for (int v = 0; v < d; ++v) {
        double r = 0.0;
        for (int i = 0; i < d; ++i) r += s[i * d + v] * k[i];
        const double delta = c.beta[t * heads + h] * (row[2 * c.width + h * d + v] - r);
        double out = 0.0;
        for (int i = 0; i < d; ++i) {
          s[i * d + v] += k[i] * delta;
          out += s[i * d + v] * q[i];
        }
        (*o)[t * c.width + h * d + v] = out;
      }
    }
  }
}

TEST(Kda, EveryFormMatchesTheRecurrence) {
  for (const int dim : {8, 16, 24, 64, 128}) {
    for (const int rows : {1, 2, 15, 16, 17, 70}) {
      const Case c(2, dim, rows);
      Doubles want_o, want_state;
      reference(c, &want_o, &want_state);
      for (const int chunk : {0, 16, 32, 64}) {
        Floats state(c.state_size(), std::nanf(""));
        const Floats o = c.run(chunk, 0, rows, nullptr, state.data());
        EXPECT_LT(testing::relative_error(o, want_o), 3e-6) << dim << ' ' << rows << ' ' << chunk;
        EXPECT_LT(testing::relative_error(state, want_state), 3e-6) << dim << ' ' << chunk;
      }
    }
  }
}

TEST(Kda, StrongAndWeakDecayStayFinite) {
  for (const float bound : {-5.0f, -1e-3f}) {
    const Case c(1, 64, 600, bound);
    Doubles want_o, want_state;
    reference(c, &want_o, &want_state);
    for (const int chunk : {0, 16, 32, 64}) {
      Floats state(c.state_size());
      const Floats o = c.run(chunk, 0, c.rows, nullptr, state.data());
      EXPECT_LT(testing::relative_error(o, want_o), 1e-4) << bound << ' ' << chunk;
      EXPECT_LT(testing::relative_error(state, want_state), 1e-4) << bound << ' ' << chunk;
    }
  }
}

TEST(Kda, RestartAnywhereEqualsOneShot) {
  const int rows = 50;
  const Case c(2, 16, rows);
  for (const int chunk : {0, 16, 32, 64}) {
    Floats end(c.state_size());
    const Floats whole = c.run(chunk, 0, rows, nullptr, end.data());
    for (int cut = 1; cut < rows; ++cut) {
      Floats state(c.state_size());
      const Floats head = c.run(chunk, 0, cut, nullptr, state.data());
      const Floats rest = c.run(chunk, cut, rows - cut, state.data(), state.data());
      const bool same = testing::same_bits(rest.data(), &whole[cut * c.width], rest.size()) &&
                        testing::same_bits(state.data(), end.data(), end.size());
      if (chunk == 0 || cut % chunk == 0) {
        EXPECT_TRUE(same) << chunk << ' ' << cut;
      }
      EXPECT_LT(testing::relative_error(rest, Doubles(whole.begin() + cut * c.width, whole.end())),
                1e-5);
      EXPECT_LT(testing::relative_error(state, Doubles(end.begin(), end.end())), 1e-5);
    }
  }
}

TEST(Kda, DecodeGivesTheBitsOfPrefillAndEveryState) {
  const int rows = 9;
  const Case c(3, 64, rows);
  Floats prefilled(c.state_size());
  const Floats whole = c.run(0, 0, rows, nullptr, prefilled.data());
  Floats start(c.state_size());
  c.run(0, 0, 7, nullptr, start.data());
  const Floats kept = start;
  Floats first(c.state_size()), second(c.state_size()), o(2 * c.width);
  Floats workspace(kda_workspace_floats(c.shape));
  const KdaInput in{&c.qkv[7 * 3 * c.width], 3 * c.width, &c.g[7 * c.width], c.width,
                    &c.beta[7 * 3], 3};
  float* const out[2] = {first.data(), second.data()};
  kda_decode(c.shape, in, 2, start.data(), out, o.data(), c.width, workspace.data());
  EXPECT_EQ(start, kept);
  EXPECT_TRUE(testing::same_bits(o.data(), &whole[7 * c.width], o.size()));
  EXPECT_EQ(second, prefilled);
  Floats eight(c.state_size());
  c.run(0, 0, 8, nullptr, eight.data());
  EXPECT_EQ(first, eight);
  // The state may be updated where it lies.
  float* const in_place[2] = {start.data(), second.data()};
  Floats again(o.size());
  kda_decode(c.shape, in, 2, start.data(), in_place, again.data(), c.width, workspace.data());
  EXPECT_EQ(again, o);
  EXPECT_EQ(start, eight);
}

TEST(Kda, NoTokensLeaveTheState) {
  const Case c(1, 8, 1);
  Floats state = testing::normal(c.state_size(), 61), out(c.state_size());
  c.run(0, 0, 0, state.data(), out.data());
  EXPECT_EQ(out, state);
  c.run(32, 0, 0, nullptr, out.data());
  EXPECT_EQ(out, Floats(c.state_size(), 0.0f));
}

}  // namespace
}  // namespace hitproof::kernels
