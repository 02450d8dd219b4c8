// Attention over latents with the running softmax of mla_attend.cpp.
//
// Many rows: a thread block a row and up to four heads walks the token blocks. Few rows: every
// token block is a thread block of its own; what the running softmax does one after the other (the
// maximum so far, and scaling what was summed) is then done from the blocks' maxima, in the same
// order, so that both ways give the same bits.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int ways = 4; // tokens j mod 4 are summed apart, then together
constexpr int most_threads = 256;
constexpr int most_latent = 512;
constexpr size_t shared_limit = 48 * 1024;
constexpr int few_blocks = 32; // row and head pairs up to which token blocks are spread

struct Attend {
  const float* q;
  int64_t q_stride;
  int heads;
  int latent;
  float scale;
  const float* latents;
  const int32_t* ids;
  int64_t ids_stride;
  const int32_t* counts;
  int block;
  float* out;
  int64_t out_stride;
};

int score_stride(int block) { return round_up(block, 8); }

// Shared memory of a thread block: q [H][latent] | scores [H][stride] | tokens [stride].
template <int H> struct Shared {
  float* q;
  float* scores;
  int32_t* tokens;
  int stride;
  __device__ Shared(int latent, int stride_in) : stride(stride_in) {
    q = dynamic_shared<float>();
    scores = q + H * latent;
    tokens = reinterpret_cast<int32_t*>(scores + H * stride);
  }
};
size_t shared_bytes(int heads, int latent, int block) {
  return sizeof(float) * (static_cast<size_t>(heads) * latent +
                          static_cast<size_t>(heads + 1) * score_stride(block));
}

__device__ float lowest() { return __uint_as_float(0xff800000u); }
__device__ int own_index() { return static_cast<int>(threadIdx.x); }
__device__ int block_size() { return static_cast<int>(blockDim.x); }

template <int H> __device__ void load_query(const Attend& p, int64_t row, int head, float* q) {
  for (int i = own_index(); i < H * p.latent; i += block_size()) {
    q[i] = p.q[row * p.q_stride + static_cast<int64_t>(head) * p.latent + i];
  }
}

__device__ void load_tokens(const Attend& p, int64_t row, int begin, int count, int32_t* tokens) {
  for (int j = own_index(); j < count; j += block_size()) {
    tokens[j] = p.ids == nullptr ? begin + j : p.ids[row * p.ids_stride + begin + j];
  }
}

// scores[h][j] for `count` tokens: two threads a token, four lanes of the CPU's sum each.
template <int H> __device__ void score_tokens(const Attend& p, int count, const Shared<H>& s) {
  const int half = own_index() % 2;
  for (int base = 0; base < count; base += block_size() / 2) {
    const int j = base + own_index() / 2;
    const float* c =
        p.latents + static_cast<int64_t>(s.tokens[min(j, count - 1)]) * p.latent + 4 * half;
    float acc[H][4];
#pragma unroll
    for (int h = 0; h < H; ++h) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        acc[h][i] = 0.0f;
    }
#pragma unroll 4
    for (int d = 0; d < p.latent; d += 8) {
      const float4 x = *reinterpret_cast<const float4*>(c + d);
#pragma unroll
      for (int h = 0; h < H; ++h) {
        const float4 q = *reinterpret_cast<const float4*>(s.q + h * p.latent + d + 4 * half);
        acc[h][0] = fmaf(q.x, x.x, acc[h][0]);
        acc[h][1] = fmaf(q.y, x.y, acc[h][1]);
        acc[h][2] = fmaf(q.z, x.z, acc[h][2]);
        acc[h][3] = fmaf(q.w, x.w, acc[h][3]);
      }
    }
#pragma unroll
    for (int h = 0; h < H; ++h) {
      float sum = (acc[h][0] + acc[h][1]) + (acc[h][2] + acc[h][3]);
      sum += __shfl_xor_sync(all_lanes, sum, 1);
      if (half == 0 && j < count) s.scores[h * s.stride + j] = sum * p.scale;
    }
  }
}

