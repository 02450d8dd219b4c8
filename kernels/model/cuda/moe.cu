// Router and experts. Many rows are sorted by expert on the device and go through tiles of one
// expert each; few rows take each of their picks by itself. The sum over a row's experts is made at
// the end, ascending.
#include "kernels/model/cuda/gemm.cuh"
#include "kernels/model/cuda/numeric.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int sort_threads = 1024;
constexpr int most_experts = 512;
constexpr int most_picks = 16;
constexpr int rows_at_once = 2048; // bounds the workspace
constexpr int few_picks = 64;      // up to here picks are not sorted

// A candidate of the router; expert -1: none.
struct Candidate {
  float value;
  int expert;
};

__device__ Candidate stronger(Candidate a, Candidate b) {
  if (b.expert < 0) return a;
  if (a.expert < 0 || b.value > a.value || (b.value == a.value && b.expert < a.expert)) return b;
  return a;
}

// One warp a row; lane l holds experts l, l + 32, ...
__global__ void route_kernel(const float* logits, int64_t logits_stride, const float* bias,
                             int experts, int topk, float scaling, int32_t* ids, float* weights) {
  constexpr int held = most_experts / warp;
  __shared__ float chosen_score[most_picks];
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t r = blockIdx.x;
  float score[held], biased[held];
  unsigned chosen = 0;
#pragma unroll
  for (int j = 0; j < held; ++j) {
    const int e = lane + warp * j;
    score[j] = e < experts ? sigmoid(logits[r * logits_stride + e]) : 0.0f;
    biased[j] = e < experts ? score[j] + bias[e] : 0.0f;
  }
  for (int k = 0; k < topk; ++k) {
    Candidate best{0.0f, -1};
#pragma unroll
    for (int j = 0; j < held; ++j) {
      const int e = lane + warp * j;
      if (e < experts && (chosen >> j & 1u) == 0) best = stronger(best, {biased[j], e});
    }
    for (int step = 16; step > 0; step /= 2) {
      const Candidate other{__shfl_xor_sync(all_lanes, best.value, step),
                            __shfl_xor_sync(all_lanes, best.expert, step)};
      best = stronger(best, other);
    }
    // One lane's word: with NaN among the scores the lanes may differ.
    const int winner = __shfl_sync(all_lanes, best.expert, 0);
    if (winner % warp == lane) chosen |= 1u << (winner / warp);
  }
  int before = 0;
#pragma unroll
  for (int j = 0; j < held; ++j) {
    const bool mine = (chosen >> j & 1u) != 0;
    const unsigned mask = __ballot_sync(all_lanes, mine);
    if (mine) {
      const int place = before + __popc(mask & ((1u << lane) - 1u));
      ids[r * topk + place] = lane + warp * j;
      chosen_score[place] = score[j];
    }
    before += __popc(mask);
  }
  __syncwarp();
  float sum = 0.0f;
  for (int k = 0; k < topk; ++k)
    sum += chosen_score[k];
  if (lane < topk) weights[r * topk + lane] = chosen_score[lane] / (sum + 1e-20f) * scaling;
}

void moe_route(void* stream, const float* logits, int64_t logits_stride, const float* bias,
               int rows, int experts, int topk, float scaling, int32_t* ids, float* weights) {
  if (experts > most_experts || topk > most_picks) return refuse("moe_route");
  if (rows <= 0) return;
  launch("moe_route", route_kernel, blocks(rows), warp, 0, stream, logits, logits_stride, bias,
         experts, topk, scaling, ids, weights);
}

// gate_up: rows of 2 width, gate and up in alternating groups of 8.
__global__ void swiglu_kernel(const float* gate_up, int64_t cells, int width, float limit,
                              float* h) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int i = static_cast<int>(index % width);
  const float* x = gate_up + index / width * 2 * width + i / 8 * 16 + i % 8;
  const float gate = min_of(limit, x[0]);
  const float up = max_of(-limit, min_of(limit, x[8]));
  h[index] = silu(gate) * up;
}

void swiglu(const ExpertShape& shape, const float* gate_up, int64_t rows, float* h, void* stream) {
  const int64_t cells = rows * shape.width;
  launch("swiglu", swiglu_kernel, cover(cells, threads), threads, 0, stream, gate_up, cells,
         shape.width, shape.limit, h);
}

struct Scratch {
  float* gate_up;
  float* h;
  float* y;
};

Scratch carve(const ExpertShape& shape, int64_t rows, float* workspace) {
  Scratch s;
  s.gate_up = workspace;
  s.h = s.gate_up + rows * 2 * shape.width;
  s.y = s.h + rows * shape.width;
  return s;
}

