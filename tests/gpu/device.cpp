#include "tests/gpu/device.h"

#include "kernels/cuda/page_fatbin.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace hitproof::gpu_test {
namespace {

void* driver_library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library;
}

// Calls `symbol`, whose declaration in cuda.h is `Function`; ends the program where it fails.
template <class Function, class... Arguments>
void call(const char* symbol, Arguments... arguments) {
  auto* const function = reinterpret_cast<Function*>(dlsym(driver_library(), symbol));
  const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", symbol, static_cast<int>(result));
  std::exit(1);
}
// cuda.h maps names to their newest form: the symbol is that form's.
#define HITPROOF_TEXT(x) #x
#define HITPROOF_CALL_DRIVER(function, ...)                                                        \
  call<decltype(function)>(HITPROOF_TEXT(function), __VA_ARGS__)

} // namespace

Device* Device::open(std::string& why) {
  using Init = CUresult(unsigned);
  using Count = CUresult(int*);
  if (driver_library() == nullptr) {
    why = "no libcuda.so.1 on this machine";
    return nullptr;
  }
  int count = 0;
  auto* const init = reinterpret_cast<Init*>(dlsym(driver_library(), "cuInit"));
  auto* const get_count = reinterpret_cast<Count*>(dlsym(driver_library(), "cuDeviceGetCount"));
  if (init == nullptr || init(0) != CUDA_SUCCESS || get_count(&count) != CUDA_SUCCESS ||
      count == 0) {
    why = "no CUDA device on this machine";
    return nullptr;
  }
  if (kernels::page_fatbin().empty()) {
    why = "built without nvcc: no page kernels";
    return nullptr;
  }
  static Device device;
  CUdevice first = 0;
  CUcontext context = nullptr;
  char name[128] = {};
  int processors = 0, shared = 0;
  HITPROOF_CALL_DRIVER(cuDeviceGet, &first, 0);
  HITPROOF_CALL_DRIVER(cuDeviceGetName, name, static_cast<int>(sizeof name), first);
  HITPROOF_CALL_DRIVER(cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                       first);
  HITPROOF_CALL_DRIVER(cuDeviceGetAttribute, &shared,
                       CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, first);
  HITPROOF_CALL_DRIVER(cuDevicePrimaryCtxRetain, &context, first);
  HITPROOF_CALL_DRIVER(cuCtxSetCurrent, context);
  HITPROOF_CALL_DRIVER(cuLibraryLoadData, &device.library_,
                       static_cast<const void*>(kernels::page_fatbin().data()), nullptr, nullptr,
                       0u, nullptr, nullptr, 0u);
  for (CUevent& event : device.events_)
    HITPROOF_CALL_DRIVER(cuEventCreate, &event, 0u);
  device.name_ = name;
  device.processors_ = static_cast<unsigned>(processors);
  device.processors_for_few_ =
      kernels::processors_for_few(device.processors_, static_cast<std::uint32_t>(shared));
  return &device;
}

CUdeviceptr Device::allocate(std::size_t bytes) {
  CUdeviceptr p = 0;
  HITPROOF_CALL_DRIVER(cuMemAlloc, &p, bytes == 0 ? 1 : bytes);
  return p;
}
void Device::free(CUdeviceptr p) { HITPROOF_CALL_DRIVER(cuMemFree, p); }
void* Device::allocate_pinned(std::size_t bytes) {
  void* p = nullptr;
  HITPROOF_CALL_DRIVER(cuMemHostAlloc, &p, bytes, 0u);
  return p;
}
void Device::free_pinned(void* p) { HITPROOF_CALL_DRIVER(cuMemFreeHost, p); }
void Device::upload(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (bytes != 0) HITPROOF_CALL_DRIVER(cuMemcpyHtoD, to, from, bytes);
}
void Device::download(void* to, CUdeviceptr from, std::size_t bytes) {
  if (bytes != 0) HITPROOF_CALL_DRIVER(cuMemcpyDtoH, to, from, bytes);
}
void Device::save(void* to, CUdeviceptr from, std::size_t bytes) {
  HITPROOF_CALL_DRIVER(cuMemcpyDtoHAsync, to, from, bytes, static_cast<CUstream>(nullptr));
}
void Device::load(CUdeviceptr to, const void* from, std::size_t bytes) {
  HITPROOF_CALL_DRIVER(cuMemcpyHtoDAsync, to, from, bytes, static_cast<CUstream>(nullptr));
}
void Device::clear(CUdeviceptr p, std::size_t bytes) {
  if (bytes != 0) HITPROOF_CALL_DRIVER(cuMemsetD8, p, static_cast<unsigned char>(0), bytes);
}
void Device::synchronize() {
  auto* const function =
      reinterpret_cast<CUresult (*)()>(dlsym(driver_library(), "cuCtxSynchronize"));
  const CUresult result = function();
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "a kernel failed: error %d\n", static_cast<int>(result));
  std::exit(1);
}

