// Transfers as the program announced them: what each page is, from announcement to the last closure
// on its stream. A thread's open transfers are what its copies are matched against.
#pragma once

#include "probes/hitproof.h"
#include "probes/process_state.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hitproof::probes {

struct WatchedPage {
  std::uint64_t device = 0, host = 0;
  std::uint32_t bytes = 0, content = 0;
  std::uint32_t block = 0, generation = 0, token_end = 0;
  std::uint16_t rank = 0, entry = 0, held = 0;
  std::uint64_t verified = 0, poison_ns = 0; // filled in on the stream, before the copies
};

struct Transfer {
  static constexpr std::size_t first_capacity = 320; // 70 entries, up to four chunks

  std::uint64_t id = 0, request = 0, announced_ns = 0;
  void* stream = nullptr;
  std::uint32_t boundary = 0, token_begin = 0, token_end = 0, next_token = 0;
  std::uint16_t rank = 0, direction = 0;
  std::uint8_t key[32] = {};
  bool ready = false, sorted = false;
  // Read without the lock by the thread that announced it, changed by the one that closes it.
  std::atomic<bool> used{false};
  std::atomic<const void*> owner{nullptr}; // that thread

  WatchedPage* pages = nullptr; // memory that the transfer's slot keeps for its next user
  std::uint32_t* by_address = nullptr;
  std::size_t page_count = 0, capacity = 0;

  void* device_work = nullptr; // what device_work_cuda.cpp keeps from announcement to completion

  bool loads() const noexcept { return direction == HITPROOF_LOAD; }
};

// Takes a slot from the pool (more are made when all are in use) and opens it on this thread; null
// where memory is short or the thread has too many open.
Transfer* open_transfer(const hitproof_transfer_t& t) noexcept;
// The open transfer with this id: of this thread, else of any.
Transfer* find_transfer(std::uint64_t id) noexcept;
// Adds a page; false where memory is short.
bool add_page(Transfer& t, const WatchedPage& page) noexcept;
// Makes page_of_copy fast; call when all pages are announced.
void sort_pages(Transfer& t) noexcept;
// No copy of this thread belongs to it any more.
void close_transfer(Transfer& t) noexcept;
// Its last work is done: the slot goes back to the pool.
void release_transfer(Transfer& t) noexcept;

struct PageHit {
  std::uint64_t transfer = 0;
  std::uint32_t block = HITPROOF_UNKNOWN;
  std::uint16_t entry = 0xffff;
};
// The announced page of this thread's open transfers that a copy touches: of a load by destination,
// of a save by source.
PageHit page_of_copy(std::uint64_t dst, std::uint64_t src) noexcept;

// What is known of the entries of this process: where content ends and padding begins.
void remember_entry(std::uint16_t rank, std::uint16_t entry, std::uint64_t content_bytes) noexcept;
// 0 where the entry was never registered.
std::uint64_t content_bytes_of(std::uint16_t rank, std::uint16_t entry) noexcept;

} // namespace hitproof::probes
