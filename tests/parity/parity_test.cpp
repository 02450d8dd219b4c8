// Hidden states and logits of the whole stack against Transformers' Glm5NextTextModel in fp32.
//
// The vectors come from make_vectors.py. Prompts are longer than the indexer's top-k, so rows
// choose among pools, and they contain rows with t mod 4 = 3, which have no tail and see their own
// pool only where it was chosen.
#include "tests/model/harness.h"
#include "tests/parity/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>

namespace hitproof::engine::testing {
namespace {

constexpr double tolerance = 1e-4;

// Largest |a - b| over the largest |b|.
double relative_error(const std::vector<float>& a, const float* b) {
  double difference = 0.0;
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference =
        std::max(difference, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
  }
  return difference / largest;
}

class Parity : public ::testing::TestWithParam<int> {};

TEST_P(Parity, StackAgreesWithTransformers) {
  const ReferenceFile file =
      read_reference(std::string(HITPROOF_PARITY_VECTORS) + "/stack.safetensors");
  const uint64_t seed = std::stoull(file.metadata.at("seed"));
  for (int prompt = 0; prompt < 2; ++prompt) {
    const std::string name = "prompt." + std::to_string(prompt) + ".";
    const ReferenceTensor& ids_tensor = file.tensors.at(name + "ids");
    const std::vector<int32_t> ids(ids_tensor.ints(), ids_tensor.ints() + ids_tensor.shape[0]);
    const int length = static_cast<int>(ids.size());
    ASSERT_GT(length, find_preset("parity").index_topk + 4);

    std::vector<int> restarted = {5, 40};
    for (int t = 41; t < 50; ++t)
      restarted.push_back(t); // token by token, one of each t mod 4
    restarted.push_back(length);
    for (const std::vector<int>& ends : {std::vector<int>{length}, restarted}) {
      const StackRun run = run_stack(find_preset("parity"), GetParam(), seed, ids, ends);
      const double hidden = relative_error(run.hidden, file.tensors.at(name + "hidden").floats());
      const double logits = relative_error(run.logits, file.tensors.at(name + "logits").floats());
      std::printf("prompt %d, %zu steps, kda_chunk %d: hidden %.2e, logits %.2e\n", prompt,
                  ends.size(), GetParam(), hidden, logits);
      EXPECT_LT(hidden, tolerance);
      EXPECT_LT(logits, tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RecurrentAndChunked, Parity, ::testing::Values(0, 16, 64));

} // namespace
} // namespace hitproof::engine::testing
