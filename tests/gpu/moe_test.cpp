// Router and experts: CUDA against the CPU.
#include "tests/gpu/sides.h"
#include "tests/kernels/reference.h"

namespace hitproof::kernels::testing {
namespace {

TEST(Router, EqualsTheCpuWithTies) {
  for (const auto& [experts, topk] : {std::pair{16, 4}, {288, 8}, {8, 2}, {512, 16}, {33, 16}}) {
    const int rows = 26, stride = experts + 2;
    Floats logits = normal(static_cast<size_t>(rows * stride), 101);
    Floats bias = normal(static_cast<size_t>(experts), 102, 0.05f);
    for (int i = 0; i < 6 * stride; ++i) {
      logits[static_cast<size_t>(i)] = std::round(logits[static_cast<size_t>(i)]);
    }
    for (const bool ties : {false, true}) {
      if (ties) bias.assign(bias.size(), 0.25f);
      check_rows({"moe_route", shape_text({{"experts", experts}, {"topk", topk}}), rows,
                  [&, topk = topk, experts = experts](Side& s, int first, int count) {
                    const auto picks = static_cast<size_t>(count * topk);
                    auto* ids = s.room<int32_t>(picks);
                    float* weights = s.room<float>(picks);
                    s.k.moe_route(nullptr, s.put(logits) + first * stride, stride, s.put(bias),
                                  count, experts, topk, 2.5f, ids, weights);
                    return join_rows(count, {as_floats(s.get(ids, picks)), s.get(weights, picks)});
                  }});
    }
  }
}

void check_experts(int rows, int hidden, int width, int experts, int topk, int block) {
  const ExpertShape shape{hidden, width};
  const auto n = static_cast<size_t>(rows), columns = static_cast<size_t>(hidden + 5);
  const Floats x = normal(n * columns, 103, 2.0f), y = normal(n * columns, 104);
  const Floats packed =
      normal(expert_packed_floats(shape) * static_cast<size_t>(experts), 105, 0.7f);
  std::vector<int32_t> ids;
  std::mt19937 engine(106);
  for (int r = 0; r < rows; ++r) {
    std::vector<int32_t> all(static_cast<size_t>(experts));
    for (int e = 0; e < experts; ++e)
      all[static_cast<size_t>(e)] = e;
    std::shuffle(all.begin(), all.end() - (experts > topk + 1 ? 1 : 0), engine); // one has no row
    std::sort(all.begin(), all.begin() + topk);
    ids.insert(ids.end(), all.begin(), all.begin() + topk);
  }
  const Floats weights = uniform(n * static_cast<size_t>(topk), 107, 0.0f, 1.0f);
  const std::string text = shape_text({{"rows", rows},
                                       {"hidden", hidden},
                                       {"width", width},
                                       {"experts", experts},
                                       {"topk", topk},
                                       {"block", block}});
  const auto stride = static_cast<int64_t>(columns);
  for (const bool accumulate : {false, true}) {
    check_rows({"expert_mlp", text, rows, [&](Side& s, int first, int count) {
                  float* out = s.put(y) + first * stride;
                  s.k.expert_mlp(nullptr, shape, s.put(x) + first * stride, stride, count,
                                 s.put(packed), block, accumulate, out, stride,
                                 s.room<float>(s.k.expert_workspace_floats(shape, count, 1)));
                  return s.get(out, static_cast<size_t>(count) * columns);
                }});
  }
  check_rows({"moe_grouped", text, rows, [&](Side& s, int first, int count) {
                float* out = s.put(y) + first * stride;
                s.k.moe_grouped(nullptr, shape, s.put(x) + first * stride, stride, count,
                                s.put(packed), experts, s.put(ids) + first * topk,
                                s.put(weights) + first * topk, topk, block, out, stride,
                                s.room<float>(s.k.expert_workspace_floats(shape, count, topk)),
                                s.room<int32_t>(s.k.moe_workspace_ints(count, experts, topk)));
                return s.get(out, static_cast<size_t>(count) * columns);
              }});
}

TEST(Experts, EqualTheCpu) {
  check_experts(3, 64, 32, 16, 4, 64);
  check_experts(40, 64, 8, 16, 4, 16);
  check_experts(150, 32, 16, 8, 4, 64);
  check_experts(70, 512, 64, 32, 8, 64);
  check_experts(9, 2048, 512, 3, 2, 64);
}

TEST(Experts, MoreRowsThanTheWorkspaceHolds) { check_experts(2050, 8, 8, 4, 1, 64); }

} // namespace
} // namespace hitproof::kernels::testing
