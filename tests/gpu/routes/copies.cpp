// Linked calls of the runtime: plain, batch, pitched, wrong kinds.
#include "tests/gpu/routes/ledger.h"

#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

constexpr std::size_t kib = 1024;

void runtime(Ledger& ledger, int, char**) {
  const Buffers b(64 * kib);
  check(cudaMemcpyAsync(b.device, b.pinned, 40 * kib, cudaMemcpyHostToDevice), "H2D");
  ledger.copied(b.device, b.pinned, 40 * kib, host_to_device);
  check(cudaMemcpyAsync(b.other_device, b.device, 3000, cudaMemcpyDeviceToDevice), "D2D");
  ledger.copied(b.other_device, b.device, 3000, device_to_device);
  check(cudaMemcpyAsync(b.pinned + 50 * kib, b.device, 777, cudaMemcpyDeviceToHost), "D2H");
  ledger.copied(b.pinned + 50 * kib, b.device, 777, device_to_host);
  check(cudaMemcpy(b.pinned, b.other_device, 2 * kib, cudaMemcpyDeviceToHost), "cudaMemcpy");
  ledger.copied(b.pinned, b.other_device, 2 * kib, device_to_host);
}

void batch(Ledger& ledger, int, char**) {
  const Buffers b(64 * kib);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  constexpr std::size_t count = 5;
  void* dsts[count];
  const void* srcs[count];
  std::size_t sizes[count];
  for (std::size_t i = 0; i < count; ++i) {
    const bool up = i % 2 == 0;
    dsts[i] = (up ? b.device : b.pinned) + i * 8 * kib;
    srcs[i] = (up ? b.pinned : b.device) + i * 8 * kib;
    sizes[i] = kib + i;
    ledger.copied(dsts[i], srcs[i], sizes[i], up ? host_to_device : device_to_host);
  }
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  check(cudaMemcpyBatchAsync(dsts, srcs, sizes, count, &attributes, &first, 1, stream), "batch");
  check(cudaStreamSynchronize(stream), "synchronize");
}

void pitched(Ledger& ledger, int, char**) {
  const Buffers b(64 * kib);
  check(cudaMemcpy2DAsync(b.device + 16, 512, b.pinned + 32, 256, 200, 7, cudaMemcpyHostToDevice,
                          nullptr),
        "2D");
  ledger.copied(b.device + 16, b.pinned + 32, 200 * 7, host_to_device);
  cudaMemcpy3DParms p = {};
  p.srcPtr = cudaPitchedPtr{b.device, 512, 512, 8};
  p.dstPtr = cudaPitchedPtr{b.pinned, 256, 256, 8};
  p.extent = cudaExtent{100, 5, 3};
  p.kind = cudaMemcpyDeviceToHost;
  check(cudaMemcpy3DAsync(&p, nullptr), "3D");
  ledger.copied(b.pinned, b.device, 100 * 5 * 3, device_to_host);
}

void kinds(Ledger& ledger, int, char**) {
  const Buffers b(64 * kib);
  check(cudaMemcpyAsync(b.device, b.pinned, 5000, cudaMemcpyDefault), "default");
  ledger.copied(b.device, b.pinned, 5000, host_to_device);
  check(cudaMemcpyAsync(b.pinned, b.device, 5001, cudaMemcpyDefault), "default");
  ledger.copied(b.pinned, b.device, 5001, device_to_host);
  // Pinned memory has one address on both sides: the wrong kind may be taken, or refused.
  if (cudaMemcpyAsync(b.device, b.pinned, 5002, cudaMemcpyDeviceToDevice) == cudaSuccess)
    ledger.copied(b.device, b.pinned, 5002, host_to_device);
}

} // namespace

const std::vector<Named> copy_routes = {
    {"runtime", runtime}, {"batch", batch}, {"pitched", pitched}, {"kinds", kinds}};

} // namespace hitproof::routes
