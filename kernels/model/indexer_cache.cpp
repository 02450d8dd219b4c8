// The indexer's caches: tail ring, pooling, pooled-key pages; and the query chain.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/model/indexer.h"
#include "kernels/model/numeric.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int max_dim = 256;

int64_t tail_offset(const TailView& tail, int half, int64_t token) {
  return half * tail.half_stride + token % tail.ring * tail.slot_stride;
}

void tail_read(bool exact, const TailView& tail, int half, int64_t token, int dim, float* out) {
  const int64_t at = tail_offset(tail, half, token);
  for (int d = 0; d < dim; ++d) {
    const int64_t i = at + d * tail.channel_stride;
    out[d] = exact ? static_cast<const float*>(tail.data)[i]
                   : bf16_to_float(static_cast<const uint16_t*>(tail.data)[i]);
  }
}

void tail_write(bool exact, const TailView& tail, int half, int64_t token, int dim,
                const float* in) {
  const int64_t at = tail_offset(tail, half, token);
  for (int d = 0; d < dim; ++d) {
    const int64_t i = at + d * tail.channel_stride;
    if (exact) {
      static_cast<float*>(tail.data)[i] = in[d];
    } else {
      static_cast<uint16_t*>(tail.data)[i] = float_to_bf16(in[d]);
    }
  }
}

// 2^ceil(log2(amax / 448)), amax at least 1e-4 so that the result is normal.
float power_scale(float amax) {
  const uint32_t bits = std::bit_cast<uint32_t>(std::max(amax, 1e-4f) / 448.0f);
  const uint32_t exponent = (bits >> 23) + ((bits & 0x7fffffu) != 0 ? 1 : 0);
  return std::bit_cast<float>(exponent << 23);
}

// BF16, Hadamard, BF16, in place; returns the power-of-two scale of the result.
float rotate(float* x, int dim) {
  round_to_bf16(x, x, dim);
  hadamard_rows(x, dim, 1, dim);
  __m256 top = _mm256_setzero_ps();
  for (int i = 0; i < dim; i += 8) {
    const __m256 v = simd::round_bf16(simd::load(x + i));
    simd::store(x + i, v);
    top = _mm256_max_ps(top, simd::abs(v));
  }
  return power_scale(simd::max_lanes(top));
}

void write_pooled_key(const IndexerShape& shape, float* key, int64_t pool,
                      const PagedCache& cache) {
  const int states = cache.block_tokens / index_pool;
  uint8_t* block = block_base(cache, pool / states);
  const int state = static_cast<int>(pool % states);
  if (shape.exact) {
    std::memcpy(block + size_t{4} * state * shape.dim, key, size_t{4} * shape.dim);
    return;
  }
  const int page_states = index_page_states(cache.block_tokens);
  uint8_t* page = block + int64_t{state / page_states} * page_states * (shape.dim + 4);
  const int slot = state % page_states;
  const float scale = rotate(key, shape.dim);
  const __m256 inverse = simd::splat(1.0f / scale);
  for (int i = 0; i < shape.dim; i += 8) {
    simd::store_e4m3(page + int64_t{slot} * shape.dim + i,
                     simd::mul(simd::load(key + i), inverse));
  }
  std::memcpy(page + int64_t{page_states} * shape.dim + 4 * slot, &scale, 4);
}

// key[d] = sum_j softmax_j(gs_j[d] + ape_j[d]) * ki_j[d]
void pool_tokens(const float (*ki)[max_dim], const float (*gs)[max_dim], const float* ape, int dim,
                 float* key) {
  for (int i = 0; i < dim; i += 8) {
    __m256 a[index_pool];
    simd::unroll<index_pool>([&](auto j) {
      a[j] = simd::add(simd::load(gs[j] + i), simd::load(ape + int64_t{j} * dim + i));
    });
    const __m256 top = _mm256_max_ps(_mm256_max_ps(a[0], a[1]), _mm256_max_ps(a[2], a[3]));
    simd::unroll<index_pool>([&](auto j) { a[j] = simd::exp(simd::sub(a[j], top)); });
    const __m256 sum = simd::add(simd::add(a[0], a[1]), simd::add(a[2], a[3]));
    __m256 k = _mm256_setzero_ps();
    simd::unroll<index_pool>(
        [&](auto j) { k = simd::fma(simd::div(a[j], sum), simd::load(ki[j] + i), k); });
    simd::store(key + i, k);
  }
}

}  // namespace

