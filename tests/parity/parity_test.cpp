// Hidden states and logits of the whole stack against Transformers' Glm5NextTextModel in fp32.
//
// The vectors come from make_vectors.py. Prompts are longer than the indexer's top-k, so rows
// choose among pools, and they contain rows with t mod 4 = 3, which have no tail and see their own
// pool only where it was chosen.
//
// With HITPROOF_MODEL_KERNELS=<library with CUDA kernels> the stack runs through that table, on a
// device or on what emulates one.
#include "tests/model/harness.h"
#include "tests/parity/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
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

// Of the reference file.
constexpr int prompts = 2;

enum class Steps { one, restarted };

struct Run {
  int kda_chunk;
  int prompt;
  Steps steps;
};

class Parity : public ::testing::TestWithParam<Run> {};

TEST_P(Parity, StackAgreesWithTransformers) {
  const auto& [kda_chunk, prompt, steps] = GetParam();
  const char* elsewhere = std::getenv("HITPROOF_PARITY_VECTORS");
  const std::string folder = elsewhere == nullptr ? HITPROOF_PARITY_VECTORS : elsewhere;
  const ReferenceFile file = read_reference(folder + "/stack.safetensors");
  const uint64_t seed = std::stoull(file.metadata.at("seed"));
  TestSide side;
  if (const kernels::ModelKernels* other = kernels_of_environment()) side.kernels = other;
  if (const char* problem = side.kernels->bind(0)) GTEST_SKIP() << problem;

  const std::string name = "prompt." + std::to_string(prompt) + ".";
  const ReferenceTensor& ids_tensor = file.tensors.at(name + "ids");
  const std::vector<int32_t> ids(ids_tensor.ints(), ids_tensor.ints() + ids_tensor.shape[0]);
  const int length = static_cast<int>(ids.size());
  ASSERT_GT(length, find_preset("parity").index_topk + 4);

  std::vector<int> ends = {length};
  if (steps == Steps::restarted) {
    ends = {5, 40};
    for (int t = 41; t < 50; ++t)
      ends.push_back(t); // token by token, one of each t mod 4
    ends.push_back(length);
  }
  const StackRun run = run_stack(find_preset("parity"), kda_chunk, seed, ids, ends, side);
  const double hidden = relative_error(run.hidden, file.tensors.at(name + "hidden").floats());
  const double logits = relative_error(run.logits, file.tensors.at(name + "logits").floats());
  std::printf("%s, prompt %d of %d tokens, %zu steps, kda_chunk %d: hidden %.2e, logits %.2e\n",
              side.kernels->name, prompt, length, ends.size(), kda_chunk, hidden, logits);
  EXPECT_LT(hidden, tolerance);
  EXPECT_LT(logits, tolerance);
}

std::vector<Run> every_run() {
  std::vector<Run> runs;
  for (const int kda_chunk : {0, 16, 64})
    for (int prompt = 0; prompt < prompts; ++prompt)
      for (const Steps steps : {Steps::one, Steps::restarted})
        runs.push_back({kda_chunk, prompt, steps});
  return runs;
}

std::string name_of(const ::testing::TestParamInfo<Run>& run) {
  return "chunk" + std::to_string(run.param.kda_chunk) + "_prompt" +
         std::to_string(run.param.prompt) + (run.param.steps == Steps::one ? "" : "_restarted");
}

INSTANTIATE_TEST_SUITE_P(RecurrentAndChunked, Parity, ::testing::ValuesIn(every_run()), name_of);

} // namespace
} // namespace hitproof::engine::testing
