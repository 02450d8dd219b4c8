// Full tensors of the synthetic checkpoint, one at a time, in a fixed order.
#pragma once

#include "engine/model/aligned.h"
#include "schema/sha256.h"

#include <array>
#include <cstdint>
#include <string>

namespace hitproof::engine {

/// Makes each named tensor in memory and folds name, shape and values into the weights' identity.
/// The pointer stays valid until the next tensor is asked for, unless it is kept by copying.
class TensorSource {
 public:
  explicit TensorSource(uint64_t seed) : seed_(seed) {}

  /// [rows][cols], normal with that standard deviation.
  const float* normal(const std::string& name, int rows, int cols, float deviation);
  const float* uniform(const std::string& name, int rows, int cols, float low, float high);
  const float* filled(const std::string& name, int rows, int cols, float value);
  /// 1 + spread * normal.
  const float* around_one(const std::string& name, int n, float spread);

  /// For a tensor that is more than one formula: make it without hashing, change it, then seal it.
  float* draft(const std::string& name, int rows, int cols, float deviation);
  const float* seal(const std::string& name, int rows, int cols);

  std::array<uint8_t, 32> digest() { return sha_.finish(); }
  uint64_t seed() const { return seed_; }

 private:
  float* room(int rows, int cols);

  uint64_t seed_;
  Floats scratch_;
  schema::Sha256 sha_;
};

} // namespace hitproof::engine
