// The tail operations of a batch of one: strided gather with its counts, and the diagnostic flip.
#pragma once

#include "kernels/cuda/page_bytes.h"

namespace hitproof::kernels {

// A tail at two addresses: at the strides of the computation, and contiguous (0: not asked for).
struct TailTask {
  std::uint64_t effective = 0, naive = 0;
  std::uint64_t gathered = 0, gathered_naive = 0; // where the elements go, packed
  StridedBlock block{};
};
struct TailCounts {
  std::uint64_t nonzero = 0, naive_nonzero = 0, equal = 0; // elements; `{}` before the launch
};

HITPROOF_BOTH std::uint64_t element_offset(const StridedBlock& b, std::uint32_t element) {
  const std::uint32_t channel = element % b.channels, row = element / b.channels;
  return (std::uint64_t{row / b.slots} * b.stride_half +
          std::uint64_t{row % b.slots} * b.stride_slot +
          std::uint64_t{channel} * b.stride_channel) *
         b.element_bytes;
}

// Thread `thread` of `threads`.
HITPROOF_BOTH void gather_tail(const TailTask& t, TailCounts& sums, std::uint32_t thread,
                               std::uint32_t threads) {
  const std::uint32_t size = t.block.element_bytes;
  const std::uint32_t elements = t.block.halves * t.block.slots * t.block.channels;
  for (std::uint32_t i = thread; i < elements; i += threads) {
    const std::uint64_t from = t.effective + element_offset(t.block, i);
    const std::uint64_t packed = std::uint64_t{i} * size;
    bool nonzero = false, naive_nonzero = false, equal = t.naive != 0;
    for (std::uint32_t b = 0; b < size; ++b) {
      const unsigned char byte = load_byte(from + b);
      store_byte(t.gathered + packed + b, byte);
      nonzero |= byte != 0;
      if (t.naive == 0) continue;
      const unsigned char other = load_byte(t.naive + packed + b);
      store_byte(t.gathered_naive + packed + b, other);
      naive_nonzero |= other != 0;
      equal &= other == byte;
    }
    sums.nonzero += nonzero;
    sums.naive_nonzero += naive_nonzero;
    sums.equal += equal;
  }
}

// One slot of the keys of a tail, of which the strongest channel's highest byte is flipped.
struct FlipTask {
  std::uint64_t effective = 0; // element (0, 0, 0) of the keys
  std::uint64_t target = 0;    // the slot's first element at the address that is flipped
  std::uint32_t slot_offset = 0, channels = 0, stride_channel = 0, element_bytes = 0;
  std::uint32_t target_stride = 0; // elements between channels at the target
};

// Magnitude of a channel: its bits without the sign; bf16 and fp32 order like their bits. The
// lower channel wins a draw, so it counts in the lower half.
HITPROOF_BOTH std::uint64_t strength(const FlipTask& t, std::uint32_t channel) {
  const std::uint32_t size = t.element_bytes < 4 ? t.element_bytes : 4;
  const std::uint64_t from =
      t.effective +
      (std::uint64_t{t.slot_offset} + std::uint64_t{channel} * t.stride_channel) * t.element_bytes;
  std::uint32_t value = 0;
  for (std::uint32_t b = 0; b < size; ++b)
    value |= std::uint32_t{load_byte(from + b)} << (8 * b);
  value &= (1u << (8 * size - 1)) - 1;
  return std::uint64_t{value} << 32 | (0xffffffffu - channel);
}
HITPROOF_BOTH std::uint32_t channel_of(std::uint64_t strongest) {
  return 0xffffffffu - static_cast<std::uint32_t>(strongest);
}
HITPROOF_BOTH std::uint64_t flipped_byte(const FlipTask& t, std::uint32_t channel) {
  return t.target + std::uint64_t{channel} * t.target_stride * t.element_bytes + t.element_bytes -
         1;
}

} // namespace hitproof::kernels
