// Kimi delta attention: CUDA against the CPU, and the promises of restart.
#include "tests/gpu/sides.h"
#include "tests/kernels/reference.h"

namespace hitproof::kernels::testing {
namespace {

using Halves = std::vector<uint16_t>;

constexpr KdaShape shapes[] = {{3, 64, 4}, {2, 128, 4}, {4, 16, 5}, {4, 8, 3}, {1, 32, 4}};

std::string text_of(const KdaShape& s, int rows) {
  return shape_text({{"heads", s.heads}, {"dim", s.dim}, {"rows", rows}});
}

// Inputs of a layer over `rows` tokens, on the host.
struct Inputs {
  KdaShape shape;
  int rows;
  size_t channels = static_cast<size_t>(kda_channels(shape));
  size_t width = channels / 3;
  size_t n = static_cast<size_t>(rows);
  Floats raw = normal(n * (channels + 7), 61);
  Floats weight = normal(4 * channels, 62, 0.5f);
  Halves history = Halves(static_cast<size_t>(shape.history_rows) * channels);
  Floats f = normal(n * width, 63, 3.0f), b = normal(n * static_cast<size_t>(shape.heads), 64);
  Floats a_exp = uniform(static_cast<size_t>(shape.heads), 65, 0.5f, 2.0f);
  Floats dt_bias = uniform(width, 66, -4.0f, 1.0f);
  Floats qkv = normal(n * channels, 67);
  Floats g = uniform(n * width, 68, -5.0f, 0.0f);
  Floats beta = uniform(n * static_cast<size_t>(shape.heads), 69, 0.0f, 1.0f);
  Floats state = normal(kda_state_floats(shape), 70);

  Inputs(const KdaShape& s, int rows_in) : shape(s), rows(rows_in) {
    const Floats values = normal(history.size(), 71);
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, &values[i], 4);
      history[i] = static_cast<uint16_t>(bits >> 16);
    }
  }
  int64_t raw_stride() const { return static_cast<int64_t>(channels) + 7; }
};

struct Convolved {
  Floats out;
  Halves state;
};

// In calls that end at `ends`; the state goes from call to call in place.
Convolved convolve(const ModelKernels& k, const Inputs& in, bool fresh, std::vector<int> ends) {
  Side s(k);
  const float* raw = s.put(in.raw);
  const float* weight = s.put(in.weight);
  uint16_t* state = s.put(in.history);
  const uint16_t* history = fresh ? nullptr : state;
  float* out = s.room<float>(in.n * in.channels);
  int begin = 0;
  for (const int end : ends) {
    s.k.kda_conv_silu(nullptr, in.shape, raw + begin * in.raw_stride(), in.raw_stride(),
                      end - begin, weight, history, out + begin * static_cast<int64_t>(in.channels),
                      static_cast<int64_t>(in.channels));
    s.k.kda_conv_state(nullptr, in.shape, raw + begin * in.raw_stride(), in.raw_stride(),
                       end - begin, history, state);
    history = state;
    begin = end;
  }
  return {s.get(out, in.n * in.channels), s.get(state, in.history.size())};
}

TEST(KdaConvolution, EqualsTheCpuInOneCallAndInSeveral) {
  for (const KdaShape& shape : shapes) {
    for (const bool fresh : {true, false}) {
      const Inputs in(shape, 19);
      const Convolved want = convolve(cpu_model_kernels(), in, fresh, {19});
      for (const std::vector<int>& ends : {std::vector<int>{19}, {1, 3, 4, 12, 19}}) {
        const Convolved got = convolve(cuda_table(), in, fresh, ends);
        expect_equal("kda_conv_silu", text_of(shape, 19), got.out, want.out);
        expect_equal("kda_conv_state", text_of(shape, 19), got.state, want.state);
      }
    }
  }
}

TEST(KdaConvolution, ExactIsCloseAndItsStateEqual) {
  const int rows = 9, channels = 96, slots = 4;
  const Floats raw = normal(rows * channels, 72), weight = normal(4 * channels, 73),
               history = normal(slots * channels, 74);
  const auto run = [&](const ModelKernels& k, bool fresh) {
    Side s(k);
    float* state = s.put(history);
    const float* before = fresh ? nullptr : state;
    float* out = s.room<float>(rows * channels);
    s.k.kda_conv_silu_exact(nullptr, s.put(raw), channels, rows, channels, s.put(weight), before,
                            slots, out, channels);
    s.k.kda_conv_state_exact(nullptr, s.put(raw), channels, 2, channels, before, slots, state);
    return std::pair{s.get(out, rows * channels), s.get(state, slots * channels)};
  };
  for (const bool fresh : {true, false}) {
    const auto want = run(cpu_model_kernels(), fresh), got = run(cuda_table(), fresh);
    expect_equal("kda_conv_silu_exact", "", got.first, want.first, 1e-6);
    expect_equal("kda_conv_state_exact", "", got.second, want.second);
  }
}

