// Numbers from a seed: value i of tensor `name` depends on (seed, name, i) alone.
//
// Promises: the same bits on every machine and in any order of generation (integer arithmetic and
// exactly rounded fp32 operations only), so that ranks can make their slices alone and a script in
// another language can make the same weights. The "normal" values are sums of four 16-bit uniforms:
// mean 0, variance 1, no value beyond 3.47.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hitproof::engine {

class RandomTensor {
 public:
  RandomTensor(uint64_t seed, std::string_view name);

  /// out[i] = scale * normal value number i, i < n.
  void normal(float scale, float* out, size_t n) const;
  /// out[i] = low + (high - low) * uniform value number i in [0, 1).
  void uniform(float low, float high, float* out, size_t n) const;
  /// One normal value, unscaled.
  float normal_at(size_t i) const;

 private:
  uint64_t bits(uint64_t i) const;
  uint64_t key_;
};

} // namespace hitproof::engine
