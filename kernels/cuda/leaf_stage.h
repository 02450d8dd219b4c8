// The next 64 bytes of a leaf, under way in shared memory while its thread hashes the 64 before
// them: without it every block of every leaf begins with a wait for memory.
#pragma once

#include "kernels/cuda/device_memory.h"

namespace hitproof::kernels {

// One a thread. 80 bytes, so that neighbouring threads meet different banks.
struct alignas(16) LeafStage {
  std::uint32_t word[20];
};

#ifdef __CUDA_ARCH__
__device__ __forceinline__ void ask_quad(std::uint32_t to, std::uint64_t from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// Copies `bytes` (0 to 16) and fills up with zeros. Precondition: `from` is aligned and readable.
__device__ __forceinline__ void ask_quad(std::uint32_t to, std::uint64_t from,
                                         std::uint32_t bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
#endif

// Asks for the 64 bytes at `offset` of an aligned leaf of `bytes`; what lies behind its end comes
// as zeros. Precondition: what was asked for before has been taken.
HITPROOF_BOTH void ask_quads(LeafStage& stage, std::uint64_t data, std::uint32_t bytes,
                             std::uint32_t offset) {
#ifdef __CUDA_ARCH__
  const std::uint32_t to = static_cast<std::uint32_t>(__cvta_generic_to_shared(stage.word));
  if (offset + 64 <= bytes) {
    HITPROOF_UNROLL
    for (std::uint32_t i = 0; i < 64; i += 16)
      ask_quad(to + i, data + offset + i);
    return;
  }
  HITPROOF_ROLLED
  for (std::uint32_t i = 0; i < 64; i += 16) {
    const std::uint32_t left = offset + i < bytes ? bytes - offset - i : 0;
    ask_quad(to + i, left == 0 ? data : data + offset + i, left < 16 ? left : 16);
  }
#else
  const std::uint32_t left = offset < bytes ? bytes - offset : 0;
  std::memset(stage.word, 0, 64);
  std::memcpy(stage.word, reinterpret_cast<const void*>(data + offset), left < 64 ? left : 64);
#endif
}

// Waits for them.
HITPROOF_BOTH void take_quads(const LeafStage& stage, Quad (&quads)[4]) {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  HITPROOF_UNROLL
  for (int i = 0; i < 4; ++i)
    quads[i] = *reinterpret_cast<const Quad*>(&stage.word[4 * i]);
}

} // namespace hitproof::kernels