// The largest of scores[0..count), in all lanes of a warp.
__device__ float largest(const float* scores, int count) {
  float top = lowest();
  for (int j = own_index() % warp; j < count; j += warp)
    top = max_of(top, scores[j]);
  return max_over_warp(top);
}

// Scores to e^(score - top) by a warp; their sum in the CPU's order.
__device__ float exponentiate(float* scores, int count, float top) {
  const int lane = own_index() % warp;
  for (int j = lane; j < count; j += warp)
    scores[j] = exponential(scores[j] - top);
  __syncwarp();
  float part = 0.0f;
  for (int j = lane % 8; j < count; j += 8)
    part += scores[j];
  return sum8(part);
}

// sums[h] = sum_j p[h][j] c_j[channel].
template <int H>
__device__ void sum_values(const Attend& p, int count, int channel, const Shared<H>& s,
                           float (&sums)[H]) {
  float acc[ways][H];
#pragma unroll
  for (int w = 0; w < ways; ++w) {
#pragma unroll
    for (int h = 0; h < H; ++h)
      acc[w][h] = 0.0f;
  }
  const float* c = p.latents + channel;
  int j = 0;
#pragma unroll 2
  for (; j + ways <= count; j += ways) {
    float x[ways];
#pragma unroll
    for (int w = 0; w < ways; ++w)
      x[w] = c[static_cast<int64_t>(s.tokens[j + w]) * p.latent];
#pragma unroll
    for (int h = 0; h < H; ++h) {
      const float4 e = *reinterpret_cast<const float4*>(s.scores + h * s.stride + j);
      acc[0][h] = fmaf(e.x, x[0], acc[0][h]);
      acc[1][h] = fmaf(e.y, x[1], acc[1][h]);
      acc[2][h] = fmaf(e.z, x[2], acc[2][h]);
      acc[3][h] = fmaf(e.w, x[3], acc[3][h]);
    }
  }
  for (; j < count; ++j) {
    const float x = c[static_cast<int64_t>(s.tokens[j]) * p.latent];
#pragma unroll
    for (int h = 0; h < H; ++h)
      acc[0][h] = fmaf(s.scores[h * s.stride + j], x, acc[0][h]);
  }
#pragma unroll
  for (int h = 0; h < H; ++h)
    sums[h] = (acc[0][h] + acc[1][h]) + (acc[2][h] + acc[3][h]);
}

