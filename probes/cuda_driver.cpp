#include "probes/cuda_driver.h"

#include "probes/address_map.h"
#include "probes/intercept.h"

#include <type_traits>

namespace hitproof::probes {
namespace {

#define HITPROOF_DRIVER_CALLS(X)                                                                   \
  X(stream_context, "cuStreamGetCtx")                                                              \
  X(current_context, "cuCtxGetCurrent")                                                            \
  X(push_context, "cuCtxPushCurrent_v2")                                                           \
  X(pop_context, "cuCtxPopCurrent_v2")                                                             \
  X(context_device, "cuCtxGetDevice")                                                              \
  X(device_attribute, "cuDeviceGetAttribute")                                                      \
  X(capture_status, "cuStreamIsCapturing")                                                         \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode")                                    \
  X(library_load, "cuLibraryLoadData")                                                             \
  X(library_kernel, "cuLibraryGetKernel")                                                          \
  X(kernel_function, "cuKernelGetFunction")                                                        \
  X(allocate, "cuMemAlloc_v2")                                                                     \
  X(free, "cuMemFree_v2")                                                                          \
  X(allocate_host, "cuMemHostAlloc")                                                               \
  X(free_host, "cuMemFreeHost")                                                                    \
  X(upload, "cuMemcpyHtoDAsync_v2")                                                                \
  X(download, "cuMemcpyDtoHAsync_v2")                                                              \
  X(launch, "cuLaunchKernel")                                                                      \
  X(pointer_attribute, "cuPointerGetAttribute")

CudaDriver find_all() noexcept {
  CudaDriver d{};
  const auto find = [](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(find_driver_symbol(symbol));
  };
#define X(function, symbol) find(d.function, symbol);
  HITPROOF_DRIVER_CALLS(X)
#undef X
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

const char* CudaDriver::missing() const noexcept {
#define X(function, symbol)                                                                        \
  if (function == nullptr) return symbol;
  HITPROOF_DRIVER_CALLS(X)
#undef X
  return nullptr;
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
