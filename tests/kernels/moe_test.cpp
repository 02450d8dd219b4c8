#include "kernels/model/moe.h"

#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

TEST(Router, ChoosesByCorrectedScoreAndWeighsByTheUncorrected) {
  const int rows = 40, experts = 16, topk = 4;
  const Floats logits = testing::normal(rows * experts, 91), bias = testing::normal(experts, 92);
  std::vector<int32_t> ids(rows * topk);
  Floats weights(rows * topk);
  moe_route(logits.data(), experts, bias.data(), rows, experts, topk, 2.5f, ids.data(),
            weights.data());
  for (int r = 0; r < rows; ++r) {
    std::vector<std::pair<double, int>> order;
    for (int e = 0; e < experts; ++e) {
      order.emplace_back(-(testing::sigmoid(logits[r * experts + e]) + bias[e]), e);
    }
    std::sort(order.begin(), order.end());
    std::vector<int> want;
    double sum = 1e-20;
    for (int k = 0; k < topk; ++k) want.push_back(order[k].second);
    std::sort(want.begin(), want.end());
    for (const int e : want) sum += testing::sigmoid(logits[r * experts + e]);
    for (int k = 0; k < topk; ++k) {
      EXPECT_EQ(ids[r * topk + k], want[k]);
      EXPECT_NEAR(weights[r * topk + k],
                  testing::sigmoid(logits[r * experts + want[k]]) / sum * 2.5, 1e-6);
    }
  }
}

TEST(Router, TiesGoToTheLowerIdAndNanIsNotRandom) {
  Floats logits(16, 0.5f);
  const Floats bias(16, 0.0f);
  std::vector<int32_t> ids(4);
  Floats weights(4);
  moe_route(logits.data(), 16, bias.data(), 1, 16, 4, 1.0f, ids.data(), weights.data());
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 1, 2, 3}));
  for (const float w : weights) EXPECT_FLOAT_EQ(w, 0.25f);
  std::fill(logits.begin(), logits.end(), std::nanf(""));
  moe_route(logits.data(), 16, bias.data(), 1, 16, 4, 1.0f, ids.data(), weights.data());
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 1, 2, 3}));
}

struct Experts {
  ExpertShape shape;
  int count;
  Floats gate, up, down, packed, workspace;

  Experts(int hidden, int width, int count_, float scale = 0.2f)
      : shape{hidden, width}, count(count_) {
    const size_t each = static_cast<size_t>(hidden) * width;
    gate = testing::normal(each * count, 101, scale);
    up = testing::normal(each * count, 102, scale);
    down = testing::normal(each * count, 103, scale);
    packed.resize(expert_packed_floats(shape) * count);
    for (int e = 0; e < count; ++e) {
      expert_pack(shape, &gate[e * each], &up[e * each], hidden, &down[e * each], width,
                  &packed[e * expert_packed_floats(shape)]);
    }
    workspace.resize(expert_workspace_floats(shape), std::nanf(""));
  }

  void add_reference(int e, const float* x, double weight, double* y) const {
    const int hidden = shape.hidden, width = shape.width;
    const size_t at = static_cast<size_t>(e) * hidden * width;
    for (int w = 0; w < width; ++w) {
      double a = 0.0, b = 0.0;
      for (int i = 0; i < hidden; ++i) {
        a += double{gate[at + w * hidden + i]} * x[i];
        b += double{up[at + w * hidden + i]} * x[i];
      }
      const double h = testing::silu(std::min(a, 10.0)) * std::clamp(b, -10.0, 10.0);
      for (int i = 0; i < hidden; ++i) y[i] += weight * h * down[at + i * width + w];
    }
  }
};

TEST(Expert, ClampedSwiGluInEveryRow) {
  for (const float x_scale : {1.0f, 30.0f}) {  // the second clamps most channels
    Experts ex(24, 40, 1);
    const int rows = 51;
    const Floats x = testing::normal(rows * 24, 104, x_scale);
    Floats y(rows * 24);
    expert_mlp(ex.shape, x.data(), 24, rows, ex.packed.data(), 64, false, y.data(), 24,
               ex.workspace.data());
    Doubles want(y.size());
    for (int r = 0; r < rows; ++r) ex.add_reference(0, &x[r * 24], 1.0, &want[r * 24]);
    EXPECT_LT(testing::relative_error(y, want), 3e-6);
  }
}

TEST(Expert, Accumulates) {
  Experts ex(16, 8, 1);
  const Floats x = testing::normal(3 * 16, 105);
  Floats y(3 * 16, 1.0f), plain(3 * 16);
  expert_mlp(ex.shape, x.data(), 16, 3, ex.packed.data(), 64, true, y.data(), 16,
             ex.workspace.data());
  expert_mlp(ex.shape, x.data(), 16, 3, ex.packed.data(), 64, false, plain.data(), 16,
             ex.workspace.data());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 1.0f + plain[i]);
}

TEST(Moe, GroupedExpertsMatchTheSumAndRowsAreIndependent) {
  const int rows = 130, hidden = 64, experts = 6, topk = 3;
  Experts ex(hidden, 8, experts);
  const Floats x = testing::normal(rows * hidden, 106), bias(experts, 0.0f);
  const Floats logits = testing::normal(rows * experts, 107);
  std::vector<int32_t> ids(rows * topk);
  Floats weights(rows * topk), y(rows * hidden, std::nanf(""));
  moe_route(logits.data(), experts, bias.data(), rows, experts, topk, 2.5f, ids.data(),
            weights.data());
  std::vector<int32_t> ints(moe_workspace_ints(rows, experts, topk));
  moe_grouped(ex.shape, x.data(), hidden, rows, ex.packed.data(), experts, ids.data(),
              weights.data(), topk, 32, y.data(), hidden, ex.workspace.data(), ints.data());
  Doubles want(y.size());
  for (int r = 0; r < rows; ++r) {
    for (int k = 0; k < topk; ++k) {
      ex.add_reference(ids[r * topk + k], &x[r * hidden], weights[r * topk + k], &want[r * hidden]);
    }
    Floats one(hidden);
    moe_grouped(ex.shape, &x[r * hidden], hidden, 1, ex.packed.data(), experts, &ids[r * topk],
                &weights[r * topk], topk, 32, one.data(), hidden, ex.workspace.data(), ints.data());
    EXPECT_TRUE(testing::same_bits(one.data(), &y[r * hidden], hidden)) << r;
  }
  EXPECT_LT(testing::relative_error(y, want), 3e-6);
}

}  // namespace
}  // namespace hitproof::kernels
