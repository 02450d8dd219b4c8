// Hyper-connections: a thread block takes one row, or four where rows are many so that fn is read
// once for them.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int element_threads = 256;
constexpr int mix_size = mhc_mix_size;
constexpr int groups = 16; // mhc_blocks mapped side by side
constexpr int row_threads = groups * mix_size;
constexpr int64_t many_rows = 264; // from here on four rows a block still fill the device

struct Site {
  MhcShape shape;
  MhcSite site;
  MhcBlocks blocks;
};

__device__ int own_index() { return static_cast<int>(threadIdx.x); }

// z[r] = fn x_r / sqrt(mean(x_r^2) + eps), in shared memory.
template <int R>
__device__ void map_rows(const Site& s, const float* const (&x)[R], float (&z)[R][mix_size]) {
  __shared__ float parts[groups][R][mix_size];
  const int inner = mhc_streams * s.shape.hidden, part = s.blocks.mhc_block;
  const int tid = own_index(), group = tid / mix_size, out = tid % mix_size;
  float total = 0.0f;
  for (int round = 0; round < inner; round += groups * part) {
    const int begin = round + group * part, end = min(begin + part, inner);
    float acc[R];
#pragma unroll
    for (int r = 0; r < R; ++r)
      acc[r] = 0.0f;
#pragma unroll 8
    for (int i = begin; i < end; ++i) {
      const float w = s.site.fn_packed[static_cast<int64_t>(i) * mix_size + out];
#pragma unroll
      for (int r = 0; r < R; ++r)
        acc[r] = fmaf(x[r][i], w, acc[r]);
    }
#pragma unroll
    for (int r = 0; r < R; ++r)
      parts[group][r][out] = acc[r];
    __syncthreads();
    if (tid < R * mix_size) {
      for (int g = 0; g < groups && round + g * part < inner; ++g) {
        const float p = parts[g][tid / mix_size][out];
        total = round == 0 && g == 0 ? p : total + p;
      }
    }
    __syncthreads();
  }
  float* square_parts = dynamic_shared<float>();
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const float* row = x[r];
    const float squares = blocked_sum(
        inner, part, square_parts, [row](float acc, int i) { return fmaf(row[i], row[i], acc); });
    const float mean = squares / static_cast<float>(inner);
    const float inv = 1.0f / sqrtf(mean + s.shape.rms_eps);
    if (tid / mix_size == r) z[r][out] = total * inv;
  }
  __syncthreads();
}

// z (in place) to pre | post | comb: 16 lanes a row, lane 4 i + j for comb[i][j].
template <int R> __device__ void make_mix(const Site& s, float (&z)[R][mix_size]) {
  const int tid = own_index(), e = tid % 16;
  if (tid < round_up(R, 2) * 16) {
    float* row = z[min(tid / 16, R - 1)];
    const float eps = s.shape.hc_eps;
    const float gate =
        sigmoid(fmaf(row[e % 8], s.site.scale[e % 8 < 4 ? 0 : 1], s.site.base[e % 8]));
    float m = fmaf(row[8 + e], s.site.scale[2], s.site.base[8 + e]);
    const auto row_partner = [](float v, int step) { return __shfl_xor_sync(all_lanes, v, step); };
    const auto row_sum = [&](float v) {
      v += row_partner(v, 1);
      return v + row_partner(v, 2);
    };
    const auto column_sum = [&](float v) {
      v += row_partner(v, 4);
      return v + row_partner(v, 8);
    };
    float top = max_of(m, row_partner(m, 1));
    top = max_of(top, row_partner(top, 2));
    m = exponential(m - top);
    m = fmaf(m, 1.0f / row_sum(m), eps);
    m = m * (1.0f / (column_sum(m) + eps));
    for (int round = 1; round < s.shape.sinkhorn_rounds; ++round) {
      m = m * (1.0f / (row_sum(m) + eps));
      m = m * (1.0f / (column_sum(m) + eps));
    }
    __syncwarp();
    if (tid < R * 16) {
      if (e < 8) row[e] = e < 4 ? gate + eps : gate + gate;
      row[8 + e] = m;
    }
  }
  __syncthreads();
}

__device__ void collapse(const Site& s, const float* x, const float* pre, float* u_n) {
  const int hidden = s.shape.hidden;
  for (int i = own_index(); i < hidden; i += row_threads) {
    float u = pre[0] * x[i];
    u = fmaf(pre[1], x[hidden + i], u);
    u = fmaf(pre[2], x[2 * hidden + i], u);
    u_n[i] = fmaf(pre[3], x[3 * hidden + i], u);
  }
  const float squares =
      blocked_sum(hidden, s.blocks.norm_block, dynamic_shared<float>(), // synchronises first
                  [u_n](float acc, int i) { return fmaf(u_n[i], u_n[i], acc); });
  const float inv = 1.0f / sqrtf(squares / static_cast<float>(hidden) + s.shape.rms_eps);
  for (int i = own_index(); i < hidden; i += row_threads) {
    u_n[i] = u_n[i] * inv * s.site.norm_weight[i];
  }
}

__device__ void mix_element(const float* mix, float y, int hidden, float* x) {
  const float* post = mix + 4;
  const float* comb = post + 4;
  const float x0 = x[0], x1 = x[hidden], x2 = x[2 * hidden], x3 = x[3 * hidden];
#pragma unroll
  for (int j = 0; j < mhc_streams; ++j) {
    float sum = post[j] * y;
    sum = fmaf(comb[j], x0, sum);
    sum = fmaf(comb[4 + j], x1, sum);
    sum = fmaf(comb[8 + j], x2, sum);
    x[j * hidden] = fmaf(comb[12 + j], x3, sum);
  }
}

