// Layout of a journal segment and of the journal's control page (FORMAT.md describes both): shared
// memory between writers, the recorder and whoever recovers, so every field has a fixed place.
#pragma once

#include "schema/records.h"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hitproof::schema {

static_assert(std::endian::native == std::endian::little, "the journal is little-endian");
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint32_t journal_version = 1;
inline constexpr char journal_magic[8] = {'H', 'P', 'J', 'R', 'N', 'L', '0', '1'};
inline constexpr char control_magic[8] = {'H', 'P', 'C', 'T', 'R', 'L', '0', '1'};
inline constexpr std::size_t journal_header_bytes = 4096;
inline constexpr std::size_t journal_segment_bytes = 1u << 20;
// Between the numbers of journals that would have the same one: no thread id of Linux has this bit
// or a higher one.
inline constexpr std::uint32_t thread_number_step = 1u << 22;

struct Slot {
  std::uint64_t t_ns;
  std::uint32_t seq; // written last (release); 0 = this slot holds nothing yet
  std::uint16_t type;
  std::uint16_t reserved;
  std::uint8_t payload[max_payload_bytes];
};
static_assert(sizeof(Slot) == 128);

inline constexpr std::uint32_t journal_segment_slots =
    (journal_segment_bytes - journal_header_bytes) / sizeof(Slot);

struct SegmentHeader {
  char magic[8]; // written last when a segment is taken into use
  std::uint32_t version;
  std::uint32_t slots; // slots that the file has
  std::uint32_t pid;
  std::uint32_t tid;      // of the thread that began the journal; see JournalRuntime::free_number()
  std::uint64_t start_ns; // the journal's first segment was opened; tells reused numbers apart
  std::uint32_t segment;  // number of the segment in its journal, from 0
  std::uint32_t before;   // last sequence number given out before this segment
  std::uint64_t dropped;  // records that could not be written so far
  std::uint32_t finished; // 1: nothing will be written here any more
  std::uint32_t reserved;
};
static_assert(sizeof(SegmentHeader) <= journal_header_bytes);

struct ControlPage {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t
      dropped; // records lost by all threads of all processes, those without a segment too
  std::uint64_t pool_head; // number of the next prefaulted segment to take
  std::uint64_t pool_tail; // number of the next one to be made
};
inline constexpr std::size_t control_page_bytes = 4096;
static_assert(sizeof(ControlPage) <= control_page_bytes);

} // namespace hitproof::schema
