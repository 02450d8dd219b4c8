// Counters of what was seen and of what could not be, written when the process ends and at each
// flush. Every name that is not a hook and stands for something unseen begins with "path:".
#pragma once

#include <atomic>
#include <cstdint>

namespace hitproof::probes {

// Paths and observations that are counted outside the hook table.
enum class Counter : std::uint32_t {
  page_records,    // rows of pages and tails written; dropped: those that could not be
  announcements,   // calls of hitproof.h; dropped: those that named nothing known or came too often
  device_work,     // closures and kernels put on streams; dropped: refused by the driver
  not_addressable, // path: page work left out, because nothing here can read device memory
  unknown_entry,   // path: pages whose entry was never registered, so padding is not told apart
  captured,        // copies and order operations that became graph nodes
  graph_unreadable, // path: graphs whose copy nodes could not be read
  stream_captured,  // path: page work left out, because its stream was being captured
  page_unreachable, // path: pages at addresses that a kernel of the stream's context cannot use
  kernel_with_host_pointer, // path: launches of kernels that were given pinned host memory
  memory_short,             // path: page work left out, because the driver refused memory for it
  foreign_hook, // path: hooked calls that another library has too, before the probe or behind it
  addresses,    // ranges of the address map; dropped: the map was full
  count
};
void count(Counter counter, std::uint64_t calls = 1, std::uint64_t bytes = 0) noexcept;
void count_dropped(Counter counter, std::uint64_t n = 1) noexcept;

// A name that cuGetProcAddress or cudaGetDriverEntryPoint was asked for and the list does not have.
void count_unknown_name(const char* name) noexcept;

void write_coverage(const char* name, std::uint64_t calls, std::uint64_t bytes, bool installed,
                    std::uint64_t dropped) noexcept;
void flush_coverage() noexcept;

} // namespace hitproof::probes
