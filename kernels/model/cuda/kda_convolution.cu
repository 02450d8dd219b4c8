// What surrounds the recurrence value by value: short convolution, gates, output gate.
#include "kernels/model/cuda/device.cuh"
#include "kernels/model/cuda/numeric.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int threads = 256;
constexpr int taps = 4;

// Input of channel c at row t of the call; rows before it come from the history, newest last.
struct EncodedInput {
  const float* raw;
  int64_t raw_stride;
  const uint16_t* history;
  int slots;
  int channels;
  __device__ float operator()(int t, int c) const {
    if (t >= 0) return round_bf16_activation(raw[t * raw_stride + c]);
    if (history == nullptr) return 0.0f;
    return from_bf16(history[static_cast<int64_t>(slots + t) * channels + c]);
  }
};

__global__ void conv_kernel(EncodedInput in, const float* weight, float* out, int64_t out_stride) {
  const int c = static_cast<int>(global_index());
  const int t = static_cast<int>(blockIdx.y);
  if (c >= in.channels) return;
  float sum = weight[c] * in(t - 3, c);
#pragma unroll
  for (int j = 1; j < taps; ++j) {
    sum = fmaf(weight[static_cast<int64_t>(j) * in.channels + c], in(t - 3 + j, c), sum);
  }
  out[t * out_stride + c] = silu(sum);
}

constexpr int most_rows = 65535; // of a grid's second dimension

void kda_conv_silu(void* stream, KdaShape shape, const float* raw, int64_t raw_stride, int rows,
                   const float* weight, const uint16_t* history, float* out, int64_t out_stride) {
  if (rows > most_rows) return refuse("kda_conv_silu");
  if (rows <= 0) return;
  const int channels = kda_channels(shape);
  launch("kda_conv_silu", conv_kernel, blocks(divide_up(channels, threads), rows), threads, 0,
         stream, EncodedInput{raw, raw_stride, history, shape.history_rows, channels}, weight, out,
         out_stride);
}

// One thread a channel, rows ascending: out may be history (kda_gates.cpp).
__global__ void state_kernel(EncodedInput in, int rows, uint16_t* out) {
  const int c = static_cast<int>(global_index());
  if (c >= in.channels) return;
  for (int i = 0; i < in.slots; ++i) {
    const int t = i + rows - in.slots;
    uint16_t value = 0;
    if (t >= 0) {
      value = to_bf16(in.raw[t * in.raw_stride + c]);
    } else if (in.history != nullptr) {
      value = in.history[static_cast<int64_t>(in.slots + t) * in.channels + c];
    }
    out[static_cast<int64_t>(i) * in.channels + c] = value;
  }
}

void kda_conv_state(void* stream, KdaShape shape, const float* raw, int64_t raw_stride, int rows,
                    const uint16_t* history, uint16_t* out) {
  const int channels = kda_channels(shape);
  launch("kda_conv_state", state_kernel, cover(channels, threads), threads, 0, stream,
         EncodedInput{raw, raw_stride, history, shape.history_rows, channels}, rows, out);
}

struct ExactInput {
  const float* raw;
  int64_t raw_stride;
  const float* history;
  int slots;
  int channels;
  __device__ float operator()(int t, int c) const {
    if (t >= 0) return raw[t * raw_stride + c];
    if (history == nullptr || slots + t < 0) return 0.0f;
    return history[static_cast<int64_t>(slots + t) * channels + c];
  }
};

__global__ void exact_conv_kernel(ExactInput in, const float* weight, float* out,
                                  int64_t out_stride) {
  const int c = static_cast<int>(global_index());
  const int t = static_cast<int>(blockIdx.y);
  if (c >= in.channels) return;
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < taps; ++j) {
    sum += weight[static_cast<int64_t>(j) * in.channels + c] * in(t - 3 + j, c);
  }
  out[t * out_stride + c] = silu(sum);
}

void kda_conv_silu_exact(void* stream, const float* raw, int64_t raw_stride, int rows, int channels,
                         const float* weight, const float* history, int slots, float* out,
                         int64_t out_stride) {
  if (rows > most_rows) return refuse("kda_conv_silu_exact");
  if (rows <= 0) return;
  launch("kda_conv_silu_exact", exact_conv_kernel, blocks(divide_up(channels, threads), rows),
         threads, 0, stream, ExactInput{raw, raw_stride, history, slots, channels}, weight, out,
         out_stride);
}

