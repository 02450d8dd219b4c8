// Calls that are found by name: dlsym, dlvsym, both forms of cuGetProcAddress, with the versions of
// both batch forms, and a look-up that ends at no hook.
#include "tests/gpu/routes/lookups.h"

#include <dlfcn.h>

namespace hitproof::routes {
namespace {

using BatchOld = CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t,
                          CUmemcpyAttributes*, std::size_t*, std::size_t, std::size_t*, CUstream);
using BatchNew = CUresult(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t,
                          CUmemcpyAttributes*, std::size_t*, std::size_t, CUstream);
using ProcOld = CUresult(const char*, void**, int, cuuint64_t);

void by_dlsym(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  up_and_down(ledger, b,
              {reinterpret_cast<Up*>(driver_symbol("cuMemcpyHtoDAsync_v2")),
               reinterpret_cast<Down*>(driver_symbol("cuMemcpyDtoHAsync_v2")), 0},
              1111);
}

void by_dlvsym(Ledger& ledger, int, char**) {
  using Copy = cudaError_t(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
  const Buffers b(ledger, 64 * 1024);
  void* library = dlopen("libcudart.so.13", RTLD_NOW);
  check(library == nullptr, "libcudart.so.13");
  auto* copy = reinterpret_cast<Copy*>(dlvsym(library, "cudaMemcpyAsync", "libcudart.so.13"));
  check(copy == nullptr, "dlvsym");
  check(copy(b.device, b.pinned, 2222, cudaMemcpyHostToDevice, nullptr), "H2D");
  ledger.copied({.call = "cudaMemcpyAsync",
                 .dst = b.device,
                 .src = b.pinned,
                 .bytes = 2222,
                 .direction = host_to_device});
}

void by_proc_address(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  auto* first = reinterpret_cast<Proc*>(driver_symbol("cuGetProcAddress_v2"));
  // The driver's answer for its own name is what everybody goes on with.
  auto* proc = asked<Proc>(first, "cuGetProcAddress", 12000);
  up_and_down(ledger, b, asked_pair(proc, 13000), 3333);
}

// Four arguments, as before release 12: by its own name, and as the answer for an older version.
void by_old_proc_address(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  constexpr int version = 11040;
  auto* exported = reinterpret_cast<ProcOld*>(driver_symbol("cuGetProcAddress"));
  auto* answered = asked<ProcOld>(reinterpret_cast<Proc*>(driver_symbol("cuGetProcAddress_v2")),
                                  "cuGetProcAddress", version);
  std::size_t bytes = 3400;
  for (ProcOld* proc : {exported, answered}) {
    void *up = nullptr, *down = nullptr;
    check(proc("cuMemcpyHtoDAsync", &up, version, 0), "cuMemcpyHtoDAsync");
    check(proc("cuMemcpyDtoHAsync", &down, version, 0), "cuMemcpyDtoHAsync");
    up_and_down(ledger, b, {reinterpret_cast<Up*>(up), reinterpret_cast<Down*>(down), version},
                bytes);
    bytes += 100;
  }
}

void batch_by_version(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  auto* proc = reinterpret_cast<Proc*>(driver_symbol("cuGetProcAddress_v2"));
  const cudaStream_t stream = make_stream(ledger, "stream1");
  const auto at = [](const void* p) { return reinterpret_cast<CUdeviceptr>(p); };
  CUdeviceptr dsts[2] = {at(b.device), at(b.pinned + 32768)};
  CUdeviceptr srcs[2] = {at(b.pinned), at(b.device + 32768)};
  std::size_t sizes[2] = {4444, 4445}, starts[1] = {0}, failed = 0;
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  for (const int version : {12080, 13000}) {
    if (version == 12080)
      check(asked<BatchOld>(proc, "cuMemcpyBatchAsync", version)(dsts, srcs, sizes, 2, &attributes,
                                                                 starts, 1, &failed, stream),
            "batch at 12080");
    else
      check(asked<BatchNew>(proc, "cuMemcpyBatchAsync", version)(dsts, srcs, sizes, 2, &attributes,
                                                                 starts, 1, stream),
            "batch at 13000");
    for (int i = 0; i < 2; ++i)
      ledger.copied({.call = version == 12080 ? "cuMemcpyBatchAsync" : "cuMemcpyBatchAsync_v2",
                     .dst = reinterpret_cast<const void*>(dsts[i]),
                     .src = reinterpret_cast<const void*>(srcs[i]),
                     .bytes = sizes[i],
                     .direction = i == 0 ? host_to_device : device_to_host,
                     .stream = stream,
                     .version = version,
                     .batch_index = i,
                     .batch_count = 2,
                     .access_order = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM});
  }
  synchronize(ledger, stream);
}

// A call of the driver that the probe knows nothing of: it works, and its name is written down.
// Asked for more often than a runtime does for itself.
void unknown(Ledger& ledger, int, char**) {
  using Name = CUresult(char*, int, CUdevice);
  constexpr int times = 40;
  auto* proc = reinterpret_cast<Proc*>(driver_symbol("cuGetProcAddress_v2"));
  char text[128] = {};
  for (int i = 0; i < times; ++i)
    check(asked<Name>(proc, "cuDeviceGetName", 13000)(text, sizeof text, 0), "cuDeviceGetName");
  ledger.result("device_name", text, sizeof text);
  ledger.looked_up("cuDeviceGetName", times);
}

const Routes added({{"dlsym", by_dlsym},
                    {"dlvsym", by_dlvsym},
                    {"proc_address", by_proc_address},
                    {"old_proc_address", by_old_proc_address},
                    {"batch_by_version", batch_by_version},
                    {"unknown_lookup", unknown}});

} // namespace
} // namespace hitproof::routes