TEST(KdaGates, EqualTheCpu) {
  for (const KdaShape& shape : shapes) {
    const Inputs in(shape, 26);
    const auto width = static_cast<int64_t>(in.width);
    check_rows({"kda_gates", text_of(shape, 26), 26, [&](Side& s, int first, int count) {
                  float* g = s.put(in.f) + first * width;
                  float* beta = s.put(in.b) + first * shape.heads;
                  s.k.kda_gates(nullptr, shape, g, width, beta, shape.heads, count, s.put(in.a_exp),
                                s.put(in.dt_bias), g, width, beta, shape.heads);
                  return join_rows(count, {s.get(g, count * in.width),
                                           s.get(beta, static_cast<size_t>(count * shape.heads))});
                }});
    for (const int block : {8, 64}) {
      check_rows({"kda_output_gate", text_of(shape, 26), 26, [&](Side& s, int first, int count) {
                    float* o = s.put(in.g) + first * width;
                    s.k.kda_output_gate(nullptr, shape, o, width, s.put(in.f) + first * width,
                                        width, count, s.put(normal(128, 75)), 1e-5f, block, o,
                                        width);
                    return s.get(o, count * in.width);
                  }});
    }
  }
}

struct Folded {
  Floats out, state;
};

enum class Start { fresh, given, in_place };

// Prefill calls that end at `ends`; then, to the last row, decode calls of `each` rows.
Folded fold(const ModelKernels& k, const Inputs& in, Start start, std::vector<int> ends, int each,
            int chunk = 0) {
  Side s(k);
  const float* qkv = s.put(in.qkv);
  const float* g = s.put(in.g);
  const float* beta = s.put(in.beta);
  const auto channels = static_cast<int64_t>(in.channels), width = static_cast<int64_t>(in.width);
  float* given = s.put(in.state);
  float* states[3] = {s.room<float>(in.state.size()), s.room<float>(in.state.size()),
                      s.room<float>(in.state.size())};
  if (start == Start::in_place) states[0] = given;
  const float* from = start == Start::fresh ? nullptr : given;
  float* out = s.room<float>(in.n * in.width);
  float* workspace = s.room<float>(k.kda_workspace_floats(in.shape, in.rows));
  const auto input = [&](int row) {
    return KdaInput{qkv + row * channels,        channels,      g + row * width, width,
                    beta + row * in.shape.heads, in.shape.heads};
  };
  int begin = 0;
  for (const int end : ends) {
    s.k.kda_prefill(nullptr, in.shape, chunk, input(begin), end - begin, from, states[0],
                    out + begin * width, width, workspace);
    from = states[0];
    begin = end;
  }
  for (int turn = 0; begin < in.rows; ++turn) {
    const int rows = std::min(each, in.rows - begin);
    float* first = states[1 + turn % 2];
    float* second = rows > 1 ? states[0] : nullptr;
    s.k.kda_decode(nullptr, in.shape, input(begin), rows, from, first, second, out + begin * width,
                   width, workspace);
    from = rows > 1 ? second : first;
    begin += rows;
  }
  return {s.get(out, in.n * in.width), s.get(from, in.state.size())};
}

TEST(KdaRecurrence, EqualsTheCpuHoweverTheTokensAreSplit) {
  for (const KdaShape& shape : shapes) {
    const int rows = 39;
    const Inputs in(shape, rows);
    for (const Start start : {Start::fresh, Start::given, Start::in_place}) {
      const Folded want = fold(cpu_model_kernels(), in, start, {rows}, 1);
      const auto check = [&](const char* kernel, const Folded& got) {
        expect_equal(kernel, text_of(shape, rows), got.out, want.out);
        expect_equal(kernel, text_of(shape, rows), got.state, want.state);
      };
      check("kda_prefill", fold(cuda_table(), in, start, {rows}, 1));
      check("kda_prefill", fold(cuda_table(), in, start, {17, 18, rows}, 1));
      check("kda_decode", fold(cuda_table(), in, start, {31}, 1));
      check("kda_decode", fold(cuda_table(), in, start, {30}, 2));
    }
  }
}

// The device takes the tokens one by one whatever the chunk is; the CPU's chunked form sums in
// another order, so they agree within a bound. The largest chunk is met twice, and cut short.
TEST(KdaRecurrence, EveryChunkIsCloseToTheCpusChunkedForm) {
  constexpr double bound = 3e-6;
  const int rows = 70;
  for (const KdaShape& shape : shapes) {
    const Inputs in(shape, rows);
    for (const Start start : {Start::fresh, Start::given, Start::in_place}) {
      const Folded one_by_one = fold(cuda_table(), in, start, {rows}, 1);
      for (const int chunk : {16, 32, 64}) {
        const std::string text = text_of(shape, rows) + " chunk=" + std::to_string(chunk);
        const Folded chunked = fold(cpu_model_kernels(), in, start, {rows}, 1, chunk);
        const Folded got = fold(cuda_table(), in, start, {rows}, 1, chunk);
        expect_equal("kda_prefill, chunked", text, got.out, chunked.out, bound);
        expect_equal("kda_prefill, chunked", text, got.state, chunked.state, bound);
        expect_equal("kda_prefill", text, got.out, one_by_one.out);
        expect_equal("kda_prefill", text, got.state, one_by_one.state);
      }
    }
  }
}

TEST(KdaRecurrence, NoRowsHandTheStateOn) {
  const Inputs in({2, 16, 4}, 1);
  for (const Start start : {Start::fresh, Start::given}) {
    const Folded want = fold(cpu_model_kernels(), in, start, {0}, 1);
    expect_equal("kda_prefill", "rows=0", fold(cuda_table(), in, start, {0}, 1).state, want.state);
  }
}

} // namespace
} // namespace hitproof::kernels::testing
