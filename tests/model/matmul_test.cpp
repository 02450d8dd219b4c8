#include "engine/model/matmul.h"
#include "engine/model/random_tensor.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace hitproof::engine {
namespace {

std::vector<float> noise(const char* name, int n) {
  std::vector<float> x(static_cast<size_t>(n));
  RandomTensor(5, name).normal(1.0f, x.data(), x.size());
  return x;
}

TEST(LargeMatmul, AgreesWithTheDefinition) {
  constexpr int rows = 37, k = 70, n = 45;
  const auto a = noise("a", rows * k), w = noise("w", n * k);
  std::vector<float> c(rows * n);
  large_matmul(a.data(), k, rows, w.data(), n, k, c.data(), n);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < n; ++j) {
      double sum = 0.0;
      for (int i = 0; i < k; ++i)
        sum += static_cast<double>(a[static_cast<size_t>(r * k + i)]) *
               w[static_cast<size_t>(j * k + i)];
      ASSERT_NEAR(c[static_cast<size_t>(r * n + j)], sum, 1e-4);
    }
  }
}

TEST(LargeMatmul, BitsOfARowDependOnThatRowAlone) {
  constexpr int rows = 150, k = 300, n = 200;
  const auto a = noise("a", rows * k), w = noise("w", n * k);
  std::vector<float> all(rows * n), one(n), again(rows * n);
  large_matmul(a.data(), k, rows, w.data(), n, k, all.data(), n);
  large_matmul(a.data(), k, rows, w.data(), n, k, again.data(), n);
  EXPECT_EQ(std::memcmp(all.data(), again.data(), all.size() * sizeof(float)), 0);
  for (int r = 0; r < rows; ++r) {
    large_matmul(a.data() + r * k, k, 1, w.data(), n, k, one.data(), n);
    ASSERT_EQ(std::memcmp(one.data(), all.data() + r * n, n * sizeof(float)), 0) << r;
  }
}

} // namespace
} // namespace hitproof::engine
