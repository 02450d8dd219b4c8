// Sparse multi-head latent attention without rotary, absorbed form (docs/model.md 2.4 and 4.1).
//
// Cache record of a token (scheme fp8_ds_mla): latent e4m3 codes in tiles of `tile`, then one fp32
// scale a tile = max(max|x| / 448, FLT_MIN), then rope_zeros BF16 zeros. tile == 0: an fp32 record
// of latent values (parity runs). latent and tile are multiples of 8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/model/paged.h"

namespace hitproof::kernels {

struct LatentRecord {
  int latent;
  int tile;
  int rope_zeros;
};

constexpr int latent_record_bytes(const LatentRecord& r) {
  return r.tile == 0 ? 4 * r.latent : r.latent + 4 * (r.latent / r.tile) + 2 * r.rope_zeros;
}

// One record at dst from latent values c, and back.
void mla_pack_record(const LatentRecord& rec, const float* c, uint8_t* dst) noexcept;
void mla_unpack_record(const LatentRecord& rec, const uint8_t* src, float* c) noexcept;

// Tokens first .. first+rows-1: c [rows][latent] (after kv_a_layernorm) into the cache.
void mla_append(const LatentRecord& rec, const float* c, int64_t c_stride, int64_t first, int rows,
                const PagedCache& cache) noexcept;

// Tokens first .. first+count-1 decoded to out [count][latent], contiguous.
void mla_load(const LatentRecord& rec, const PagedCache& cache, int64_t first, int count,
              float* out) noexcept;

// Tokens ids[0..count) decoded to out [count][latent] in that order (decode: few rows, long context).
void mla_gather(const LatentRecord& rec, const PagedCache& cache, const int32_t* ids, int count,
                float* out) noexcept;

// For each row r and head h: softmax over the row's tokens of scale * q . c_s (fp32), output
// sum_s p_s c_s in latent space.
//   q: [rows][heads][latent], row stride q_stride; out likewise. out may be q (same stride).
//   latents: [*][latent] fp32, contiguous; token s of row r is latents[ids[r*ids_stride + s]], or,
//   ids == nullptr, latents[s]. counts[r] tokens (0 gives zeros).
//   block: KernelProfile::mla_block; the softmax is running over blocks of that many tokens in order.
//   workspace: mla_workspace_floats.
size_t mla_workspace_floats(int latent, int block) noexcept;
void mla_attend(const float* q, int64_t q_stride, int rows, int heads, int latent, float scale,
                const float* latents, const int32_t* ids, int64_t ids_stride,
                const int32_t* counts, int block, float* out, int64_t out_stride,
                float* workspace) noexcept;

}  // namespace hitproof::kernels