CUfunction Device::function(const char* kernel) {
  for (const auto& [name, function] : functions_) {
    if (name == kernel) return function;
  }
  CUkernel found = nullptr;
  CUfunction function = nullptr;
  HITPROOF_CALL_DRIVER(cuLibraryGetKernel, &found, library_, kernel);
  HITPROOF_CALL_DRIVER(cuKernelGetFunction, &function, found);
  functions_.emplace_back(kernel, function);
  return function;
}

void Device::launch(const char* kernel, unsigned blocks, unsigned threads, void** arguments) {
  if (blocks == 0) return;
  HITPROOF_CALL_DRIVER(cuLaunchKernel, function(kernel), blocks, 1u, 1u, threads, 1u, 1u, 0u,
                       static_cast<CUstream>(nullptr), arguments, static_cast<void**>(nullptr));
}

void Device::record(int which) {
  HITPROOF_CALL_DRIVER(cuEventRecord, events_[which], static_cast<CUstream>(nullptr));
}
double Device::elapsed() {
  HITPROOF_CALL_DRIVER(cuEventSynchronize, events_[1]);
  float ms = 0;
  HITPROOF_CALL_DRIVER(cuEventElapsedTime, &ms, events_[0], events_[1]);
  return static_cast<double>(ms);
}

Batch::Batch(Device& device, std::vector<kernels::PageTask> tasks)
    : device_(device), tasks_(std::move(tasks)),
      layout_(kernels::lay_out(tasks_.data(), tasks_.size())),
      rows_(kernels::rows_of(layout_.slots, layout_.segments)),
      shape_(kernels::shape_of(rows_.tiles, device.processors_for_few(), layout_.split)) {
  list_ = device_.allocate(tasks_.size() * sizeof(kernels::PageTask));
  counts_ = device_.allocate(tasks_.size() * sizeof(kernels::PageCounts));
  roots_ = device_.allocate(tasks_.size() * sizeof(kernels::PageRoots));
  tree_ = device_.allocate(rows_.bytes());
  done_ = device_.allocate(rows_.segments * sizeof(std::uint32_t));
  device_.upload(list_, tasks_.data(), tasks_.size() * sizeof(kernels::PageTask));
  device_.clear(done_, rows_.segments * sizeof(std::uint32_t));
}

Batch::~Batch() {
  for (CUdeviceptr p : {list_, counts_, roots_, tree_, done_})
    device_.free(p);
}

void Batch::walk(const char* kernel) {
  std::uint32_t count = static_cast<std::uint32_t>(tasks_.size()), chunks = layout_.chunks;
  void* arguments[] = {&list_, &count, &chunks, &counts_};
  const unsigned wanted = (chunks + 7) / 8, most = device_.processors() * 4;
  device_.launch(kernel, wanted < most ? wanted : most, 256, arguments);
}

void Batch::digest(bool nonzero) {
  std::uint32_t count = static_cast<std::uint32_t>(tasks_.size()), slots = layout_.slots,
                counting = nonzero;
  CUdeviceptr lower = tree_, segments = tree_ + rows_.lower * sizeof(kernels::TreeNode);
  void* arguments[] = {&list_, &count,    &slots, &roots_, &counting,
                       &lower, &segments, &done_, &shape_};
  device_.launch(shape_.few ? "hitproof_page_digest_few" : "hitproof_page_digest",
                 shape_.blocks(layout_.slots) + shape_.climbers, kernels::tree_threads, arguments);
  void* top[] = {&list_, &roots_, &segments};
  device_.launch("hitproof_page_digest_top", layout_.large, kernels::tree_threads, top);
}

std::vector<kernels::PageCounts> Batch::counts(const char* kernel) {
  std::vector<kernels::PageCounts> counts(tasks_.size());
  device_.upload(counts_, counts.data(), counts.size() * sizeof counts[0]);
  walk(kernel);
  device_.synchronize();
  device_.download(counts.data(), counts_, counts.size() * sizeof counts[0]);
  return counts;
}

std::vector<kernels::PageRoots> Batch::roots(bool nonzero) {
  std::vector<kernels::PageRoots> roots(tasks_.size());
  device_.upload(roots_, roots.data(), roots.size() * sizeof roots[0]);
  digest(nonzero);
  device_.synchronize();
  device_.download(roots.data(), roots_, roots.size() * sizeof roots[0]);
  return roots;
}

} // namespace hitproof::gpu_test
