#include <algorithm>
#include <cfloat>
#include <cstring>

#include "kernels/model/mla.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {

void mla_pack_record(const LatentRecord& rec, const float* c, uint8_t* dst) noexcept {
  if (rec.tile == 0) {
    std::memcpy(dst, c, size_t{4} * rec.latent);
    return;
  }
  uint8_t* scales = dst + rec.latent;
  for (int tile = 0; tile < rec.latent; tile += rec.tile) {
    __m256 top = _mm256_setzero_ps();
    for (int i = tile; i < tile + rec.tile; i += 8) {
      top = _mm256_max_ps(top, simd::abs(simd::load(c + i)));
    }
    const float scale = std::max(simd::max_lanes(top) / 448.0f, FLT_MIN);
    const __m256 s = simd::splat(scale);
    for (int i = tile; i < tile + rec.tile; i += 8) {
      simd::store_e4m3(dst + i, simd::div(simd::load(c + i), s));
    }
    std::memcpy(scales + 4 * (tile / rec.tile), &scale, 4);
  }
  std::memset(scales + 4 * (rec.latent / rec.tile), 0, size_t{2} * rec.rope_zeros);
}

void mla_unpack_record(const LatentRecord& rec, const uint8_t* src, float* c) noexcept {
  if (rec.tile == 0) {
    std::memcpy(c, src, size_t{4} * rec.latent);
    return;
  }
  for (int tile = 0; tile < rec.latent; tile += rec.tile) {
    float scale;
    std::memcpy(&scale, src + rec.latent + 4 * (tile / rec.tile), 4);
    const __m256 s = simd::splat(scale);
    for (int i = tile; i < tile + rec.tile; i += 8) {
      simd::store(c + i, simd::mul(simd::load_e4m3(src + i), s));
    }
  }
}

void mla_append(const LatentRecord& rec, const float* c, int64_t c_stride, int64_t first, int rows,
                const PagedCache& cache) noexcept {
  const int bytes = latent_record_bytes(rec);
  for (int r = 0; r < rows; ++r) {
    const int64_t token = first + r;
    uint8_t* block = block_base(cache, token / cache.block_tokens);
    mla_pack_record(rec, c + r * c_stride, block + token % cache.block_tokens * bytes);
  }
}

void mla_load(const LatentRecord& rec, const PagedCache& cache, int64_t first, int count,
              float* out) noexcept {
  const int bytes = latent_record_bytes(rec);
  int64_t token = first;
  const int64_t end = first + count;
  while (token < end) {
    const uint8_t* block = block_base(cache, token / cache.block_tokens);
    const int64_t run_end =
        std::min(end, (token / cache.block_tokens + 1) * int64_t{cache.block_tokens});
    for (; token < run_end; ++token) {
      mla_unpack_record(rec, block + token % cache.block_tokens * bytes,
                        out + (token - first) * rec.latent);
    }
  }
}

void mla_gather(const LatentRecord& rec, const PagedCache& cache, const int32_t* ids, int count,
                float* out) noexcept {
  const int bytes = latent_record_bytes(rec);
  for (int i = 0; i < count; ++i) {
    const uint8_t* block = block_base(cache, ids[i] / cache.block_tokens);
    mla_unpack_record(rec, block + int64_t{ids[i] % cache.block_tokens} * bytes,
                      out + int64_t{i} * rec.latent);
  }
}

}  // namespace hitproof::kernels
