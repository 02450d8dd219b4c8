// Latent records: encoding into pages and decoding from them.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

#include <cfloat>

namespace hitproof::kernels::cuda {
namespace {

constexpr int threads = 256;

__device__ uint8_t* record_of(const PagedCache& cache, int64_t token, int bytes) {
  const int64_t block = cache.blocks[token / cache.block_tokens];
  return cache.base + block * cache.block_stride + token % cache.block_tokens * bytes;
}

// A warp a record's tile.
__global__ void append_kernel(LatentRecord rec, const float* c, int64_t c_stride, int64_t first,
                              int64_t tiles, PagedCache cache) {
  const int lane = static_cast<int>(threadIdx.x) % warp;
  const int64_t index = global_index() / warp;
  if (index >= tiles) return;
  const int tiles_each = rec.latent / rec.tile;
  const int64_t r = index / tiles_each;
  const int tile = static_cast<int>(index % tiles_each);
  const float* x = c + r * c_stride + static_cast<int64_t>(tile) * rec.tile;
  uint8_t* record = record_of(cache, first + r, latent_record_bytes(rec));
  float top = 0.0f;
  for (int i = lane; i < rec.tile; i += warp)
    top = fmaxf(top, fabsf(x[i]));
  const float scale = fmaxf(max_over_warp(top) / 448.0f, FLT_MIN);
  for (int i = lane; i < rec.tile; i += warp)
    record[tile * rec.tile + i] = to_e4m3(x[i] / scale);
  if (lane == 0) store_bytes(record + rec.latent + 4 * tile, scale);
  if (tile == 0) {
    uint8_t* rope = record + rec.latent + 4 * tiles_each;
    for (int i = lane; i < 2 * rec.rope_zeros; i += warp)
      rope[i] = 0;
  }
}

__global__ void append_exact_kernel(LatentRecord rec, const float* c, int64_t c_stride,
                                    int64_t first, int64_t cells, PagedCache cache) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t r = index / rec.latent, i = index % rec.latent;
  store_bytes(record_of(cache, first + r, latent_record_bytes(rec)) + 4 * i, c[r * c_stride + i]);
}

void mla_append(void* stream, LatentRecord rec, const float* c, int64_t c_stride, int64_t first,
                int rows, PagedCache cache) {
  if (rows <= 0) return;
  if (rec.tile == 0) {
    const int64_t cells = static_cast<int64_t>(rows) * rec.latent;
    launch("mla_append", append_exact_kernel, cover(cells, threads), threads, 0, stream, rec, c,
           c_stride, first, cells, cache);
    return;
  }
  const int64_t tiles = static_cast<int64_t>(rows) * (rec.latent / rec.tile);
  launch("mla_append", append_kernel, cover(tiles * warp, threads), threads, 0, stream, rec, c,
         c_stride, first, tiles, cache);
}

// Tokens first, first + 1, ..., or those of ids.
__global__ void decode_kernel(LatentRecord rec, PagedCache cache, int64_t first, const int32_t* ids,
                              int64_t cells, float* out) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t place = index / rec.latent;
  const int i = static_cast<int>(index % rec.latent);
  const int64_t token = ids == nullptr ? first + place : ids[place];
  const uint8_t* record = record_of(cache, token, latent_record_bytes(rec));
  if (rec.tile == 0) {
    out[index] = load_bytes(record + 4 * static_cast<int64_t>(i));
  } else {
    const float scale = load_bytes(record + rec.latent + 4 * (i / rec.tile));
    out[index] = from_e4m3(record[i]) * scale;
  }
}

void mla_load(void* stream, LatentRecord rec, PagedCache cache, int64_t first, int count,
              float* out) {
  if (count <= 0) return;
  const int64_t cells = static_cast<int64_t>(count) * rec.latent;
  const int32_t* in_order = nullptr;
  launch("mla_load", decode_kernel, cover(cells, threads), threads, 0, stream, rec, cache, first,
         in_order, cells, out);
}

void mla_gather(void* stream, LatentRecord rec, PagedCache cache, const int32_t* ids, int count,
                float* out) {
  if (count <= 0) return;
  const int64_t cells = static_cast<int64_t>(count) * rec.latent;
  launch("mla_gather", decode_kernel, cover(cells, threads), threads, 0, stream, rec, cache,
         int64_t{0}, ids, cells, out);
}

} // namespace

void add_mla_cache(ModelKernels& table) {
  table.mla_append = mla_append;
  table.mla_load = mla_load;
  table.mla_gather = mla_gather;
}

} // namespace hitproof::kernels::cuda