// H heads of a row; C channels a thread.
template <int H, int C>
__global__ void __launch_bounds__(most_threads) walk_kernel(Attend p, int stride) {
  __shared__ float keep_of[H], total_of[H];
  const Shared<H> s(p.latent, stride);
  const int64_t row = blockIdx.x;
  const int head = static_cast<int>(blockIdx.y) * H;
  const int count = p.counts[row], own_warp = own_index() / warp;
  load_query<H>(p, row, head, s.q);
  if (own_index() < H) total_of[own_index()] = 0.0f;

  float sum[C][H];
#pragma unroll
  for (int c = 0; c < C; ++c) {
#pragma unroll
    for (int h = 0; h < H; ++h)
      sum[c][h] = 0.0f;
  }
  float top = lowest(), total = 0.0f; // of head own_warp
  for (int begin = 0; begin < count; begin += p.block) {
    const int n = min(p.block, count - begin);
    __syncthreads(); // the values of the block before have been summed
    load_tokens(p, row, begin, n, s.tokens);
    __syncthreads();
    score_tokens<H>(p, n, s);
    __syncthreads();
    if (own_warp < H) {
      float* scores = s.scores + own_warp * s.stride;
      const float new_top = max_of(top, largest(scores, n));
      const float part = exponentiate(scores, n, new_top);
      const float keep = exponential(top - new_top);
      total = total * keep + part;
      top = new_top;
      if (own_index() % warp == 0) {
        keep_of[own_warp] = keep;
        total_of[own_warp] = total;
      }
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < C; ++c) {
      const int channel = own_index() + c * block_size();
      if (channel >= p.latent) break;
      float part[H];
      sum_values<H>(p, n, channel, s, part);
#pragma unroll
      for (int h = 0; h < H; ++h)
        sum[c][h] = fmaf(sum[c][h], keep_of[h], part[h]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const int channel = own_index() + c * block_size();
    if (channel >= p.latent) break;
#pragma unroll
    for (int h = 0; h < H; ++h) {
      const float inverse = count > 0 ? 1.0f / total_of[h] : 0.0f;
      p.out[row * p.out_stride + static_cast<int64_t>(head + h) * p.latent + channel] =
          sum[c][h] * inverse;
    }
  }
}

// What the three kernels of few rows hand on, for every row and head (a pair).
struct Spread {
  float* scores; // [pairs][blocks * stride]
  float* tops;   // [pairs][blocks]
  float* keeps;  // [pairs][blocks]
  float* totals; // [pairs][blocks]
  float* sums;   // [pairs][blocks][latent]
  int blocks;
  int stride;
};

size_t spread_floats(int64_t pairs, int blocks, int stride, int latent) {
  return static_cast<size_t>(pairs) * static_cast<size_t>(blocks) *
         static_cast<size_t>(stride + 3 + latent);
}

Spread carve(int64_t pairs, int blocks, int stride, float* workspace) {
  Spread s{};
  s.scores = workspace;
  s.tops = s.scores + pairs * blocks * stride;
  s.keeps = s.tops + pairs * blocks;
  s.totals = s.keeps + pairs * blocks;
  s.sums = s.totals + pairs * blocks;
  s.blocks = blocks;
  s.stride = stride;
  return s;
}

// Grid: token block, pair.
__global__ void __launch_bounds__(most_threads) spread_scores_kernel(Attend p, Spread out) {
  const Shared<1> s(p.latent, out.stride);
  const int64_t pair = blockIdx.y, row = pair / p.heads;
  const int b = static_cast<int>(blockIdx.x), begin = b * p.block;
  const int n = min(p.block, p.counts[row] - begin);
  if (n <= 0) return;
  load_query<1>(p, row, static_cast<int>(pair % p.heads), s.q);
  load_tokens(p, row, begin, n, s.tokens);
  __syncthreads();
  score_tokens<1>(p, n, s);
  __syncthreads();
  for (int j = own_index(); j < n; j += block_size()) {
    out.scores[(pair * out.blocks + b) * out.stride + j] = s.scores[j];
  }
  if (own_index() < warp) {
    const float top = largest(s.scores, n);
    if (own_index() == 0) out.tops[pair * out.blocks + b] = top;
  }
}

template <int C>
__global__ void __launch_bounds__(most_threads) spread_values_kernel(Attend p, Spread io) {
  const Shared<1> s(p.latent, io.stride);
  const int64_t pair = blockIdx.y, row = pair / p.heads;
  const int b = static_cast<int>(blockIdx.x), begin = b * p.block;
  const int n = min(p.block, p.counts[row] - begin);
  if (n <= 0) return;
  const int64_t at = pair * io.blocks + b;
  load_tokens(p, row, begin, n, s.tokens);
  for (int j = own_index(); j < n; j += block_size())
    s.scores[j] = io.scores[at * io.stride + j];
  __syncthreads();
  if (own_index() < warp) {
    const float* tops = io.tops + pair * io.blocks;
    const float before = largest(tops, b);
    const float top = max_of(before, tops[b]);
    const float part = exponentiate(s.scores, n, top);
    if (own_index() == 0) {
      io.keeps[at] = exponential(before - top);
      io.totals[at] = part;
    }
  }
  __syncthreads();
#pragma unroll
  for (int c = 0; c < C; ++c) {
    const int channel = own_index() + c * block_size();
    if (channel >= p.latent) break;
    float part[1];
    sum_values<1>(p, n, channel, s, part);
    io.sums[at * p.latent + channel] = part[0];
  }
}

// A thread a pair and channel.
__global__ void spread_join_kernel(Attend p, Spread in, int64_t cells) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t pair = index / p.latent, channel = index % p.latent;
  const int64_t row = pair / p.heads, first = pair * in.blocks;
  const int count = p.counts[row];
  float sum = 0.0f, total = 0.0f;
  for (int b = 0; b * p.block < count; ++b) {
    const float keep = in.keeps[first + b];
    total = total * keep + in.totals[first + b];
    sum = fmaf(sum, keep, in.sums[(first + b) * p.latent + channel]);
  }
  const float inverse = count > 0 ? 1.0f / total : 0.0f;
  p.out[row * p.out_stride + pair % p.heads * p.latent + channel] = sum * inverse;
}

int head_group(int heads) { return heads % 4 == 0 ? 4 : heads % 2 == 0 ? 2 : 1; }

// A block larger than the longest row is one block.
int block_within(int block, int most) { return std::min(block, round_up(std::max(most, 1), 8)); }

bool spreads(int rows, int heads, int block, int most) {
  return rows * (heads / head_group(heads)) <= few_blocks && most > block;
}

size_t mla_workspace_floats(int rows, int heads, int latent, int block, int most) {
  const int b = block_within(block, most);
  if (!spreads(rows, heads, b, most)) return 0;
  return spread_floats(static_cast<int64_t>(rows) * heads, divide_up(most, b), score_stride(b),
                       latent);
}

template <int H> void walk(const Attend& p, int rows, int threads, void* stream) {
  const size_t bytes = shared_bytes(H, p.latent, p.block);
  const auto kernel = p.latent > threads ? walk_kernel<H, 2> : walk_kernel<H, 1>;
  launch("mla_attend", kernel, blocks(rows, p.heads / H), threads, bytes, stream, p,
         score_stride(p.block));
}

void mla_attend(void* stream, const float* q, int64_t q_stride, int rows, int heads, int latent,
                float scale, const float* latents, const int32_t* ids, int64_t ids_stride,
                const int32_t* counts, int most, int block, float* out, int64_t out_stride,
                float* workspace) {
  if (rows <= 0) return;
  const Attend p{q,       q_stride,  heads,      latent, scale,
                 latents, ids,       ids_stride, counts, block_within(block, most),
                 out,     out_stride};
  int group = head_group(heads);
  while (group > 1 && shared_bytes(group, latent, p.block) > shared_limit)
    group /= 2;
  if (latent > most_latent || shared_bytes(group, latent, p.block) > shared_limit) {
    return refuse("mla_attend");
  }
  const int threads = latent >= 128 ? most_threads : 128;
  if (spreads(rows, heads, p.block, most)) {
    const int64_t pairs = static_cast<int64_t>(rows) * heads;
    const Spread s = carve(pairs, divide_up(most, p.block), score_stride(p.block), workspace);
    const size_t bytes = shared_bytes(1, latent, p.block);
    launch("mla_attend scores", spread_scores_kernel, blocks(s.blocks, pairs), threads, bytes,
           stream, p, s);
    launch("mla_attend values",
           latent > threads ? spread_values_kernel<2> : spread_values_kernel<1>,
           blocks(s.blocks, pairs), threads, bytes, stream, p, s);
    launch("mla_attend join", spread_join_kernel, cover(pairs * latent, most_threads), most_threads,
           0, stream, p, s, pairs * latent);
    return;
  }
  if (group == 4) return walk<4>(p, rows, threads, stream);
  if (group == 2) return walk<2>(p, rows, threads, stream);
  walk<1>(p, rows, threads, stream);
}

} // namespace

void add_mla_attend(ModelKernels& table) {
  table.mla_workspace_floats = mla_workspace_floats;
  table.mla_attend = mla_attend;
}

} // namespace hitproof::kernels::cuda
