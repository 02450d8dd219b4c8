// Memory, copies, errors, and the table itself.
#include "kernels/model/cuda/device.cuh"

#include <atomic>
#include <cstdio>

namespace hitproof::kernels::cuda {
namespace {

// 0: no error, 1: being written, 2: message is complete.
std::atomic<int> state{0};
char message[256];

void keep(const char* what, const char* why) noexcept {
  int none = 0;
  if (!state.compare_exchange_strong(none, 1)) return;
  std::snprintf(message, sizeof message, "%s: %s", what, why);
  state.store(2, std::memory_order_release);
}

const char* error() { return state.load(std::memory_order_acquire) == 2 ? message : nullptr; }

const char* bind(int ordinal) {
  note(cudaSetDevice(ordinal), "select device");
  return error();
}

// Running out is the caller's to tell; the runtime's own note of it is taken away.
void* taken(cudaError_t result, void* memory) {
  if (result == cudaSuccess) return memory;
  if (result != cudaErrorMemoryAllocation) note(result, "allocate");
  cudaGetLastError();
  return nullptr;
}

void* allocate(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, bytes);
  return taken(result, memory);
}

void release(void* memory) { note(cudaFree(memory), "release"); }

void* allocate_host(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t result = cudaMallocHost(&memory, bytes);
  return taken(result, memory);
}

void release_host(void* memory) { note(cudaFreeHost(memory), "release host memory"); }

void move(void* stream, void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
          const char* what) {
  if (bytes == 0) return;
  note(cudaMemcpyAsync(to, from, bytes, kind, static_cast<cudaStream_t>(stream)), what);
}

void to_device(void* stream, void* to, const void* from, size_t bytes) {
  move(stream, to, from, bytes, cudaMemcpyHostToDevice, "copy to device");
}

void to_host(void* stream, void* to, const void* from, size_t bytes) {
  move(stream, to, from, bytes, cudaMemcpyDeviceToHost, "copy to host");
}

void copy(void* stream, void* to, const void* from, size_t bytes) {
  move(stream, to, from, bytes, cudaMemcpyDeviceToDevice, "copy");
}

void zero(void* stream, void* to, size_t bytes) {
  if (bytes == 0) return;
  note(cudaMemsetAsync(to, 0, bytes, static_cast<cudaStream_t>(stream)), "zero");
}

const char* synchronize(void* stream) {
  note(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "synchronize");
  return error();
}

ModelKernels make_table() {
  ModelKernels table{};
  table.table_bytes = sizeof(ModelKernels);
  table.device = true;
  table.name = "cuda";
  for (void (*add)(ModelKernels&) :
       {add_runtime, add_rows_family, add_gemm, add_norms, add_mhc, add_kda_convolution,
        add_kda_recurrence, add_mla_cache, add_mla_attend, add_indexer_cache, add_indexer_select,
        add_moe}) {
    add(table);
  }
  return table;
}

} // namespace

void note(cudaError_t result, const char* what) noexcept {
  if (result != cudaSuccess) keep(what, cudaGetErrorString(result));
}

void refuse(const char* what) noexcept { keep(what, "no CUDA kernel for these dimensions"); }

void add_runtime(ModelKernels& table) {
  table.bind = bind;
  table.allocate = allocate;
  table.release = release;
  table.allocate_host = allocate_host;
  table.release_host = release_host;
  table.to_device = to_device;
  table.to_host = to_host;
  table.copy = copy;
  table.zero = zero;
  table.synchronize = synchronize;
  table.error = error;
}

} // namespace hitproof::kernels::cuda

extern "C" __attribute__((visibility("default"))) const hitproof::kernels::ModelKernels*
hitproof_model_kernels_cuda() {
  static const hitproof::kernels::ModelKernels table = hitproof::kernels::cuda::make_table();
  return &table;
}