size_t expert_workspace_floats(ExpertShape shape, int rows, int topk) {
  const size_t most = static_cast<size_t>(std::clamp(rows, 1, rows_at_once)) * topk;
  return most * (3 * static_cast<size_t>(shape.width) + static_cast<size_t>(shape.hidden));
}

void expert_mlp(void* stream, ExpertShape shape, const float* x, int64_t x_stride, int rows,
                const float* packed, int block, bool accumulate, float* y, int64_t y_stride,
                float* workspace) {
  const float* down = packed + packed_floats(2 * shape.width, shape.hidden);
  for (int begin = 0; begin < rows; begin += rows_at_once) {
    const int count = std::min(rows_at_once, rows - begin);
    const Scratch s = carve(shape, count, workspace);
    multiply("expert_mlp in",
             {x + begin * x_stride, x_stride, nullptr, count, shape.hidden, packed, 2 * shape.width,
              block, false, s.gate_up, 2 * static_cast<int64_t>(shape.width)},
             stream);
    swiglu(shape, s.gate_up, count, s.h, stream);
    multiply("expert_mlp out",
             {s.h, shape.width, nullptr, count, shape.width, down, shape.hidden, block, accumulate,
              y + begin * y_stride, y_stride},
             stream);
  }
}

// Picks sorted by expert. offsets[e] is the place of expert e's first pick, tiles[e] the number of
// its first tile; both end with the total.
struct Sorted {
  int32_t* offsets;
  int32_t* tiles;
  int32_t* cursor;   // next free place of an expert while sorting
  int32_t* row_of;   // of a place
  int32_t* place_of; // of a pick
};

Sorted carve(int experts, int picks, int32_t* ints) {
  Sorted s;
  s.offsets = ints;
  s.tiles = s.offsets + experts + 1;
  s.cursor = s.tiles + experts + 1;
  s.row_of = s.cursor + experts;
  s.place_of = s.row_of + picks;
  return s;
}

size_t moe_workspace_ints(int rows, int experts, int topk) {
  const size_t picks = static_cast<size_t>(std::clamp(rows, 1, rows_at_once)) * topk;
  return 3 * static_cast<size_t>(experts) + 2 + 2 * picks;
}

// One block. The places inside an expert depend on timing, the results do not: a row's bits are its
// own wherever it lies.
__global__ void sort_kernel(const int32_t* ids, int picks, int topk, int experts, int tile_rows,
                            Sorted s) {
  __shared__ int count[most_experts];
  const int tid = static_cast<int>(threadIdx.x);
  for (int e = tid; e < experts; e += sort_threads)
    count[e] = 0;
  __syncthreads();
  for (int i = tid; i < picks; i += sort_threads)
    atomicAdd(&count[ids[i]], 1);
  __syncthreads();
  if (tid == 0) {
    int place = 0, tile = 0;
    for (int e = 0; e < experts; ++e) {
      s.offsets[e] = s.cursor[e] = place;
      s.tiles[e] = tile;
      place += count[e];
      tile += (count[e] + tile_rows - 1) / tile_rows;
    }
    s.offsets[experts] = place;
    s.tiles[experts] = tile;
  }
  __syncthreads();
  for (int i = tid; i < picks; i += sort_threads) {
    const int at = atomicAdd(&s.cursor[ids[i]], 1);
    s.row_of[at] = i / topk;
    s.place_of[i] = at;
  }
}

// One of an expert's two products, for all experts: p of the first expert, matrices `each` apart.
struct Grouped {
  Product p;
  size_t each;
  int experts;
  Sorted sorted;
  bool gathers; // reads the rows of the picks; else rows by place
};

template <int TM> __global__ void __launch_bounds__(tile_threads) grouped_kernel(Grouped g) {
  const int tile = static_cast<int>(blockIdx.x);
  const int32_t* tiles = g.sorted.tiles;
  if (tile >= tiles[g.experts]) return;
  int e = 0; // the last expert whose first tile is not behind this one
  for (int step = most_experts / 2; step > 0; step /= 2) {
    if (e + step < g.experts && tiles[e + step] <= tile) e += step;
  }
  const int begin = g.sorted.offsets[e];
  Product p = g.p;
  p.packed += static_cast<size_t>(e) * g.each;
  p.rows = g.sorted.offsets[e + 1] - begin;
  if (g.gathers) {
    p.row_index = g.sorted.row_of + begin;
  } else {
    p.a += begin * p.lda;
  }
  p.c += begin * p.ldc;
  tile_product<TM>(p, (tile - tiles[e]) * 16 * TM, static_cast<int>(blockIdx.y) * tile_columns);
}

