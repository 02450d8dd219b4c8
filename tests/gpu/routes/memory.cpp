// Memory of every kind: pools, virtual memory, registered and pinned pages, another process's
// memory, and a kernel that reads pinned host memory by itself.
#include "tests/gpu/routes/ledger.h"

#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

extern "C" cudaError_t gpu_routes_sum(const unsigned char* from, std::size_t bytes, unsigned* to);

namespace hitproof::routes {
namespace {

void pool(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  void* p = nullptr;
  check(cudaMallocAsync(&p, 32768, nullptr), "cudaMallocAsync");
  check(cudaMemcpyAsync(p, b.pinned, 10000, cudaMemcpyHostToDevice), "H2D");
  ledger.copied(p, b.pinned, 10000, host_to_device);
  check(cudaFreeAsync(p, nullptr), "cudaFreeAsync");
}

void registered(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  constexpr std::size_t bytes = 65536;
  void* p = std::aligned_alloc(4096, bytes);
  check(cudaHostRegister(p, bytes, cudaHostRegisterDefault), "cudaHostRegister");
  check(cudaMemcpyAsync(b.device, static_cast<char*>(p) + 100, 10100, cudaMemcpyDefault), "H2D");
  ledger.copied(b.device, static_cast<char*>(p) + 100, 10100, host_to_device);
  check(cudaDeviceSynchronize(), "synchronize");
  check(cudaHostUnregister(p), "cudaHostUnregister");
  std::free(p);
}

template <class F> F* driver(F*, const char* name) {
  return reinterpret_cast<F*>(driver_symbol(name));
}
#define HITPROOF_TEXT(x) #x
#define HITPROOF_DRIVER(function) driver(&function, HITPROOF_TEXT(function))

void virtual_memory(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  std::size_t granularity = 0;
  check(HITPROOF_DRIVER(cuMemGetAllocationGranularity)(&granularity, &prop,
                                                       CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "granularity");
  CUmemGenericAllocationHandle handle = 0;
  check(HITPROOF_DRIVER(cuMemCreate)(&handle, granularity, &prop, 0), "cuMemCreate");
  int descriptor = -1;
  check(HITPROOF_DRIVER(cuMemExportToShareableHandle)(&descriptor, handle,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "export");
  CUdeviceptr p = 0;
  check(HITPROOF_DRIVER(cuMemAddressReserve)(&p, granularity, 0, 0, 0), "reserve");
  check(HITPROOF_DRIVER(cuMemMap)(p, granularity, 0, handle, 0), "cuMemMap");
  CUmemAccessDesc access = {};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(HITPROOF_DRIVER(cuMemSetAccess)(p, granularity, &access, 1), "access");
  void* page = reinterpret_cast<void*>(p + 4096);
  check(cudaMemcpyAsync(page, b.pinned, 10200, cudaMemcpyHostToDevice), "H2D");
  ledger.copied(page, b.pinned, 10200, host_to_device);
  check(cudaDeviceSynchronize(), "synchronize");
  check(close(descriptor), "close");
}

void ipc(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  cudaIpcMemHandle_t handle;
  check(cudaIpcGetMemHandle(&handle, b.device), "export");
  check(cudaMemcpy(b.device, b.pinned, 10300, cudaMemcpyHostToDevice), "H2D");
  ledger.copied(b.device, b.pinned, 10300, host_to_device);
  check(run_self({"_ipc_child", hex(&handle, sizeof handle)}), "the other process");
}

void ipc_child(Ledger& ledger, int argc, char** argv) {
  check(argc != 1, "handle");
  const Buffers b(64 * 1024);
  cudaIpcMemHandle_t handle;
  from_hex(argv[0], &handle, sizeof handle);
  void* p = nullptr;
  check(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess), "open");
  check(cudaMemcpyAsync(b.pinned, static_cast<char*>(p) + 4096, 6204, cudaMemcpyDeviceToHost),
        "D2H");
  ledger.copied(b.pinned, static_cast<char*>(p) + 4096, 6204, device_to_host);
  check(cudaDeviceSynchronize(), "synchronize");
  check(cudaIpcCloseMemHandle(p), "close");
}

void pinned_kernel(Ledger& ledger, int, char**) {
  const Buffers b(64 * 1024);
  for (int i = 0; i < 3; ++i)
    check(gpu_routes_sum(b.pinned, b.bytes, reinterpret_cast<unsigned*>(b.device)), "kernel");
  ledger.host_pointer_kernel("sum_of_bytes");
}

} // namespace

const std::vector<Named> memory_routes = {
    {"pool", pool}, {"registered", registered}, {"virtual_memory", virtual_memory},
    {"ipc", ipc},   {"_ipc_child", ipc_child},  {"pinned_kernel", pinned_kernel}};

} // namespace hitproof::routes