struct Rows {
  const float* y; // null: no post before
  int64_t y_stride;
  float* streams;
  int rows;
  float* mix;
  float* u_n;
  int64_t u_stride;
};

template <int R> __global__ void __launch_bounds__(row_threads) pre_kernel(Site s, Rows p) {
  __shared__ float z[R][mix_size];
  const int first = static_cast<int>(blockIdx.x) * R;
  const int hidden = s.shape.hidden;
  const int64_t step = static_cast<int64_t>(mhc_streams) * hidden;
  const float* x[R]; // places without a row repeat the last one
#pragma unroll
  for (int r = 0; r < R; ++r)
    x[r] = p.streams + min(first + r, p.rows - 1) * step;
  if (p.y != nullptr) {
    for (int r = first; r < min(first + R, p.rows); ++r) {
      for (int i = own_index(); i < hidden; i += row_threads) {
        mix_element(p.mix + static_cast<int64_t>(r) * mix_size, p.y[r * p.y_stride + i], hidden,
                    p.streams + r * step + i);
      }
    }
    __syncthreads();
  }
  map_rows<R>(s, x, z);
  make_mix<R>(s, z);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (first + r >= p.rows) break;
    if (own_index() < mix_size) {
      p.mix[static_cast<int64_t>(first + r) * mix_size + own_index()] = z[r][own_index()];
    }
    collapse(s, x[r], z[r], p.u_n + (first + r) * p.u_stride);
  }
}

void run_pre(const char* what, const Site& s, const Rows& p, void* stream) {
  if (p.rows <= 0) return;
  const size_t bytes =
      sizeof(float) * std::max(divide_up(mhc_streams * s.shape.hidden, s.blocks.mhc_block),
                               divide_up(s.shape.hidden, s.blocks.norm_block));
  if (p.rows >= 4 * many_rows) {
    launch(what, pre_kernel<4>, blocks(divide_up(p.rows, 4)), row_threads, bytes, stream, s, p);
  } else if (p.rows >= 2 * many_rows) {
    launch(what, pre_kernel<2>, blocks(divide_up(p.rows, 2)), row_threads, bytes, stream, s, p);
  } else {
    launch(what, pre_kernel<1>, blocks(p.rows), row_threads, bytes, stream, s, p);
  }
}

void mhc_pre(void* stream, MhcShape shape, MhcSite site, MhcBlocks blocks, const float* streams,
             int rows, float* mix, float* u_n, int64_t u_stride) {
  // Without y the streams are only read.
  run_pre("mhc_pre", {shape, site, blocks},
          {nullptr, 0, const_cast<float*>(streams), rows, mix, u_n, u_stride}, stream);
}

void mhc_post_pre(void* stream, const float* y, int64_t y_stride, MhcShape shape, MhcSite next,
                  MhcBlocks blocks, float* streams, int rows, float* mix, float* u_n,
                  int64_t u_stride) {
  run_pre("mhc_post_pre", {shape, next, blocks}, {y, y_stride, streams, rows, mix, u_n, u_stride},
          stream);
}

__global__ void post_kernel(const float* y, int64_t y_stride, const float* mix, int64_t cells,
                            int hidden, float* streams) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t r = index / hidden, i = index % hidden;
  mix_element(mix + r * mix_size, y[r * y_stride + i], hidden,
              streams + r * mhc_streams * hidden + i);
}

void mhc_post(void* stream, const float* y, int64_t y_stride, const float* mix, int rows,
              int hidden, float* streams) {
  if (rows <= 0) return;
  const int64_t cells = static_cast<int64_t>(rows) * hidden;
  launch("mhc_post", post_kernel, cover(cells, element_threads), element_threads, 0, stream, y,
         y_stride, mix, cells, hidden, streams);
}

__global__ void spread_kernel(const float* e, int64_t e_stride, int64_t cells, int hidden,
                              float* streams) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t r = index / hidden, i = index % hidden;
  const float v = e[r * e_stride + i];
#pragma unroll
  for (int j = 0; j < mhc_streams; ++j)
    streams[(r * mhc_streams + j) * hidden + i] = v;
}

void mhc_spread(void* stream, const float* e, int64_t e_stride, int rows, int hidden,
                float* streams) {
  if (rows <= 0) return;
  const int64_t cells = static_cast<int64_t>(rows) * hidden;
  launch("mhc_spread", spread_kernel, cover(cells, element_threads), element_threads, 0, stream, e,
         e_stride, cells, hidden, streams);
}

__global__ void mean_kernel(const float* streams, int64_t cells, int hidden, float* h,
                            int64_t h_stride) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int64_t r = index / hidden, i = index % hidden;
  const float* x = streams + r * mhc_streams * hidden + i;
  h[r * h_stride + i] = (x[0] + x[hidden] + x[2 * hidden] + x[3 * hidden]) * 0.25f;
}

void mhc_mean(void* stream, const float* streams, int rows, int hidden, float* h,
              int64_t h_stride) {
  if (rows <= 0) return;
  const int64_t cells = static_cast<int64_t>(rows) * hidden;
  launch("mhc_mean", mean_kernel, cover(cells, element_threads), element_threads, 0, stream,
         streams, cells, hidden, h, h_stride);
}

} // namespace

void add_mhc(ModelKernels& table) {
  table.mhc_spread = mhc_spread;
  table.mhc_pre = mhc_pre;
  table.mhc_post = mhc_post;
  table.mhc_post_pre = mhc_post_pre;
  table.mhc_mean = mhc_mean;
}

} // namespace hitproof::kernels::cuda
