#include "tests/runtime/stream_kernels.h"

#include "engine/sim/cudart_subset.h"

#include <functional>
#include <memory>
#include <random>
#include <unistd.h>

namespace hitproof::engine {
namespace {

int most_us = 0;

void run(void* data) {
  const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(data));
  static thread_local std::minstd_rand random(static_cast<unsigned>(::getpid()));
  if (most_us > 0) ::usleep(static_cast<useconds_t>(random() % static_cast<unsigned>(most_us)));
  (*work)();
}

void enqueue(void* stream, std::function<void()> work) {
  auto* closure = new std::function<void()>(std::move(work));
  if (cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), run, closure) != cudaSuccess) {
    delete closure;
    ::_exit(3);
  }
}

void copy(void* stream, void* to, const void* from, size_t bytes) {
  enqueue(stream, [=] { kernels::cpu_model_kernels().copy(nullptr, to, from, bytes); });
}

void copy_rows(void* stream, const void* from, int64_t from_stride, int rows, int cols, void* to,
               int64_t to_stride) {
  enqueue(stream, [=] {
    kernels::cpu_model_kernels().copy_rows(nullptr, from, from_stride, rows, cols, to, to_stride);
  });
}

void add_rows(void* stream, const float* a, int64_t a_stride, const float* b, int64_t b_stride,
              int rows, int dim, float* y, int64_t y_stride) {
  enqueue(stream, [=] {
    kernels::cpu_model_kernels().add_rows(nullptr, a, a_stride, b, b_stride, rows, dim, y,
                                          y_stride);
  });
}

} // namespace

const kernels::ModelKernels& stream_kernels(int dawdle_us) {
  static kernels::ModelKernels table = [] {
    kernels::ModelKernels made = kernels::cpu_model_kernels();
    made.device = true;
    made.name = "cpu on a stream";
    made.copy = copy;
    made.copy_rows = copy_rows;
    made.add_rows = add_rows;
    return made;
  }();
  most_us = dawdle_us;
  return table;
}

} // namespace hitproof::engine
