// As a library built for per-thread default streams calls the runtime.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "tests/gpu/routes/ledger.h"

#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

void per_thread(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  // The fills of the buffers ran on the other default stream.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  ledger.ordered({.call = "cudaDeviceSynchronize", .op = device_synchronize});
  check(cudaMemcpyAsync(b.device, b.pinned, 6000, cudaMemcpyHostToDevice), "H2D");
  ledger.copied({.call = "cudaMemcpyAsync_ptsz",
                 .dst = b.device,
                 .src = b.pinned,
                 .bytes = 6000,
                 .direction = host_to_device,
                 .stream = cudaStreamPerThread});
  check(cudaMemcpy(b.pinned, b.device, 6001, cudaMemcpyDeviceToHost), "D2H");
  ledger.copied({.call = "cudaMemcpy_ptds",
                 .dst = b.pinned,
                 .src = b.device,
                 .bytes = 6001,
                 .direction = device_to_host,
                 .stream = cudaStreamPerThread});
}

const Routes added({{"per_thread", per_thread}});

} // namespace
} // namespace hitproof::routes
