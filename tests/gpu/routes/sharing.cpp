// Memory of another process: by IPC, with a cache page that its owner announced, and by a
// descriptor of virtual memory.
#include "probes/hitproof.h"
#include "tests/gpu/routes/ledger.h"

#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

namespace hitproof::routes {
namespace {

// memory.op
constexpr int allocated = 0, ipc_exported = 6, ipc_opened = 7;

// A handle stands for a whole allocation of the driver: a buffer of this size is one by itself.
constexpr std::size_t large = 2 << 20;

constexpr int entry = 7;
constexpr std::size_t page_offset = 8192, page_bytes = 6204;

void announce_page(void* base) {
  hitproof_entry_t e = {};
  e.name = "layers.7.mla";
  e.base = base;
  e.page_stride = e.page_bytes = e.content_bytes = page_bytes;
  e.storage_offset = page_offset;
  e.num_pages = 4;
  e.tokens_per_page = 16;
  e.entry = entry;
  e.layer = entry;
  e.transferred = 1;
  e.origin = HITPROOF_ORIGIN_MODEL;
  e.ndim = 1;
  e.element_bytes = 1;
  e.shape[0] = page_bytes;
  e.stride[0] = 1;
  HITPROOF_CALL(entry, (&e));
}

void ipc(Ledger& ledger, int, char**) {
  const Buffers b(ledger, large);
  cudaIpcMemHandle_t handle;
  check(cudaIpcGetMemHandle(&handle, b.device), "export");
  ledger.name_handle("handle1", &handle, sizeof handle);
  ledger.mapped(ipc_exported, b.device, large, "handle1");
  announce_page(b.device + page_offset);
  ledger.registered(entry, b.device + page_offset);
  check(cudaMemcpy(b.device, b.pinned, large, cudaMemcpyHostToDevice), "H2D");
  ledger.copied({.call = "cudaMemcpy",
                 .dst = b.device,
                 .src = b.pinned,
                 .bytes = large,
                 .direction = host_to_device});
  check(run_self({"_ipc_child", hex(&handle, sizeof handle)}), "the other process");
}

void ipc_child(Ledger& ledger, int argc, char** argv) {
  check(argc != 1, "handle");
  const Buffers b(ledger, 64 * 1024);
  cudaIpcMemHandle_t handle;
  from_hex(argv[0], &handle, sizeof handle);
  ledger.name_handle("handle1", &handle, sizeof handle);
  void* p = nullptr;
  check(cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess), "open");
  ledger.name("mapping", p, large);
  ledger.mapped(ipc_opened, p, 0, "handle1");
  auto* page = static_cast<unsigned char*>(p) + page_offset;
  ledger.joined(entry, page);
  copy_async(ledger, b.pinned, page, page_bytes, device_to_host);
  synchronize(ledger, nullptr);
  for (std::size_t i = 0; i < page_bytes; ++i)
    check(b.pinned[i] != pattern(page_offset + i), "bytes of the page");
  check(cudaIpcCloseMemHandle(p), "close");
}

template <class F> F* driver(F*, const char* name) {
  return reinterpret_cast<F*>(driver_symbol(name));
}
#define HITPROOF_TEXT(x) #x
#define HITPROOF_DRIVER(function) driver(&function, HITPROOF_TEXT(function))

CUmemAllocationProp exportable() {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

std::size_t granularity() {
  const CUmemAllocationProp prop = exportable();
  std::size_t bytes = 0;
  check(HITPROOF_DRIVER(cuMemGetAllocationGranularity)(&bytes, &prop,
                                                       CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "granularity");
  return bytes;
}

// Maps the memory behind a handle, for this process to read and write.
unsigned char* map(Ledger& ledger, CUmemGenericAllocationHandle handle, std::size_t bytes) {
  CUdeviceptr p = 0;
  check(HITPROOF_DRIVER(cuMemAddressReserve)(&p, bytes, 0, 0, 0), "reserve");
  check(HITPROOF_DRIVER(cuMemMap)(p, bytes, 0, handle, 0), "cuMemMap");
  CUmemAccessDesc access = {};
  access.location = exportable().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(HITPROOF_DRIVER(cuMemSetAccess)(p, bytes, &access, 1), "access");
  ledger.name("mapped", reinterpret_cast<void*>(p), bytes);
  ledger.mapped(allocated, reinterpret_cast<void*>(p), bytes);
  return reinterpret_cast<unsigned char*>(p);
}

// The owner writes 10,200 bytes; the process that imports its descriptor writes others behind them.
void virtual_memory(Ledger& ledger, int, char**) {
  if (dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemCreate") == nullptr)
    skip("this driver has no virtual memory");
  const Buffers b(ledger, 64 * 1024);
  const std::size_t bytes = granularity();
  const CUmemAllocationProp prop = exportable();
  CUmemGenericAllocationHandle handle = 0;
  check(HITPROOF_DRIVER(cuMemCreate)(&handle, bytes, &prop, 0), "cuMemCreate");
  int descriptor = -1;
  check(HITPROOF_DRIVER(cuMemExportToShareableHandle)(&descriptor, handle,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "export");
  unsigned char* const page = map(ledger, handle, bytes) + 4096;
  copy_async(ledger, page, b.pinned, 10200, host_to_device);
  synchronize(ledger, nullptr);
  // A duplicate stays open in the program that is started.
  const int inherited = dup(descriptor);
  check(inherited < 0, "dup");
  check(run_self({"_virtual_memory_child", std::to_string(inherited)}), "the other process");
  copy_async(ledger, b.pinned, page + 10200, 900, device_to_host);
  synchronize(ledger, nullptr);
  for (std::size_t i = 0; i < 900; ++i)
    check(b.pinned[i] != pattern(500 + i), "bytes of the other process");
  check(close(descriptor) | close(inherited), "close");
}

void virtual_memory_child(Ledger& ledger, int argc, char** argv) {
  check(argc != 1, "descriptor");
  const Buffers b(ledger, 64 * 1024);
  const int descriptor = std::atoi(argv[0]);
  CUmemGenericAllocationHandle handle = 0;
  check(HITPROOF_DRIVER(cuMemImportFromShareableHandle)(
            &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "import");
  unsigned char* const page = map(ledger, handle, granularity()) + 4096;
  copy_async(ledger, page + 10200, b.pinned + 500, 900, host_to_device);
}

const Routes added({{"ipc", ipc},
                    {"_ipc_child", ipc_child},
                    {"virtual_memory", virtual_memory},
                    {"_virtual_memory_child", virtual_memory_child}});

} // namespace
} // namespace hitproof::routes
