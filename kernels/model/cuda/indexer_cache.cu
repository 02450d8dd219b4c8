// The indexer's caches and query chain: a thread a channel of one pool or one query head.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

#include <cmath>

namespace hitproof::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int most_dim = 256;

bool has_dim(const IndexerShape& shape) {
  return shape.dim >= 8 && shape.dim <= most_dim && (shape.dim & (shape.dim - 1)) == 0;
}
int channel_threads(const IndexerShape& shape) { return std::max(shape.dim, warp); }

// 2^ceil(log2(amax / 448)), amax at least 1e-4 so that the result is normal.
__device__ float power_scale(float amax) {
  const uint32_t bits = __float_as_uint(fmaxf(amax, 1e-4f) / 448.0f);
  const uint32_t exponent = (bits >> 23) + ((bits & 0x7fffffu) != 0 ? 1 : 0);
  return __uint_as_float(exponent << 23);
}

struct Rotated {
  float value;
  float scale; // power of two, of the whole vector
};

// BF16, Hadamard, BF16 of a vector whose channel d is x in thread d; threads past dim hold 0. All
// threads of the block take part. hadamard_scale: 1 / sqrt(dim).
__device__ Rotated rotate(float x, int dim, float hadamard_scale) {
  __shared__ float vector[most_dim];
  __shared__ float top_of[most_dim / warp];
  const int d = static_cast<int>(threadIdx.x);
  float v = round_bf16(x);
  for (int step = 1; step < dim; step *= 2) {
    __syncthreads();
    if (d < dim) vector[d] = v;
    __syncthreads();
    if (d < dim) {
      const float partner = vector[d ^ step];
      v = (d & step) == 0 ? v + partner : partner - v;
    }
  }
  v = round_bf16(v * hadamard_scale);
  const float top = max_over_warp(d < dim ? fabsf(v) : 0.0f);
  if (d % warp == 0) top_of[d / warp] = top;
  __syncthreads();
  float amax = top_of[0];
  for (int w = 1; w < static_cast<int>(blockDim.x) / warp; ++w)
    amax = fmaxf(amax, top_of[w]);
  return {v, power_scale(amax)};
}

// Where a pool's key lies; the scale (not where exact) at scale.
struct KeyPlace {
  uint8_t* key;
  uint8_t* scale;
};
__device__ KeyPlace place_of(const IndexerShape& shape, const PagedCache& cache, int64_t pool) {
  const int states = cache.block_tokens / index_pool;
  const int64_t block = cache.blocks[pool / states];
  uint8_t* base = cache.base + block * cache.block_stride;
  const int state = static_cast<int>(pool % states);
  if (shape.exact) return {base + static_cast<int64_t>(4) * state * shape.dim, nullptr};
  const int page_states = states % 64 == 0 ? 64 : 32;
  uint8_t* page = base + static_cast<int64_t>(state / page_states) * page_states * (shape.dim + 4);
  const int slot = state % page_states;
  return {page + static_cast<int64_t>(slot) * shape.dim,
          page + static_cast<int64_t>(page_states) * shape.dim + 4 * slot};
}

struct Append {
  IndexerShape shape;
  const float* ki;
  int64_t ki_stride;
  const float* gs;
  int64_t gs_stride;
  const float* ape;
  int64_t first;
  int rows;
  TailView tail;
  PagedCache cache;
  float hadamard_scale;

  __device__ int64_t tail_at(int half, int64_t token, int d) const {
    return half * tail.half_stride + token % tail.ring * tail.slot_stride + d * tail.channel_stride;
  }
  __device__ float row_value(int half, int64_t token, int d) const {
    return half == 0 ? ki[(token - first) * ki_stride + d] : gs[(token - first) * gs_stride + d];
  }
  __device__ float fetch(int half, int64_t token, int d) const {
    if (token >= first) {
      const float v = row_value(half, token, d);
      return shape.exact ? v : round_bf16(v);
    }
    const int64_t at = tail_at(half, token, d);
    return shape.exact ? static_cast<const float*>(tail.data)[at]
                       : from_bf16(static_cast<const uint16_t*>(tail.data)[at]);
  }
  __device__ void stash(int half, int64_t token, int d) const {
    const int64_t at = tail_at(half, token, d);
    const float v = row_value(half, token, d);
    if (shape.exact) {
      static_cast<float*>(tail.data)[at] = v;
    } else {
      static_cast<uint16_t*>(tail.data)[at] = to_bf16(v);
    }
  }
};

// key[d] = sum_j softmax_j(gs_j[d] + ape_j[d]) * ki_j[d] of the pool that token `last` completes.
__device__ float pool_channel(const Append& p, int64_t last, int d) {
  float a[index_pool], k[index_pool];
#pragma unroll
  for (int j = 0; j < index_pool; ++j) {
    const int64_t token = last - (index_pool - 1) + j;
    k[j] = p.fetch(0, token, d);
    a[j] = p.fetch(1, token, d) + p.ape[j * p.shape.dim + d];
  }
  const float top = max_of(max_of(a[0], a[1]), max_of(a[2], a[3]));
#pragma unroll
  for (int j = 0; j < index_pool; ++j)
    a[j] = exponential(a[j] - top);
  const float sum = (a[0] + a[1]) + (a[2] + a[3]);
  float key = 0.0f;
#pragma unroll
  for (int j = 0; j < index_pool; ++j)
    key = fmaf(a[j] / sum, k[j], key);
  return key;
}