__global__ void exact_state_kernel(ExactInput in, int rows, float* out) {
  const int c = static_cast<int>(global_index());
  if (c >= in.channels) return;
  for (int i = 0; i < in.slots; ++i) {
    out[static_cast<int64_t>(i) * in.channels + c] = in(i + rows - in.slots, c);
  }
}

void kda_conv_state_exact(void* stream, const float* raw, int64_t raw_stride, int rows,
                          int channels, const float* history, int slots, float* out) {
  launch("kda_conv_state_exact", exact_state_kernel, cover(channels, threads), threads, 0, stream,
         ExactInput{raw, raw_stride, history, slots, channels}, rows, out);
}

__global__ void gates_kernel(KdaShape shape, const float* f, int64_t f_stride, const float* b,
                             int64_t b_stride, int64_t cells, const float* a_exp,
                             const float* dt_bias, float* g, int64_t g_stride, float* beta,
                             int64_t beta_stride) {
  const int64_t index = global_index();
  if (index >= cells) return;
  const int width = shape.heads * shape.dim;
  const int64_t t = index / width;
  const int i = static_cast<int>(index % width), h = i / shape.dim;
  const float x = a_exp[h] * (f[t * f_stride + i] + dt_bias[i]);
  g[t * g_stride + i] = shape.lower_bound / one_plus_exp_minus(x);
  if (i % shape.dim == 0) beta[t * beta_stride + h] = sigmoid(b[t * b_stride + h]);
}

void kda_gates(void* stream, KdaShape shape, const float* f, int64_t f_stride, const float* b,
               int64_t b_stride, int rows, const float* a_exp, const float* dt_bias, float* g,
               int64_t g_stride, float* beta, int64_t beta_stride) {
  if (rows <= 0) return;
  const int64_t cells = static_cast<int64_t>(rows) * shape.heads * shape.dim;
  launch("kda_gates", gates_kernel, cover(cells, threads), threads, 0, stream, shape, f, f_stride,
         b, b_stride, cells, a_exp, dt_bias, g, g_stride, beta, beta_stride);
}

// Eight threads a row and head: the lanes of the CPU's sum.
__global__ void output_gate_kernel(KdaShape shape, const float* o, int64_t o_stride,
                                   const float* gout, int64_t gout_stride, int64_t pairs,
                                   const float* o_norm, float eps, int norm_block, float* y,
                                   int64_t y_stride) {
  const int64_t pair = global_index() / 8;
  const int lane = static_cast<int>(threadIdx.x) % 8;
  const bool active = pair < pairs;
  const int64_t t = active ? pair / shape.heads : 0;
  const int offset = active ? static_cast<int>(pair % shape.heads) * shape.dim : 0;
  const float* x = o + t * o_stride + offset;
  float squares = 0.0f;
  for (int begin = 0; begin < shape.dim; begin += norm_block) {
    const int end = min(begin + norm_block, shape.dim);
    float acc = 0.0f;
    for (int i = begin + lane; i < end; i += 8)
      acc = fmaf(x[i], x[i], acc);
    squares += sum8(acc);
  }
  if (!active) return;
  const float scale = 1.0f / sqrtf(squares / static_cast<float>(shape.dim) + eps);
  const float* gate = gout + t * gout_stride + offset;
  for (int i = lane; i < shape.dim; i += 8) {
    y[t * y_stride + offset + i] = x[i] * scale * o_norm[i] / one_plus_exp_minus(gate[i]);
  }
}

void kda_output_gate(void* stream, KdaShape shape, const float* o, int64_t o_stride,
                     const float* gout, int64_t gout_stride, int rows, const float* o_norm,
                     float eps, int norm_block, float* y, int64_t y_stride) {
  if (rows <= 0) return;
  const int64_t pairs = static_cast<int64_t>(rows) * shape.heads;
  launch("kda_output_gate", output_gate_kernel, cover(8 * pairs, threads), threads, 0, stream,
         shape, o, o_stride, gout, gout_stride, pairs, o_norm, eps, norm_block, y, y_stride);
}

} // namespace

void add_kda_convolution(ModelKernels& table) {
  table.kda_conv_silu = kda_conv_silu;
  table.kda_conv_state = kda_conv_state;
  table.kda_conv_silu_exact = kda_conv_silu_exact;
  table.kda_conv_state_exact = kda_conv_state_exact;
  table.kda_gates = kda_gates;
  table.kda_output_gate = kda_output_gate;
}

} // namespace hitproof::kernels::cuda
