#include "probes/cuda_driver.h"

#include "probes/address_map.h"
#include "probes/intercept.h"

namespace hitproof::probes {
namespace {

template <class F> void find(F& function, const char* symbol) noexcept {
  function = reinterpret_cast<F>(find_driver_symbol(symbol));
}

CudaDriver find_all() noexcept {
  CudaDriver d{};
  find(d.stream_context, "cuStreamGetCtx");
  find(d.current_context, "cuCtxGetCurrent");
  find(d.push_context, "cuCtxPushCurrent_v2");
  find(d.pop_context, "cuCtxPopCurrent_v2");
  find(d.context_device, "cuCtxGetDevice");
  find(d.device_attribute, "cuDeviceGetAttribute");
  find(d.capture_status, "cuStreamIsCapturing");
  find(d.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(d.library_load, "cuLibraryLoadData");
  find(d.library_kernel, "cuLibraryGetKernel");
  find(d.kernel_function, "cuKernelGetFunction");
  find(d.allocate, "cuMemAlloc_v2");
  find(d.free, "cuMemFree_v2");
  find(d.allocate_host, "cuMemHostAlloc");
  find(d.free_host, "cuMemFreeHost");
  find(d.upload, "cuMemcpyHtoDAsync_v2");
  find(d.download, "cuMemcpyDtoHAsync_v2");
  find(d.launch, "cuLaunchKernel");
  find(d.pointer_attribute, "cuPointerGetAttribute");
  return d;
}

struct Range {
  std::uint64_t begin = 0, end = 0;
};

Range range_with(std::uint64_t address) noexcept {
  const MappedRange known = range_of(address);
  if (known.kind != Memory::unknown) return {known.base, known.base + known.bytes};
  constexpr int range_start = 11, range_size = 12;
  const CudaDriver& d = cuda_driver();
  devptr base = 0;
  std::size_t size = 0;
  if (d.pointer_attribute(&base, range_start, address) != result_success ||
      d.pointer_attribute(&size, range_size, address) != result_success)
    return {};
  return {base, base + size};
}

bool same_on_device(std::uint64_t address) noexcept {
  constexpr int device_pointer = 3;
  devptr there = 0;
  return cuda_driver().pointer_attribute(&there, device_pointer, address) == result_success &&
         there == address;
}

} // namespace

bool CudaDriver::complete() const noexcept {
  return stream_context && current_context && push_context && pop_context && context_device &&
         device_attribute && capture_status && exchange_capture_mode && library_load &&
         library_kernel && kernel_function && allocate && free && allocate_host && free_host &&
         upload && download && launch && pointer_attribute;
}

const CudaDriver& cuda_driver() noexcept {
  // Not a function-local static with a constructor: its guard must not be taken over by a fork.
  static CudaDriver driver;
  static std::atomic<bool> ready{false};
  static SpinLock once;
  if (!ready.load(std::memory_order_acquire)) {
    const DepthGuard depth;
    const LockGuard guard(once);
    if (!driver.complete()) driver = find_all();
    ready.store(driver.complete(), std::memory_order_release);
  }
  return driver;
}

ContextGuard::ContextGuard(stream_t stream) noexcept {
  const CudaDriver& d = cuda_driver();
  if (!d.complete()) return;
  exchanged_ = d.exchange_capture_mode(&capture_mode_) == result_success;
  context_t wanted = nullptr;
  if (d.stream_context(stream, &wanted) == result_success) enter(wanted);
}

ContextGuard::ContextGuard(OnDevice memory) noexcept {
  constexpr int context = 1;
  const CudaDriver& d = cuda_driver();
  if (!d.complete()) return;
  exchanged_ = d.exchange_capture_mode(&capture_mode_) == result_success;
  context_t wanted = nullptr;
  const bool known = d.pointer_attribute(&wanted, context, memory.address) == result_success;
  if ((known && wanted != nullptr) || d.current_context(&wanted) == result_success) enter(wanted);
}

void ContextGuard::enter(context_t wanted) noexcept {
  const CudaDriver& d = cuda_driver();
  context_t current = nullptr;
  if (wanted == nullptr) return;
  if (d.current_context(&current) == result_success && current == wanted) {
    context_ = wanted;
  } else if (d.push_context(wanted) == result_success) {
    context_ = wanted;
    pushed_ = true;
  }
}

ContextGuard::~ContextGuard() {
  context_t popped = nullptr;
  if (pushed_) cuda_driver().pop_context(&popped);
  if (exchanged_) cuda_driver().exchange_capture_mode(&capture_mode_);
}

bool device_reaches(std::uint64_t address, std::uint64_t bytes) noexcept {
  if (address == 0 || bytes == 0) return false;
  const std::uint64_t end = address + bytes;
  // One page may lie over several mappings that follow each other.
  for (std::uint64_t at = address; at < end;) {
    const Range range = range_with(at);
    if (range.begin > at || range.end <= at || !same_on_device(at)) return false;
    at = range.end;
  }
  return true;
}

} // namespace hitproof::probes
