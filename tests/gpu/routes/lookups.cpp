// Calls that are found by name: dlsym, dlvsym, cuGetProcAddress with the versions of both batch
// forms.
#include "tests/gpu/routes/ledger.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace hitproof::routes {
namespace {

using Up = CUresult(CUdeviceptr, const void*, std::size_t, CUstream);
using Down = CUresult(void*, CUdeviceptr, std::size_t, CUstream);
using BatchOld = CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t,
                          CUmemcpyAttributes*, std::size_t*, std::size_t, std::size_t*, CUstream);
using BatchNew = CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t,
                          CUmemcpyAttributes*, std::size_t*, std::size_t, CUstream);
using Proc = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

CUdeviceptr at(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

void both(Ledger& ledger, const Buffers& b, Up* up, Down* down, std::size_t bytes) {
  check(up(at(b.device), b.pinned, bytes, nullptr), "H2D");
  ledger.copied(b.device, b.pinned, bytes, host_to_device);
  check(down(b.pinned, at(b.device), bytes + 1, nullptr), "D2H");
  ledger.copied(b.pinned, b.device, bytes + 1, device_to_host);
}

void by_dlsym(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  both(ledger, b, reinterpret_cast<Up*>(driver_symbol("cuMemcpyHtoDAsync_v2")),
       reinterpret_cast<Down*>(driver_symbol("cuMemcpyDtoHAsync_v2")), 1111);
}

void by_dlvsym(Ledger& ledger, int, char**) {
  using Copy = cudaError_t(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
  const Buffers b(64 * 1024);
  void* library = dlopen("libcudart.so.13", RTLD_NOW);
  check(library == nullptr, "libcudart.so.13");
  auto* copy = reinterpret_cast<Copy*>(dlvsym(library, "cudaMemcpyAsync", "libcudart.so.13"));
  check(copy == nullptr, "dlvsym");
  check(copy(b.device, b.pinned, 2222, cudaMemcpyHostToDevice, nullptr), "H2D");
  ledger.copied(b.device, b.pinned, 2222, host_to_device);
}

template <class F> F* asked(Proc* proc, const char* name, int version) {
  void* found = nullptr;
  check(proc(name, &found, version, 0, nullptr), name);
  return reinterpret_cast<F*>(found);
}

void by_proc_address(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  auto* first = reinterpret_cast<Proc*>(driver_symbol("cuGetProcAddress_v2"));
  // The driver's answer for its own name is what everybody goes on with.
  auto* proc = asked<Proc>(first, "cuGetProcAddress", 12000);
  both(ledger, b, asked<Up>(proc, "cuMemcpyHtoDAsync", 13000),
       asked<Down>(proc, "cuMemcpyDtoHAsync", 13000), 3333);
}

void batch_by_version(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  auto* proc = reinterpret_cast<Proc*>(driver_symbol("cuGetProcAddress_v2"));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  CUdeviceptr dsts[2] = {at(b.device), at(b.pinned + 32768)};
  CUdeviceptr srcs[2] = {at(b.pinned), at(b.device + 32768)};
  std::size_t sizes[2] = {4444, 4445}, starts[1] = {0}, failed = 0;
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  for (int version : {12080, 13000}) {
    if (version == 12080)
      check(asked<BatchOld>(proc, "cuMemcpyBatchAsync", version)(dsts, srcs, sizes, 2, &attributes,
                                                                 starts, 1, &failed, stream),
            "batch at 12080");
    else
      check(asked<BatchNew>(proc, "cuMemcpyBatchAsync", version)(dsts, srcs, sizes, 2, &attributes,
                                                                 starts, 1, stream),
            "batch at 13000");
    ledger.copied(b.device, b.pinned, 4444, host_to_device);
    ledger.copied(b.pinned + 32768, b.device + 32768, 4445, device_to_host);
  }
  check(cudaStreamSynchronize(stream), "synchronize");
}

} // namespace

const std::vector<Named> lookup_routes = {{"dlsym", by_dlsym},
                                          {"dlvsym", by_dlvsym},
                                          {"proc_address", by_proc_address},
                                          {"batch_by_version", batch_by_version}};

} // namespace hitproof::routes
