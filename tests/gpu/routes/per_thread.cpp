// As a library built for per-thread default streams calls the runtime.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "tests/gpu/routes/ledger.h"

#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

void per_thread(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  check(cudaMemcpyAsync(b.device, b.pinned, 6000, cudaMemcpyHostToDevice), "H2D");
  ledger.copied(b.device, b.pinned, 6000, host_to_device);
  check(cudaMemcpy(b.pinned, b.device, 6001, cudaMemcpyDeviceToHost), "D2H");
  ledger.copied(b.pinned, b.device, 6001, device_to_host);
}

} // namespace

const std::vector<Named> per_thread_routes = {{"per_thread", per_thread}};

} // namespace hitproof::routes
