// Pseudo-random numbers that depend on a counter alone, so that prompts need no generator's state.
#pragma once

#include <cstdint>

namespace hitproof::cli {

// SplitMix64 (Steele, Lea, Flood 2014): a counter in, a well-mixed 64-bit number out.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

} // namespace hitproof::cli
