// Scores of pools and the choice among them.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int pool_tile = 32; // a pool a lane
constexpr int rows_each = 4;  // rows of a warp
constexpr int row_tile = 16;
constexpr int score_threads = pool_tile * (row_tile / rows_each);
constexpr int select_threads = 256; // a thread a bin of the radix search
constexpr int most_dim = 256;
constexpr int rows_at_once = 256; // bounds the workspace

// Where a row stands, and so how many pools it may see.
struct Positions {
  int64_t first;
  const int64_t* list; // null: first, first + 1, ...
  int limit;           // pools that there are
  bool all;            // every row sees `limit` pools
  __device__ int64_t at(int64_t row) const { return list == nullptr ? first + row : list[row]; }
  __device__ int pools(int64_t row) const {
    if (all) return limit;
    return static_cast<int>(min((at(row) + 1) / index_pool, static_cast<int64_t>(limit)));
  }
};

struct Scores {
  IndexerShape shape;
  const float* codes;
  int64_t codes_stride;
  const float* folded;
  int64_t folded_stride;
  const float* packed;
  const float* scales;
  int block;
  float* scores;
  int64_t score_stride;
};

// Grid: pool tile, row tile. Pools that none of its rows may choose from are left out.
__global__ void __launch_bounds__(score_threads)
    scores_kernel(Scores p, int rows, Positions positions, int topk) {
  const int dim = p.shape.dim;
  float* keys = dynamic_shared<float>(); // [dim][pool_tile]
  float* q = keys + dim * pool_tile;     // [row_tile][dim], of one head
  const int tid = static_cast<int>(threadIdx.x), lane = tid % warp;
  const int first_row = static_cast<int>(blockIdx.y) * row_tile;
  const int first_pool = static_cast<int>(blockIdx.x) * pool_tile, pool = first_pool + lane;
  int most = 0;
  for (int r = first_row; r < min(first_row + row_tile, rows); ++r) {
    most = max(most, positions.pools(r));
  }
  if (most <= topk || first_pool >= most) return;

  for (int i = tid; i < dim * pool_tile; i += score_threads) {
    const int d = i / pool_tile, key = first_pool + i % pool_tile;
    keys[i] =
        key < most ? p.packed[(static_cast<int64_t>(key / 16) * dim + d) * 16 + key % 16] : 0.0f;
  }
  const int own_first = tid / warp * rows_each; // in the row tile
  float score[rows_each];
#pragma unroll
  for (int r = 0; r < rows_each; ++r)
    score[r] = 0.0f;
  for (int h = 0; h < p.shape.heads; ++h) {
    __syncthreads();
    for (int i = tid; i < row_tile * dim; i += score_threads) {
      const int row = first_row + i / dim;
      q[i] = row < rows ? p.codes[row * p.codes_stride + static_cast<int64_t>(h) * dim + i % dim]
                        : 0.0f;
    }
    __syncthreads();
    float sum[rows_each];
    for (int begin = 0; begin < dim; begin += p.block) {
      const int end = min(begin + p.block, dim);
      float acc[rows_each];
#pragma unroll
      for (int r = 0; r < rows_each; ++r)
        acc[r] = 0.0f;
#pragma unroll 2
      for (int d = begin; d < end; d += 4) {
        float k[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          k[i] = keys[(d + i) * pool_tile + lane];
#pragma unroll
        for (int r = 0; r < rows_each; ++r) {
          const float4 x = *reinterpret_cast<const float4*>(q + (own_first + r) * dim + d);
          acc[r] = fmaf(x.x, k[0], acc[r]);
          acc[r] = fmaf(x.y, k[1], acc[r]);
          acc[r] = fmaf(x.z, k[2], acc[r]);
          acc[r] = fmaf(x.w, k[3], acc[r]);
        }
      }
#pragma unroll
      for (int r = 0; r < rows_each; ++r)
        sum[r] = begin == 0 ? acc[r] : sum[r] + acc[r];
    }
#pragma unroll
    for (int r = 0; r < rows_each; ++r) {
      const int row = min(first_row + own_first + r, rows - 1);
      score[r] = fmaf(p.folded[row * p.folded_stride + h], max_of(sum[r], 0.0f), score[r]);
    }
  }
  if (pool >= most) return;
#pragma unroll
  for (int r = 0; r < rows_each; ++r) {
    const int row = first_row + own_first + r;
    if (row < rows) p.scores[row * p.score_stride + pool] = score[r] * p.scales[pool];
  }
}

void run_scores(const Scores& p, int rows, int pools, const Positions& positions, int topk,
                void* stream) {
  const size_t bytes = sizeof(float) * static_cast<size_t>(p.shape.dim * (pool_tile + row_tile));
  launch("indexer_scores", scores_kernel,
         blocks(divide_up(pools, pool_tile), divide_up(rows, row_tile)), score_threads, bytes,
         stream, p, rows, positions, topk);
}

const float* scales_of(const IndexerShape& shape, const float* packed, int packed_pools) {
  return packed + static_cast<int64_t>(round_up(packed_pools, 16)) * shape.dim;
}

bool has_dim(const IndexerShape& shape) { return shape.dim % 8 == 0 && shape.dim <= most_dim; }

void indexer_scores(void* stream, IndexerShape shape, const float* codes, int64_t codes_stride,
                    const float* folded, int64_t folded_stride, int rows, const float* packed,
                    int packed_pools, int pools, int block, float* scores, int64_t score_stride) {
  if (!has_dim(shape)) return refuse("indexer_scores");
  if (rows <= 0 || pools <= 0) return;
  run_scores({shape, codes, codes_stride, folded, folded_stride, packed,
              scales_of(shape, packed, packed_pools), block, scores, score_stride},
             rows, pools, {0, nullptr, pools, true}, 0, stream);
}

// Floats to integers of the same order; both zeros alike, NaN lowest.
__device__ uint32_t order_key(float x) {
  x += 0.0f;
  if (x != x) return 0;
  const uint32_t bits = __float_as_uint(x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The topk-th largest key among n, and how many keys lie above it: one digit of eight bits after
// the other, from the top.
struct Border {
  uint32_t key;
  int above;
};
__device__ Border find_border(const float* scores, int n, int topk) {
  __shared__ int bin[select_threads];
  __shared__ int chosen_bin, above_bin;
  const int tid = static_cast<int>(threadIdx.x);
  Border border{0, 0};
  for (int shift = 24; shift >= 0; shift -= 8) {
    bin[tid] = 0;
    __syncthreads();
    for (int i = tid; i < n; i += select_threads) {
      const uint32_t key = order_key(scores[i]);
      const bool prefix_fits = shift == 24 || (key >> (shift + 8)) == (border.key >> (shift + 8));
      if (prefix_fits) atomicAdd(&bin[key >> shift & 255u], 1);
    }
    __syncthreads();
    // bin[d] becomes the number of keys with that prefix and a digit of at least d.
    for (int step = 1; step < select_threads; step *= 2) {
      const int other = tid + step < select_threads ? bin[tid + step] : 0;
      __syncthreads();
      bin[tid] += other;
      __syncthreads();
    }
    const int wanted = topk - border.above;
    const int higher = tid + 1 < select_threads ? bin[tid + 1] : 0;
    if (bin[tid] >= wanted && higher < wanted) {
      chosen_bin = tid;
      above_bin = higher;
    }
    __syncthreads();
    border.key |= static_cast<uint32_t>(chosen_bin) << shift;
    border.above += above_bin;
    __syncthreads();
  }
  return border;
}

// Ids of the keys above the border and of the first ties with it, ascending.
__device__ void collect(const float* scores, int n, int topk, const Border& border,
                        int32_t* selected) {
  constexpr int warps = select_threads / warp;
  __shared__ int above_of[warps], equal_of[warps];
  const int tid = static_cast<int>(threadIdx.x), lane = tid % warp, own_warp = tid / warp;
  const int ties = topk - border.above;
  int above_before = 0, equal_before = 0;
  for (int base = 0; base < n; base += select_threads) {
    const int i = base + tid;
    const uint32_t key = i < n ? order_key(scores[i]) : 0;
    const bool above = i < n && key > border.key, equal = i < n && key == border.key;
    const unsigned above_mask = __ballot_sync(all_lanes, above);
    const unsigned equal_mask = __ballot_sync(all_lanes, equal);
    if (lane == 0) {
      above_of[own_warp] = __popc(above_mask);
      equal_of[own_warp] = __popc(equal_mask);
    }
    __syncthreads();
    const unsigned lower_lanes = (1u << lane) - 1u;
    int above_here = above_before + __popc(above_mask & lower_lanes);
    int equal_here = equal_before + __popc(equal_mask & lower_lanes);
    for (int w = 0; w < warps; ++w) {
      if (w < own_warp) {
        above_here += above_of[w];
        equal_here += equal_of[w];
      }
      above_before += above_of[w];
      equal_before += equal_of[w];
    }
    if (above || (equal && equal_here < ties)) selected[above_here + min(equal_here, ties)] = i;
    __syncthreads();
  }
}

// A block a row.
__global__ void __launch_bounds__(select_threads)
    topk_kernel(const float* scores, int64_t score_stride, Positions positions, int topk,
                int32_t* selected, int64_t selected_stride, int32_t* counts,
                int64_t counts_stride) {
  const int64_t r = blockIdx.x;
  const int n = positions.pools(r), tid = static_cast<int>(threadIdx.x);
  int32_t* out = selected + r * selected_stride;
  if (n <= topk) {
    for (int i = tid; i < n; i += select_threads)
      out[i] = i;
  } else if (topk > 0) {
    const float* row = scores + r * score_stride;
    const Border border = find_border(row, n, topk);
    collect(row, n, topk, border, out);
  }
  if (tid == 0) counts[r * counts_stride] = max(min(n, topk), 0);
}

void indexer_topk(void* stream, const float* scores, int64_t score_stride, int rows, int pools,
                  int topk, int32_t* selected, int64_t selected_stride, int32_t* counts,
                  int64_t counts_stride, int32_t*) {
  if (rows <= 0) return;
  launch("indexer_topk", topk_kernel, blocks(rows), select_threads, 0, stream, scores, score_stride,
         Positions{0, nullptr, pools, true}, topk, selected, selected_stride, counts,
         counts_stride);
}

size_t indexer_select_workspace_floats(int rows, int packed_pools) {
  return static_cast<size_t>(std::clamp(rows, 1, rows_at_once)) *
         static_cast<size_t>(round_up(std::max(packed_pools, 1), 16));
}

void indexer_select(void* stream, IndexerShape shape, const float* codes, int64_t codes_stride,
                    const float* folded, int64_t folded_stride, int64_t first,
                    const int64_t* positions, int rows, const float* packed, int packed_pools,
                    int topk, int block, int32_t* pools_out, int64_t pools_stride, int32_t* counts,
                    int64_t counts_stride, float* workspace) {
  if (!has_dim(shape)) return refuse("indexer_select");
  const int64_t stride = round_up(packed_pools, 16);
  for (int begin = 0; begin < rows; begin += rows_at_once) {
    const int count = std::min(rows_at_once, rows - begin);
    const Positions at{first + begin, positions == nullptr ? nullptr : positions + begin,
                       packed_pools, false};
    if (packed_pools > topk) {
      run_scores({shape, codes + begin * codes_stride, codes_stride, folded + begin * folded_stride,
                  folded_stride, packed, scales_of(shape, packed, packed_pools), block, workspace,
                  stride},
                 count, packed_pools, at, topk, stream);
    }
    launch("indexer_select", topk_kernel, blocks(count), select_threads, 0, stream, workspace,
           stride, at, topk, pools_out + begin * pools_stride, pools_stride,
           counts + begin * counts_stride, counts_stride);
  }
}

// A block a row.
__global__ void expand_kernel(const int32_t* pools, int64_t pools_stride,
                              const int32_t* pool_counts, int64_t pool_counts_stride,
                              Positions positions, int32_t* ids, int64_t ids_stride, int width,
                              int32_t* counts) {
  const int64_t r = blockIdx.x, t = positions.at(r);
  const int whole = pool_counts[r * pool_counts_stride] * index_pool;
  const int64_t tail = (t + 1) / index_pool * index_pool;
  const int count = whole + static_cast<int>(t + 1 - tail);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += select_threads) {
    int32_t id = -1;
    if (i < whole) {
      id = pools[r * pools_stride + i / index_pool] * index_pool + i % index_pool;
    } else if (i < count) {
      id = static_cast<int32_t>(tail + (i - whole));
    }
    ids[r * ids_stride + i] = id;
  }
  if (threadIdx.x == 0) counts[r] = count;
}

void indexer_expand(void* stream, const int32_t* pools, int64_t pools_stride,
                    const int32_t* pool_counts, int64_t pool_counts_stride, int64_t first,
                    const int64_t* positions, int rows, int32_t* ids, int64_t ids_stride, int width,
                    int32_t* counts) {
  if (rows <= 0) return;
  launch("indexer_expand", expand_kernel, blocks(rows), select_threads, 0, stream, pools,
         pools_stride, pool_counts, pool_counts_stride, Positions{first, positions, 0, true}, ids,
         ids_stride, width, counts);
}

} // namespace

void add_indexer_select(ModelKernels& table) {
  table.indexer_scores = indexer_scores;
  table.indexer_topk = indexer_topk;
  table.indexer_select_workspace_floats = indexer_select_workspace_floats;
  table.indexer_select = indexer_select;
  table.indexer_expand = indexer_expand;
}

} // namespace hitproof::kernels::cuda
