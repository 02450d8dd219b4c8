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
__device__ __forceinline__ std::uint32_t shared_address(const LeafStage& stage) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(stage.word));
}
#endif

// Asks for 64 bytes, which are read once: they go past the processor's own cache, which is left to
// the tables of sha256_end.h. Precondition: `from` is aligned; what was asked for before is taken.
HITPROOF_BOTH void ask_aligned(LeafStage& stage, std::uint64_t from) {
#ifdef __CUDA_ARCH__
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < 64; i += 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(stage) + i),
                 "l"(from + i)
                 : "memory");
#else
  std::memcpy(stage.word, reinterpret_cast<const void*>(from), 64);
#endif
}

// Asks for the 64 bytes at `offset` of a leaf of `bytes`; what lies behind its end comes as zeros.
// Precondition: what was asked for before is taken.
HITPROOF_BOTH void ask_leaf(LeafStage& stage, std::uint64_t data, std::uint32_t bytes,
                            std::uint32_t offset) {
  if (aligned16(data) && offset + 64 <= bytes) {
    ask_aligned(stage, data + offset);
    return;
  }
  HITPROOF_ROLLED
  for (std::uint32_t i = 0; i < 16; i += 4) {
    std::uint32_t words[4] = {};
    HITPROOF_UNROLL
    for (std::uint32_t j = 0; j < 16; ++j) {
      const std::uint32_t at = offset + 4 * i + j;
      if (at < bytes) words[j / 4] |= std::uint32_t{load_byte(data + at)} << (8 * (j % 4));
    }
    HITPROOF_UNROLL
    for (std::uint32_t j = 0; j < 4; ++j)
      stage.word[i + j] = words[j];
  }
}

// Asks for 32 bytes to one half of the stage, past the processor's own cache: other blocks of this
// launch wrote them. Precondition: `from` is aligned; what was asked for before is taken.
HITPROOF_BOTH void ask_half(LeafStage& stage, std::uint32_t half, std::uint64_t from) {
#ifdef __CUDA_ARCH__
  HITPROOF_UNROLL
  for (std::uint32_t i = 0; i < 32; i += 16)
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(stage) + 32 * half + i),
        "l"(from + i)
        : "memory");
#else
  std::memcpy(&stage.word[8 * half], reinterpret_cast<const void*>(from), 32);
#endif
}

// Asks for 16 bytes of a table, to anywhere in shared memory. Precondition: `from` is aligned.
HITPROOF_BOTH void ask_quad(Quad& to, std::uint64_t from) {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(&to))),
               "l"(from)
               : "memory");
#else
  std::memcpy(&to, reinterpret_cast<const void*>(from), sizeof to);
#endif
}

// Waits for what was asked for.
HITPROOF_BOTH void await_stage() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
HITPROOF_BOTH void take_quads(const LeafStage& stage, Quad (&quads)[4]) {
  await_stage();
  HITPROOF_UNROLL
  for (int i = 0; i < 4; ++i)
    quads[i] = *reinterpret_cast<const Quad*>(&stage.word[4 * i]);
}

// Brings the lines of `bytes` at `from` into the processor's own cache, through `stage`, where
// nobody reads them. Precondition: `from` is aligned; what was asked for before is taken.
// await_stage before the stage is used again.
HITPROOF_BOTH void touch(LeafStage& stage, std::uint64_t from, std::uint32_t bytes) {
#ifdef __CUDA_ARCH__
  for (std::uint32_t at = 0; at < bytes; at += 64)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(stage) + at / 4),
                 "l"(from + at)
                 : "memory");
#else
  static_cast<void>(stage);
  static_cast<void>(from);
  static_cast<void>(bytes);
#endif
}

} // namespace hitproof::kernels
