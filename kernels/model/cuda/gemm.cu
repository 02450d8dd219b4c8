// Projections: the tile is chosen by how many blocks it gives; the bits are the same with any.
#include "kernels/model/cuda/gemm.cuh"

namespace hitproof::kernels::cuda {
namespace {

constexpr int most_few = 16;       // rows up to which panels are streamed
constexpr int shared_inputs = 512; // of a panel, in shared memory at a time
constexpr int most_groups = 16;
constexpr int64_t enough_blocks = 264; // two for each multiprocessor of a large device

template <int TM> __global__ void __launch_bounds__(tile_threads) tile_kernel(Product p) {
  tile_product<TM>(p, static_cast<int>(blockIdx.x) * 16 * TM,
                   static_cast<int>(blockIdx.y) * tile_columns);
}

template <int R> __global__ void few_kernel(Product p, FewShape shape) {
  few_product<R>(p, shape, static_cast<int>(blockIdx.y) * R, static_cast<int>(blockIdx.x));
}

template <int TM> void run_tiles(const char* what, const Product& p, void* stream) {
  launch(what, tile_kernel<TM>, blocks(divide_up(p.rows, 16 * TM), divide_up(p.n, tile_columns)),
         tile_threads, 0, stream, p);
}

template <int R> void run_few(const char* what, const Product& p, void* stream) {
  const FewShape shape = few_shape(p.k, p.kblock);
  launch(what, few_kernel<R>, blocks(divide_up(p.n, panel), divide_up(p.rows, R)), shape.threads,
         few_shared_bytes(shape, R), stream, p, shape);
}

int64_t tiles(const Product& p, int rows) {
  return static_cast<int64_t>(divide_up(p.rows, rows)) * divide_up(p.n, tile_columns);
}

void small_gemm(void* stream, const float* a, int64_t lda, int rows, int k, const float* packed,
                int n, int kblock, bool accumulate, float* c, int64_t ldc) {
  multiply("small_gemm", {a, lda, nullptr, rows, k, packed, n, kblock, accumulate, c, ldc}, stream);
}

} // namespace

FewShape few_shape(int k, int kblock) {
  FewShape s{1, 0, 0};
  while (s.groups < most_groups && 2 * s.groups <= divide_up(k, kblock))
    s.groups *= 2;
  s.span = std::min(shared_inputs / s.groups, round_up(kblock, 4));
  s.threads = std::max(128, panel * s.groups);
  return s;
}

size_t few_shared_bytes(const FewShape& s, int rows) {
  const int weights = s.groups * (s.span * panel + panel);
  const int inputs = rows * s.groups * (s.span + 4);
  return sizeof(float) * static_cast<size_t>(weights + inputs + rows * s.groups * panel);
}

void multiply(const char* what, Product p, void* stream) {
  if (p.rows <= 0 || p.n <= 0) return;
  p.kblock = std::min(p.kblock, p.k);
  if (p.rows == 1) return run_few<1>(what, p, stream);
  if (p.rows == 2) return run_few<2>(what, p, stream);
  if (p.rows <= most_few) return run_few<few_rows>(what, p, stream);
  if (tiles(p, 128) >= enough_blocks) return run_tiles<8>(what, p, stream);
  if (tiles(p, 64) >= enough_blocks) return run_tiles<4>(what, p, stream);
  run_tiles<2>(what, p, stream);
}

void add_gemm(ModelKernels& table) { table.small_gemm = small_gemm; }

} // namespace hitproof::kernels::cuda