template <int TM> void run_grouped(const char* what, const Grouped& g, int picks, void* stream) {
  launch(what, grouped_kernel<TM>,
         blocks(picks / (16 * TM) + std::min(g.experts, picks), divide_up(g.p.n, tile_columns)),
         tile_threads, 0, stream, g);
}

// A pick is a row of its own: reads row pick / rows_per of a.
__global__ void pick_kernel(Product p, FewShape shape, const int32_t* ids, size_t each,
                            int picks_per_row) {
  const int pick = static_cast<int>(blockIdx.y);
  p.a += pick / picks_per_row * p.lda;
  p.c += pick * p.ldc;
  p.packed += static_cast<size_t>(ids[pick]) * each;
  p.rows = 1;
  few_product<1>(p, shape, 0, static_cast<int>(blockIdx.x));
}

void run_picks(const char* what, Product p, const int32_t* ids, int picks, size_t each,
               int picks_per_row, void* stream) {
  const FewShape shape = few_shape(p.k, p.kblock);
  launch(what, pick_kernel, blocks(divide_up(p.n, panel), picks), shape.threads,
         few_shared_bytes(shape, 1), stream, p, shape, ids, each, picks_per_row);
}

__global__ void combine_kernel(const float* parts, const int32_t* place_of, const float* weights,
                               int64_t cells, int hidden, int topk, float* y, int64_t y_stride) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t r = index / hidden, d = index % hidden;
  float sum = 0.0f;
  for (int64_t pick = r * topk; pick < (r + 1) * topk; ++pick) {
    const int64_t place = place_of == nullptr ? pick : place_of[pick];
    sum = fmaf(weights[pick], parts[place * hidden + d], sum);
  }
  y[r * y_stride + d] = sum;
}

void moe_grouped(void* stream, ExpertShape shape, const float* x, int64_t x_stride, int rows,
                 const float* packed, int experts, const int32_t* ids, const float* weights,
                 int topk, int block, float* y, int64_t y_stride, float* workspace,
                 int32_t* int_workspace) {
  if (experts > most_experts) return refuse("moe_grouped");
  const size_t in_floats = packed_floats(2 * shape.width, shape.hidden);
  const size_t each = in_floats + packed_floats(shape.hidden, shape.width);
  const int64_t gate_up_stride = 2 * static_cast<int64_t>(shape.width);
  for (int begin = 0; begin < rows; begin += rows_at_once) {
    const int count = std::min(rows_at_once, rows - begin);
    const int picks = count * topk;
    const int32_t* pick_ids = ids + static_cast<int64_t>(begin) * topk;
    const Scratch s = carve(shape, picks, workspace);
    const Product in{x + begin * x_stride,
                     x_stride,
                     nullptr,
                     picks,
                     shape.hidden,
                     packed,
                     2 * shape.width,
                     std::min(block, shape.hidden),
                     false,
                     s.gate_up,
                     gate_up_stride};
    const Product down{s.h,          shape.width,
                       nullptr,      picks,
                       shape.width,  packed + in_floats,
                       shape.hidden, std::min(block, shape.width),
                       false,        s.y,
                       shape.hidden};
    const int32_t* place_of = nullptr;
    if (picks <= few_picks) {
      run_picks("moe in", in, pick_ids, picks, each, topk, stream);
      swiglu(shape, s.gate_up, picks, s.h, stream);
      run_picks("moe out", down, pick_ids, picks, each, 1, stream);
    } else {
      const Sorted sorted = carve(experts, picks, int_workspace);
      const bool tall = picks >= 32 * experts;
      launch("moe sort", sort_kernel, blocks(1), sort_threads, 0, stream, pick_ids, picks, topk,
             experts, tall ? 64 : 32, sorted);
      const auto run = tall ? run_grouped<4> : run_grouped<2>;
      run("moe in", Grouped{in, each, experts, sorted, true}, picks, stream);
      swiglu(shape, s.gate_up, picks, s.h, stream);
      run("moe out", Grouped{down, each, experts, sorted, false}, picks, stream);
      place_of = sorted.place_of;
    }
    const int64_t cells = static_cast<int64_t>(count) * shape.hidden;
    launch("moe combine", combine_kernel, cover(cells, threads), threads, 0, stream, s.y, place_of,
           weights + static_cast<int64_t>(begin) * topk, cells, shape.hidden, topk,
           y + begin * y_stride, y_stride);
  }
}

} // namespace

void add_moe(ModelKernels& table) {
  table.moe_route = moe_route;
  table.expert_workspace_floats = expert_workspace_floats;
  table.moe_workspace_ints = moe_workspace_ints;
  table.expert_mlp = expert_mlp;
  table.moe_grouped = moe_grouped;
}

} // namespace hitproof::kernels::cuda
