#include "engine/model/random_tensor.h"

namespace hitproof::engine {
namespace {

// Finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t fnv1a(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text)
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

// Standard deviation of the sum of four uniform 16-bit integers is sqrt(4 * (65536^2 - 1) / 12).
constexpr float inverse_deviation = 2.6428996e-05f;

} // namespace

RandomTensor::RandomTensor(uint64_t seed, std::string_view name)
    : key_(mix(mix(seed + 0x9e3779b97f4a7c15ull) ^ fnv1a(name))) {}

uint64_t RandomTensor::bits(uint64_t i) const {
  return mix(key_ + (i + 1) * 0x9e3779b97f4a7c15ull);
}

float RandomTensor::normal_at(size_t i) const {
  const uint64_t b = bits(i);
  const auto sum =
      static_cast<int32_t>((b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48));
  return static_cast<float>(sum - 2 * 65535) * inverse_deviation;
}

void RandomTensor::normal(float scale, float* out, size_t n) const {
  for (size_t i = 0; i < n; ++i)
    out[i] = normal_at(i) * scale;
}

void RandomTensor::uniform(float low, float high, float* out, size_t n) const {
  for (size_t i = 0; i < n; ++i) {
    const float u = static_cast<float>(bits(i) >> 40) * 0x1p-24f;
    out[i] = low + (high - low) * u; // this room is compiled without contraction to fma
  }
}

} // namespace hitproof::engine
