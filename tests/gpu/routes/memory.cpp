// Memory of every kind: pools, registered and pinned pages, and a kernel that reads pinned host
// memory by itself.
#include "tests/gpu/routes/ledger.h"

#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>

extern "C" cudaError_t gpu_routes_sum(const unsigned char* from, std::size_t bytes, unsigned* to);

namespace hitproof::routes {
namespace {

void pool(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  void* p = nullptr;
  check(cudaMallocAsync(&p, 32768, nullptr), "cudaMallocAsync");
  ledger.name("pool", p, 32768);
  copy_async(ledger, p, b.pinned, 10000, host_to_device);
  check(cudaFreeAsync(p, nullptr), "cudaFreeAsync");
}

void registered(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  constexpr std::size_t bytes = 65536;
  void* p = std::aligned_alloc(4096, bytes);
  check(p == nullptr, "aligned_alloc");
  std::memset(p, 0x33, bytes);
  check(cudaHostRegister(p, bytes, cudaHostRegisterDefault), "cudaHostRegister");
  ledger.name("registered", p, bytes);
  check(cudaMemcpyAsync(b.device, static_cast<char*>(p) + 100, 10100, cudaMemcpyDefault), "H2D");
  ledger.copied({.call = "cudaMemcpyAsync",
                 .dst = b.device,
                 .src = static_cast<char*>(p) + 100,
                 .bytes = 10100,
                 .direction = host_to_device});
  check(cudaDeviceSynchronize(), "synchronize");
  ledger.ordered({.call = "cudaDeviceSynchronize", .op = device_synchronize});
  check(cudaHostUnregister(p), "cudaHostUnregister");
  std::free(p);
}

void pinned_kernel(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  constexpr int launches = 3;
  check(cudaMemset(b.device, 0, sizeof(unsigned)), "cudaMemset");
  ledger.copied({.call = "cudaMemset",
                 .dst = b.device,
                 .src = nullptr,
                 .bytes = sizeof(unsigned),
                 .direction = no_direction});
  for (int i = 0; i < launches; ++i)
    check(gpu_routes_sum(b.pinned, b.bytes, reinterpret_cast<unsigned*>(b.device)), "kernel");
  unsigned sum = 0, want = 0;
  for (std::size_t i = 0; i < b.bytes; ++i)
    want += launches * pattern(i);
  copy_async(ledger, b.pinned, b.device, sizeof sum, device_to_host);
  synchronize(ledger, nullptr);
  check(*reinterpret_cast<unsigned*>(b.pinned) != want, "sum of the pinned bytes");
  ledger.host_pointer_kernel("sum_of_bytes", launches);
}

const Routes added({{"pool", pool}, {"registered", registered}, {"pinned_kernel", pinned_kernel}});

} // namespace
} // namespace hitproof::routes
