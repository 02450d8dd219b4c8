// The routes by which programs reach a copy without its linked name.
#include "tests/probes/subject.h"

#include <dlfcn.h>

namespace subject {
namespace {

using HtoD = int (*)(CUdeviceptr, const void*, std::size_t, void*);
using Batch12 = int (*)(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
                        std::size_t*, std::size_t, std::size_t*, void*);
using Batch13 = int (*)(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*,
                        std::size_t*, std::size_t, void*);
using Proc = int (*)(const char*, void**, int, std::uint64_t, int*);
using Proc4 = int (*)(const char*, void**, int, std::uint64_t);
using Allocate = int (*)(CUdeviceptr*, std::size_t);
using RuntimeCopy = int (*)(void*, const void*, std::size_t, int, void*);

void* library(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(dlerror(), 0);
  return handle;
}

template <class F> F symbol(void* handle, const char* name) {
  F f = reinterpret_cast<F>(dlsym(handle, name));
  if (f == nullptr) fail(name, 0);
  return f;
}

int by_dlsym(int, char**) {
  Memory m;
  void* driver = library("libcuda.so.1");
  SUBJECT_OK(symbol<HtoD>(driver, "cuMemcpyHtoDAsync_v2")(dev(m.device), m.pinned, 21, m.stream));
  says({"cuMemcpyHtoDAsync_v2", 0, h2d, 21, m.pinned, m.device, m.stream});
  SUBJECT_OK(symbol<RuntimeCopy>(library("libcudart.so.13"), "cudaMemcpyAsync")(m.device, m.pinned,
                                                                                22, 1, m.stream));
  says({"cudaMemcpyAsync", 0, h2d, 22, m.pinned, m.device, m.stream});
  SUBJECT_OK(
      symbol<HtoD>(RTLD_DEFAULT, "cuMemcpyHtoDAsync_v2")(dev(m.device), m.pinned, 23, m.stream));
  says({"cuMemcpyHtoDAsync_v2", 0, h2d, 23, m.pinned, m.device, m.stream});
  SUBJECT_OK(symbol<HtoD>(dlopen(nullptr, RTLD_NOW),
                          "cuMemcpyHtoDAsync_v2")(dev(m.device), m.pinned, 24, m.stream));
  says({"cuMemcpyHtoDAsync_v2", 0, h2d, 24, m.pinned, m.device, m.stream});
  if (dlsym(driver, "cuNoSuchCall") != nullptr || dlerror() == nullptr) return 92;
  if (dlsym(RTLD_DEFAULT, "cuNoSuchCall") != nullptr) return 93;
  return 0;
}

// A call that the probe has a hook for and the simulated driver has not: absent, as without the
// probe.
int absent_name(int, char**) {
  void* const driver = library("libcuda.so.1");
  if (dlsym(RTLD_DEFAULT, "cuMemcpyAtoA_v2") != nullptr) return 94;
  if (dlsym(driver, "cuMemcpyAtoA_v2") != nullptr) return 95;
  return 0;
}

int by_dlvsym(int, char**) {
  Memory m;
  void* found = dlvsym(library("libcudart.so.13"), "cudaMemcpyAsync", "libcudart.so.13");
  if (found == nullptr) return 92;
  SUBJECT_OK(reinterpret_cast<RuntimeCopy>(found)(m.device, m.pinned, 31, 1, m.stream));
  says({"cudaMemcpyAsync", 0, h2d, 31, m.pinned, m.device, m.stream});
  if (dlvsym(library("libcudart.so.13"), "cudaMemcpyAsync", "libcudart.so.99") != nullptr)
    return 93;
  return 0;
}

template <class F> F asked(Proc proc, const char* name, int version, std::uint64_t flags = 0) {
  void* f = nullptr;
  int status = -1;
  SUBJECT_OK(proc(name, &f, version, flags, &status));
  if (f == nullptr || status != 0) fail(name, version);
  return reinterpret_cast<F>(f);
}

void copies_by(Proc proc, Memory& m) {
  CUdeviceptr dsts[] = {dev(m.device), dev(m.device + 512)},
              srcs[] = {dev(m.pinned), dev(m.pinned + 512)};
  std::size_t sizes[] = {11, 12}, starts[] = {0}, failed = 0;
  CUmemcpyAttributes any{};
  any.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  SUBJECT_OK(asked<Batch12>(proc, "cuMemcpyBatchAsync", 12080)(dsts, srcs, sizes, 2, &any, starts,
                                                               1, &failed, m.stream));
  for (unsigned i = 0; i < 2; ++i)
    says({"cuMemcpyBatchAsync", 12080, h2d, sizes[i], ptr(srcs[i]), ptr(dsts[i]), m.stream, i, 2,
          3});
  SUBJECT_OK(asked<Batch13>(proc, "cuMemcpyBatchAsync", 13000)(dsts, srcs, sizes, 2, &any, starts,
                                                               1, m.stream));
  for (unsigned i = 0; i < 2; ++i)
    says({"cuMemcpyBatchAsync_v2", 13000, h2d, sizes[i], ptr(srcs[i]), ptr(dsts[i]), m.stream, i, 2,
          3});
  SUBJECT_OK(asked<HtoD>(proc, "cuMemcpyHtoDAsync", 12080)(dev(m.device), m.pinned, 41, m.stream));
  says({"cuMemcpyHtoDAsync_v2", 12080, h2d, 41, m.pinned, m.device, m.stream});
  SUBJECT_OK(
      asked<HtoD>(proc, "cuMemcpyHtoDAsync", 13000, 2)(dev(m.device), m.pinned, 42, nullptr));
  says({"cuMemcpyHtoDAsync_v2_ptsz", 13000, h2d, 42, m.pinned, m.device,
        reinterpret_cast<void*>(2)});
}

int by_proc_address(int, char**) {
  Memory m;
  const auto proc = reinterpret_cast<Proc>(&cuGetProcAddress_v2);
  copies_by(proc, m);
  CUdeviceptr block = 0;
  SUBJECT_OK(asked<Allocate>(proc, "cuMemAlloc", 13000)(&block, 4096));
  SUBJECT_OK(cudaFree(ptr(block)));
  // It hands out itself, in both forms, and by every way it goes on.
  copies_by(asked<Proc>(proc, "cuGetProcAddress", 12000), m);
  const auto four = asked<Proc4>(proc, "cuGetProcAddress", 11030);
  void* f = nullptr;
  SUBJECT_OK(four("cuMemcpyHtoDAsync", &f, 12080, 0));
  SUBJECT_OK(reinterpret_cast<HtoD>(f)(dev(m.device), m.pinned, 43, m.stream));
  says({"cuMemcpyHtoDAsync_v2", 12080, h2d, 43, m.pinned, m.device, m.stream});
  copies_by(symbol<Proc>(library("libcuda.so.1"), "cuGetProcAddress_v2"), m);
  // Not in the list: the answer is the driver's own, and the name is counted.
  int (*get_name)(char*, int, int) =
      asked<int (*)(char*, int, int)>(proc, "cuDeviceGetName", 13000);
  char name[64];
  SUBJECT_OK(get_name(name, sizeof name, 0));
  int status = 0;
  if (proc("cuNoSuchCall", &f, 13000, 0, &status) == 0 && f != nullptr) return 92;
  return 0;
}

int by_entry_point(int, char**) {
  Memory m;
  void* f = nullptr;
  cudaDriverEntryPointQueryResult status;
  SUBJECT_OK(cudaGetDriverEntryPointByVersion("cuMemcpyBatchAsync", &f, 12080, 0, &status));
  CUdeviceptr dsts[] = {dev(m.device)}, srcs[] = {dev(m.pinned)};
  std::size_t sizes[] = {51}, starts[] = {0}, failed = 0;
  CUmemcpyAttributes stream{};
  stream.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  SUBJECT_OK(
      reinterpret_cast<Batch12>(f)(dsts, srcs, sizes, 1, &stream, starts, 1, &failed, m.stream));
  says({"cuMemcpyBatchAsync", 12080, h2d, 51, m.pinned, m.device, m.stream, 0, 1, 1});
  SUBJECT_OK(cudaGetDriverEntryPoint("cuMemcpyHtoDAsync", &f, 0, &status));
  SUBJECT_OK(reinterpret_cast<HtoD>(f)(dev(m.device), m.pinned, 52, m.stream));
  says({"cuMemcpyHtoDAsync_v2", 13000, h2d, 52, m.pinned, m.device, m.stream});
  return 0;
}

// A copy made by the runtime inside one of its calls is one row, at the runtime's level; this
// scenario only counts: eight runtime copies, eight rows.
int once(int, char**) {
  Memory m;
  for (unsigned i = 1; i <= 8; ++i) {
    SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, i, cudaMemcpyHostToDevice, m.stream));
    says({"cudaMemcpyAsync", 0, h2d, i, m.pinned, m.device, m.stream});
  }
  return 0;
}

} // namespace

const Scenario lookup_scenarios[] = {{"by_dlsym", by_dlsym},
                                     {"absent_name", absent_name},
                                     {"by_dlvsym", by_dlvsym},
                                     {"by_proc_address", by_proc_address},
                                     {"by_entry_point", by_entry_point},
                                     {"once", once},
                                     {nullptr, nullptr}};

} // namespace subject