// Block i makes the call's i-th pool. Only the first pool reads the tail, so block 0, which makes
// it, also overwrites the tail when it has read it.
__global__ void append_kernel(Append p, int pools) {
  const int d = static_cast<int>(threadIdx.x), dim = p.shape.dim;
  const int pool = static_cast<int>(blockIdx.x);
  if (pool < pools) {
    const int64_t last = p.first / index_pool * index_pool + (index_pool - 1) +
                         static_cast<int64_t>(pool) * index_pool;
    const float key = d < dim ? pool_channel(p, last, d) : 0.0f;
    const KeyPlace place = place_of(p.shape, p.cache, last / index_pool);
    if (p.shape.exact) {
      if (d < dim) store_bytes(place.key + static_cast<int64_t>(4) * d, key);
    } else {
      const Rotated r = rotate(key, dim, p.hadamard_scale);
      if (d < dim) place.key[d] = to_e4m3(r.value * (1.0f / r.scale));
      if (d == 0) store_bytes(place.scale, r.scale);
    }
  }
  if (pool != 0 || d >= dim) return; // a channel's tail is read and written by its own thread
  for (int r = max(0, p.rows - p.tail.ring); r < p.rows; ++r) {
    p.stash(0, p.first + r, d);
    p.stash(1, p.first + r, d);
  }
}

void indexer_append(void* stream, IndexerShape shape, const float* ki, int64_t ki_stride,
                    const float* gs, int64_t gs_stride, const float* ape, int64_t first, int rows,
                    TailView tail, PagedCache cache) {
  if (!has_dim(shape)) return refuse("indexer_append");
  if (rows <= 0) return;
  const int pools = static_cast<int>((first + rows) / index_pool - first / index_pool);
  launch("indexer_append", append_kernel, blocks(std::max(pools, 1)), channel_threads(shape), 0,
         stream,
         Append{shape, ki, ki_stride, gs, gs_stride, ape, first, rows, tail, cache,
                1.0f / std::sqrt(static_cast<float>(shape.dim))},
         pools);
}

struct Queries {
  IndexerShape shape;
  const float* q;
  int64_t q_stride;
  const float* w;
  int64_t w_stride;
  float* codes;
  int64_t codes_stride;
  float* folded;
  int64_t folded_stride;
  float factor;
  float hadamard_scale;
};

// Grid: head, row.
__global__ void queries_kernel(Queries p) {
  const int d = static_cast<int>(threadIdx.x), dim = p.shape.dim;
  const int h = static_cast<int>(blockIdx.x % static_cast<unsigned>(p.shape.heads));
  const int64_t r = blockIdx.x / static_cast<unsigned>(p.shape.heads);
  const int64_t at = static_cast<int64_t>(h) * dim + d;
  const float x = d < dim ? p.q[r * p.q_stride + at] : 0.0f;
  float weight = d == 0 ? p.w[r * p.w_stride + h] * p.factor : 0.0f;
  float code = x;
  if (!p.shape.exact) {
    const Rotated rotated = rotate(x, dim, p.hadamard_scale);
    code = from_e4m3(to_e4m3(rotated.value * (1.0f / rotated.scale)));
    weight *= rotated.scale;
  }
  if (d < dim) p.codes[r * p.codes_stride + at] = code;
  if (d == 0) p.folded[r * p.folded_stride + h] = weight;
}

void indexer_queries(void* stream, IndexerShape shape, const float* q, int64_t q_stride,
                     const float* w, int64_t w_stride, int rows, float* codes, int64_t codes_stride,
                     float* folded, int64_t folded_stride) {
  if (!has_dim(shape)) return refuse("indexer_queries");
  if (rows <= 0) return;
  const float root = std::sqrt(static_cast<float>(shape.dim));
  const float factor = 1.0f / root / std::sqrt(static_cast<float>(shape.heads));
  launch("indexer_queries", queries_kernel, blocks(static_cast<int64_t>(rows) * shape.heads),
         channel_threads(shape), 0, stream,
         Queries{shape, q, q_stride, w, w_stride, codes, codes_stride, folded, folded_stride,
                 factor, 1.0f / root});
}

// A thread a decoded value, in the order of the packed panels.
__global__ void load_kernel(IndexerShape shape, PagedCache cache, int pools, int64_t cells,
                            float* packed) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t pool = index / (16 * shape.dim) * 16 + index % 16;
  const int d = static_cast<int>(index / 16 % shape.dim);
  float value = 0.0f, scale = 0.0f;
  if (pool < pools) {
    const KeyPlace place = place_of(shape, cache, pool);
    value =
        shape.exact ? load_bytes(place.key + static_cast<int64_t>(4) * d) : from_e4m3(place.key[d]);
    if (d == 0) scale = shape.exact ? 1.0f : load_bytes(place.scale);
  }
  packed[index] = value;
  if (d == 0) packed[cells + pool] = scale;
}

size_t indexer_packed_floats(IndexerShape shape, int pools) {
  return static_cast<size_t>(round_up(pools, 16)) * static_cast<size_t>(shape.dim + 1);
}

void indexer_load_keys(void* stream, IndexerShape shape, PagedCache cache, int pools,
                       float* packed) {
  if (pools <= 0) return;
  const int64_t cells = static_cast<int64_t>(round_up(pools, 16)) * shape.dim;
  launch("indexer_load_keys", load_kernel, cover(cells, threads), threads, 0, stream, shape, cache,
         pools, cells, packed);
}

} // namespace

void add_indexer_cache(ModelKernels& table) {
  table.indexer_append = indexer_append;
  table.indexer_queries = indexer_queries;
  table.indexer_packed_floats = indexer_packed_floats;
  table.indexer_load_keys = indexer_load_keys;
}

} // namespace hitproof::kernels::cuda
