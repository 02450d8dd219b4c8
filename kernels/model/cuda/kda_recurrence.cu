// The KDA recurrence token by token. A column of the state is a recurrence of its own: one thread
// keeps it in registers from the first token of the call to the last, and sums over keys in order
// as the CPU's lanes do.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

#include <cmath>

namespace hitproof::kernels::cuda {
namespace {

constexpr int prepare_threads = 256;

// A token of a head made ready: q (normalised, scaled) | k (normalised) | decay | kq, beta and two
// floats of padding that keep the next one on a 16-byte border.
__host__ __device__ constexpr int token_floats(int dim) { return 3 * dim + 4; }

struct Prepared {
  float* tokens; // [heads][rows][token_floats]
  int rows;
};

// Eight threads a row and head.
__global__ void prepare_kernel(KdaShape shape, KdaInput in, int64_t pairs, float scale,
                               Prepared out) {
  const int64_t pair = global_index() / 8;
  const int lane = static_cast<int>(threadIdx.x) % 8, dim = shape.dim;
  const bool active = pair < pairs;
  const int64_t t = active ? pair / shape.heads : 0;
  const int h = active ? static_cast<int>(pair % shape.heads) : 0;
  const float* q = in.qkv + t * in.qkv_stride + static_cast<int64_t>(h) * dim;
  const float* k = q + static_cast<int64_t>(shape.heads) * dim;
  float qq = 0.0f, kk = 0.0f, qk = 0.0f;
  for (int i = lane; i < dim; i += 8) {
    qq = fmaf(q[i], q[i], qq);
    kk = fmaf(k[i], k[i], kk);
    qk = fmaf(q[i], k[i], qk);
  }
  qq = sum8(qq);
  kk = sum8(kk);
  qk = sum8(qk);
  if (!active) return;
  const float k_scale = 1.0f / sqrtf(kk + shape.l2_eps);
  const float q_scale = scale / sqrtf(qq + shape.l2_eps);
  const float* g = in.g + t * in.g_stride + static_cast<int64_t>(h) * dim;
  float* token = out.tokens + (static_cast<int64_t>(h) * out.rows + t) * token_floats(dim);
  for (int i = lane; i < dim; i += 8) {
    token[i] = q[i] * q_scale;
    token[dim + i] = k[i] * k_scale;
    // g is never positive; below the lowest argument the decay is the smallest number.
    token[2 * dim + i] = exp_inner(max_of(exp_lowest, g[i]));
  }
  if (lane == 0) {
    token[3 * dim] = qk * (q_scale * k_scale);
    token[3 * dim + 1] = in.beta[t * in.beta_stride + h];
  }
}

struct Recurrence {
  Prepared prepared;
  const float* v; // row 0 of the first head
  int64_t v_stride;
  const float* state_in;    // null: zeros
  float* state_after_first; // null: not kept
  float* state_out;
  float* o;
  int64_t o_stride;
};

template <int Dim> struct Column {
  float s[Dim];
  __device__ void store(float* state) const {
#pragma unroll
    for (int i = 0; i < Dim; ++i)
      state[static_cast<int64_t>(i) * Dim] = s[i];
  }
};

// One token: v in, output back. `token` is in shared memory.
template <int Dim> __device__ float advance(Column<Dim>& column, const float* token, float v) {
  float r = 0.0f, o = 0.0f;
#pragma unroll
  for (int i = 0; i < Dim; i += 4) {
    const float4 q = *reinterpret_cast<const float4*>(token + i);
    const float4 k = *reinterpret_cast<const float4*>(token + Dim + i);
    const float4 a = *reinterpret_cast<const float4*>(token + 2 * Dim + i);
    const float qs[4] = {q.x, q.y, q.z, q.w}, ks[4] = {k.x, k.y, k.z, k.w};
    const float as[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      column.s[i + j] *= as[j];
      r = fmaf(ks[j], column.s[i + j], r);
      o = fmaf(qs[j], column.s[i + j], o);
    }
  }
  const float d = token[3 * Dim + 1] * (v - r);
#pragma unroll
  for (int i = 0; i < Dim; i += 4) {
    const float4 k = *reinterpret_cast<const float4*>(token + Dim + i);
    const float ks[4] = {k.x, k.y, k.z, k.w};
#pragma unroll
    for (int j = 0; j < 4; ++j)
      column.s[i + j] = fmaf(ks[j], d, column.s[i + j]);
  }
  // o = (S + k d^T)^T q = S^T q + (k . q) d
  return fmaf(token[3 * Dim], d, o);
}

// A warp a head and slice of 32 columns. While a token is folded in, the next one is on its way to
// the other buffer.
template <int Dim> __global__ void __launch_bounds__(warp) recurrence_kernel(Recurrence p) {
  constexpr int quads = token_floats(Dim) / 4;
  constexpr int fetches = (quads + warp - 1) / warp;
  alignas(16) __shared__ float buffer[2][token_floats(Dim)];
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t h = blockIdx.y;
  const int own = static_cast<int>(blockIdx.x) * warp + lane;
  const bool active = own < Dim;
  const int column_index = active ? own : Dim - 1; // threads without a column repeat the last one
  const int64_t state_at = h * Dim * Dim + column_index;

  Column<Dim> column;
#pragma unroll
  for (int i = 0; i < Dim; ++i) {
    column.s[i] =
        p.state_in == nullptr ? 0.0f : p.state_in[state_at + static_cast<int64_t>(i) * Dim];
  }
  const auto* tokens =
      reinterpret_cast<const float4*>(p.prepared.tokens + h * p.prepared.rows * token_floats(Dim));
  const float* v = p.v + h * Dim + column_index;
  float4 next[fetches];
  float next_v = 0.0f;
  const auto fetch = [&](int t) {
#pragma unroll
    for (int i = 0; i < fetches; ++i) {
      const int quad = i * warp + lane;
      if (quad < quads) next[i] = tokens[static_cast<int64_t>(t) * quads + quad];
    }
    next_v = v[t * p.v_stride];
  };
  fetch(0);
  for (int t = 0; t < p.prepared.rows; ++t) {
    auto* to = reinterpret_cast<float4*>(buffer[t % 2]);
#pragma unroll
    for (int i = 0; i < fetches; ++i) {
      const int quad = i * warp + lane;
      if (quad < quads) to[quad] = next[i];
    }
    const float own_v = next_v;
    __syncwarp();
    if (t + 1 < p.prepared.rows) fetch(t + 1);
    const float o = advance<Dim>(column, buffer[t % 2], own_v);
    if (active) {
      p.o[t * p.o_stride + h * Dim + own] = o;
      if (t == 0 && p.state_after_first != nullptr) column.store(p.state_after_first + state_at);
    }
  }
  if (active) column.store(p.state_out + state_at);
}

template <int Dim> void run(const Recurrence& p, int heads, void* stream) {
  launch("kda recurrence", recurrence_kernel<Dim>, blocks(divide_up(Dim, warp), heads), warp, 0,
         stream, p);
}

void recur(const char* what, const KdaShape& shape, const KdaInput& in, int rows,
           const float* state_in, float* state_after_first, float* state_out, float* o,
           int64_t o_stride, float* workspace, void* stream) {
  void (*kernel)(const Recurrence&, int, void*) = nullptr;
  switch (shape.dim) {
  case 8:
    kernel = run<8>;
    break;
  case 16:
    kernel = run<16>;
    break;
  case 32:
    kernel = run<32>;
    break;
  case 64:
    kernel = run<64>;
    break;
  case 128:
    kernel = run<128>;
    break;
  default:
    return refuse(what);
  }
  const Prepared prepared{workspace, rows};
  const int64_t pairs = static_cast<int64_t>(rows) * shape.heads;
  launch("kda prepare", prepare_kernel, cover(8 * pairs, prepare_threads), prepare_threads, 0,
         stream, shape, in, pairs, 1.0f / std::sqrt(static_cast<float>(shape.dim)), prepared);
  kernel({prepared, in.qkv + 2 * static_cast<int64_t>(shape.heads) * shape.dim, in.qkv_stride,
          state_in, state_after_first, state_out, o, o_stride},
         shape.heads, stream);
}

size_t kda_workspace_floats(KdaShape shape, int rows) {
  return static_cast<size_t>(shape.heads) * static_cast<size_t>(std::max(rows, 1)) *
         static_cast<size_t>(token_floats(shape.dim));
}

void kda_prefill(void* stream, KdaShape shape, int, KdaInput in, int rows, const float* state_in,
                 float* state_out, float* o, int64_t o_stride, float* workspace) {
  if (rows <= 0) {
    const size_t bytes = sizeof(float) * kda_state_floats(shape);
    const auto queue = static_cast<cudaStream_t>(stream);
    if (state_in == nullptr) {
      note(cudaMemsetAsync(state_out, 0, bytes, queue), "kda_prefill");
    } else if (state_in != state_out) {
      note(cudaMemcpyAsync(state_out, state_in, bytes, cudaMemcpyDeviceToDevice, queue),
           "kda_prefill");
    }
    return;
  }
  recur("kda_prefill", shape, in, rows, state_in, nullptr, state_out, o, o_stride, workspace,
        stream);
}

void kda_decode(void* stream, KdaShape shape, KdaInput in, int rows, const float* state_in,
                float* state_out0, float* state_out1, float* o, int64_t o_stride,
                float* workspace) {
  if (rows == 1) {
    recur("kda_decode", shape, in, 1, state_in, nullptr, state_out0, o, o_stride, workspace,
          stream);
  } else if (rows == 2) {
    recur("kda_decode", shape, in, 2, state_in, state_out0, state_out1, o, o_stride, workspace,
          stream);
  } else if (rows > 2) {
    refuse("kda_decode");
  }
}

} // namespace

void add_kda_recurrence(ModelKernels& table) {
  table.kda_workspace_floats = kda_workspace_floats;
  table.kda_prefill = kda_prefill;
  table.kda_decode = kda_decode;
}

} // namespace hitproof::kernels::cuda