void indexer_append(const IndexerShape& shape, const float* ki, int64_t ki_stride, const float* gs,
                    int64_t gs_stride, const float* ape, int64_t first, int rows,
                    const TailView& tail, const PagedCache& cache) noexcept {
  const int dim = shape.dim;
  const auto fetch = [&](int half, int64_t token, float* out) {
    if (token < first) return tail_read(shape.exact, tail, half, token, dim, out);
    const float* row = half == 0 ? ki + (token - first) * ki_stride : gs + (token - first) * gs_stride;
    if (shape.exact) {
      std::copy_n(row, dim, out);
    } else {
      round_to_bf16(row, out, dim);
    }
  };
  // All pools first: a slot of the ring is overwritten only after the pool that reads it.
  for (int64_t last = first + (index_pool - 1 - first % index_pool); last < first + rows;
       last += index_pool) {
    alignas(32) float k[index_pool][max_dim];
    alignas(32) float g[index_pool][max_dim];
    alignas(32) float key[max_dim];
    for (int j = 0; j < index_pool; ++j) {
      fetch(0, last - (index_pool - 1) + j, k[j]);
      fetch(1, last - (index_pool - 1) + j, g[j]);
    }
    pool_tokens(k, g, ape, dim, key);
    write_pooled_key(shape, key, last / index_pool, cache);
  }
  for (int r = std::max(0, rows - tail.ring); r < rows; ++r) {
    tail_write(shape.exact, tail, 0, first + r, dim, ki + r * ki_stride);
    tail_write(shape.exact, tail, 1, first + r, dim, gs + r * gs_stride);
  }
}

void indexer_queries(const IndexerShape& shape, const float* q, int64_t q_stride, const float* w,
                     int64_t w_stride, int rows, float* codes, int64_t codes_stride, float* folded,
                     int64_t folded_stride) noexcept {
  const int dim = shape.dim;
  const float factor = 1.0f / std::sqrt(static_cast<float>(dim)) /
                       std::sqrt(static_cast<float>(shape.heads));
  for (int r = 0; r < rows; ++r) {
    for (int h = 0; h < shape.heads; ++h) {
      const float* in = q + r * q_stride + int64_t{h} * dim;
      float* out = codes + r * codes_stride + int64_t{h} * dim;
      if (in != out) std::copy_n(in, dim, out);
      float weight = w[r * w_stride + h] * factor;
      if (!shape.exact) {
        const float scale = rotate(out, dim);
        const __m256 inverse = simd::splat(1.0f / scale);
        for (int i = 0; i < dim; i += 8) {
          const __m256 v = simd::mul(simd::load(out + i), inverse);
          simd::store(out + i, simd::from_e4m3(simd::to_e4m3(v)));
        }
        weight *= scale;
      }
      folded[r * folded_stride + h] = weight;
    }
  }
}

size_t indexer_packed_floats(const IndexerShape& shape, int pools) noexcept {
  return static_cast<size_t>((pools + 15) / 16) * 16 * (shape.dim + 1);
}

void indexer_load_keys(const IndexerShape& shape, const PagedCache& cache, int pools,
                       float* packed) noexcept {
  const int dim = shape.dim;
  const int states = cache.block_tokens / index_pool;
  const int page_states = index_page_states(cache.block_tokens);
  const int padded = (pools + 15) / 16 * 16;
  float* scales = packed + int64_t{padded} * dim;
  for (int begin = 0; begin < padded; begin += 8) {
    const uint8_t* keys[8];
    for (int j = 0; j < 8; ++j) {
      const int pool = begin + j;
      keys[j] = nullptr;
      scales[pool] = 0.0f;
      if (pool >= pools) continue;
      const int state = pool % states;
      const uint8_t* block = block_base(cache, pool / states);
      if (shape.exact) {
        keys[j] = block + size_t{4} * state * dim;
        scales[pool] = 1.0f;
      } else {
        const uint8_t* page = block + int64_t{state / page_states} * page_states * (dim + 4);
        const int slot = state % page_states;
        keys[j] = page + int64_t{slot} * dim;
        std::memcpy(scales + pool, page + int64_t{page_states} * dim + 4 * slot, 4);
      }
    }
    float* panel = packed + int64_t{begin / 16} * 16 * dim + begin % 16;
    for (int i = 0; i < dim; i += 8) {
      __m256 t[8];
      for (int j = 0; j < 8; ++j) {
        if (keys[j] == nullptr) {
          t[j] = _mm256_setzero_ps();
        } else if (shape.exact) {
          t[j] = simd::load(reinterpret_cast<const float*>(keys[j]) + i);
        } else {
          t[j] = simd::load_e4m3(keys[j] + i);
        }
      }
      simd::transpose8(t);
      for (int j = 0; j < 8; ++j) simd::store(panel + int64_t{i + j} * 16, t[j]);
    }
  }
}

}  // namespace hitproof::kernels
