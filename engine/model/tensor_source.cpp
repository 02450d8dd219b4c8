#include "engine/model/tensor_source.h"

#include "engine/model/random_tensor.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

size_t count(int rows, int cols) { return static_cast<size_t>(rows) * static_cast<size_t>(cols); }

} // namespace

float* TensorSource::room(int rows, int cols) {
  if (scratch_.size() < count(rows, cols)) scratch_.resize(count(rows, cols));
  return scratch_.data();
}

const float* TensorSource::seal(const std::string& name, int rows, int cols) {
  const float* values = room(rows, cols);
  sha_.update(name).update_u32(static_cast<uint32_t>(rows)).update_u32(static_cast<uint32_t>(cols));
  sha_.update(values, count(rows, cols) * sizeof(float));
  return values;
}

float* TensorSource::draft(const std::string& name, int rows, int cols, float deviation) {
  float* out = room(rows, cols);
  RandomTensor(seed_, name).normal(deviation, out, count(rows, cols));
  return out;
}

const float* TensorSource::normal(const std::string& name, int rows, int cols, float deviation) {
  draft(name, rows, cols, deviation);
  return seal(name, rows, cols);
}

const float* TensorSource::uniform(const std::string& name, int rows, int cols, float low,
                                   float high) {
  RandomTensor(seed_, name).uniform(low, high, room(rows, cols), count(rows, cols));
  return seal(name, rows, cols);
}

const float* TensorSource::filled(const std::string& name, int rows, int cols, float value) {
  std::fill_n(room(rows, cols), count(rows, cols), value);
  return seal(name, rows, cols);
}

const float* TensorSource::around_one(const std::string& name, int n, float spread) {
  float* out = draft(name, 1, n, spread);
  for (int i = 0; i < n; ++i)
    out[i] += 1.0f;
  return seal(name, 1, n);
}

} // namespace hitproof::engine
