// The driver's own calls, for what the probe itself does on a real device: all of them past the
// hooks, all of them found by name at the first announcement, none of them linked.
#pragma once

#include "probes/cuda_abi.h"

#include <cstddef>
#include <cstdint>

namespace hitproof::probes {

struct CudaDriver {
  int (*stream_context)(stream_t, context_t*);
  int (*current_context)(context_t*);
  int (*push_context)(context_t);
  int (*pop_context)(context_t*);
  int (*context_device)(int*);
  int (*device_attribute)(int*, int, int);
  int (*capture_status)(stream_t, int*);
  int (*exchange_capture_mode)(int*);
  int (*library_load)(void**, const void*, void*, void**, unsigned, void*, void**, unsigned);
  int (*library_kernel)(void**, void*, const char*);
  int (*kernel_function)(void**, void*);
  int (*allocate)(devptr*, std::size_t);
  int (*free)(devptr);
  int (*allocate_host)(void**, std::size_t, unsigned);
  int (*free_host)(void*);
  int (*upload)(devptr, const void*, std::size_t, stream_t);
  int (*download)(void*, devptr, std::size_t, stream_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                stream_t, void**, void**);
  int (*pointer_attribute)(void*, int, devptr);

  // The first of them that the driver does not have; null where it has all.
  const char* missing() const noexcept;
  bool complete() const noexcept { return missing() == nullptr; }
};
const CudaDriver& cuda_driver() noexcept;

struct OnDevice {
  std::uint64_t address;
};

// Makes a context current for a while, and lets this thread call what a capture that is
// under way elsewhere in the process would forbid.
class ContextGuard {
 public:
  // The stream's.
  explicit ContextGuard(stream_t stream) noexcept;
  // The one that this memory belongs to, or else the current one.
  explicit ContextGuard(OnDevice memory) noexcept;
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  // Null where the driver would not say, and where there is none.
  context_t context() const noexcept { return context_; }

 private:
  void enter(context_t wanted) noexcept;

  context_t context_ = nullptr;
  int capture_mode_ = 2; // relaxed
  bool pushed_ = false, exchanged_ = false;
};

// True where kernels of the current context can use all of [address, address + bytes) at these very
// addresses: a kernel that could not would end the host program.
bool device_reaches(std::uint64_t address, std::uint64_t bytes) noexcept;

} // namespace hitproof::probes
