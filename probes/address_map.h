// Which addresses of this process are device memory and which are pinned host memory, from the
// hooked allocations, registrations and IPC mappings. Read by every copy without a lock.
#pragma once

#include <cstdint>

namespace hitproof::probes {

enum class Memory : std::uint32_t { unknown = 0, device = 1, host = 2, managed = 3 };

struct MappedRange {
  std::uint64_t base = 0, bytes = 0;
  Memory kind = Memory::unknown;
};

// Adds a range; one that was there with the same base is replaced. False: the map is full.
bool add_range(std::uint64_t base, std::uint64_t bytes, Memory kind) noexcept;
// Takes out the range with this base and returns it (bytes 0 where there is none).
MappedRange remove_range(std::uint64_t base) noexcept;
// The range that has this address (kind unknown where none has).
MappedRange range_of(std::uint64_t address) noexcept;

// Direction of a copy by addresses, never by the kind that the caller gave: 0 D2H, 1 H2D, 2 D2D,
// 3 H2H, 4 unknown. An address in no range is asked of the driver; what the driver does not know
// either is ordinary host memory, unless the map has lost ranges.
std::uint8_t direction_of(std::uint64_t dst, std::uint64_t src) noexcept;

} // namespace hitproof::probes
