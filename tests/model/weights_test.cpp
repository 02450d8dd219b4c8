#include "engine/model/random_tensor.h"
#include "engine/model/weights.h"
#include "schema/sha256.h"

#include <cmath>
#include <gtest/gtest.h>

namespace hitproof::engine {
namespace {

TEST(RandomTensor, ValuesDependOnSeedNameAndIndexAlone) {
  float all[100], again[100];
  RandomTensor(7, "a").normal(1.0f, all, 100);
  RandomTensor(7, "a").normal(1.0f, again, 50);
  EXPECT_EQ(all[49], again[49]);
  EXPECT_EQ(RandomTensor(7, "a").normal_at(99), all[99]);
  EXPECT_NE(RandomTensor(8, "a").normal_at(0), all[0]);
  EXPECT_NE(RandomTensor(7, "b").normal_at(0), all[0]);
}

TEST(RandomTensor, NormalHasMeanZeroAndVarianceOne) {
  std::vector<float> x(200000);
  RandomTensor(1, "moments").normal(1.0f, x.data(), x.size());
  double sum = 0.0, squares = 0.0;
  for (const float v : x) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  EXPECT_NEAR(sum / static_cast<double>(x.size()), 0.0, 0.01);
  EXPECT_NEAR(squares / static_cast<double>(x.size()), 1.0, 0.01);
}

TEST(Weights, IdentityIsEqualOnAllRanksAndForEveryTp) {
  const ModelConfig c = find_preset("micro");
  const WeightRecipe recipe = recipe_for(c);
  const auto whole = make_weights(c, recipe, 3, 0, 1).digest;
  EXPECT_EQ(make_weights(c, recipe, 3, 0, 4).digest, whole);
  EXPECT_EQ(make_weights(c, recipe, 3, 3, 4).digest, whole);
  EXPECT_NE(make_weights(c, recipe, 4, 0, 1).digest, whole);
  EXPECT_FALSE(schema::is_zero(whole));
}

} // namespace
} // namespace hitproof::engine
