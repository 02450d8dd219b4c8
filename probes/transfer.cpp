#include "probes/transfer.h"

#include "probes/intercept.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hitproof::probes {
namespace {

// Slots are never given back to the system: their number is the largest number of transfers that
// were under way at once. An open slot is found by id, so that the closing call may come from
// another thread.
constexpr std::size_t max_slots = 4096;
Transfer* slots[max_slots];
std::size_t slot_count = 0;
SpinLock lock;

struct EntryMemory {
  std::atomic<std::uint64_t> key{0}; // (rank, entry) + 1
  std::atomic<std::uint64_t> content{0};
};
constexpr std::size_t entry_room = 4096; // power of two; 64 ranks of 64 entries
EntryMemory entries[entry_room];

EntryMemory* entry_memory(std::uint16_t rank, std::uint16_t entry, bool make) noexcept {
  const std::uint64_t key = ((std::uint64_t{rank} << 16) | entry) + 1;
  std::size_t i = (key * 0x9e3779b97f4a7c15u) >> 52;
  for (std::size_t tries = 0; tries < entry_room; ++tries, i = (i + 1) % entry_room) {
    std::uint64_t there = entries[i].key.load(std::memory_order_acquire);
    if (there == key) return &entries[i];
    if (there != 0) continue;
    if (!make) return nullptr;
    if (entries[i].key.compare_exchange_strong(there, key) || there == key) return &entries[i];
  }
  return nullptr;
}

bool reserve(Transfer& t, std::size_t capacity) noexcept {
  auto* pages = static_cast<WatchedPage*>(std::realloc(t.pages, capacity * sizeof(WatchedPage)));
  if (pages == nullptr) return false;
  t.pages = pages;
  auto* order =
      static_cast<std::uint32_t*>(std::realloc(t.by_address, capacity * sizeof(std::uint32_t)));
  if (order == nullptr) return false;
  t.by_address = order;
  t.capacity = capacity;
  return true;
}

Transfer* free_slot() noexcept {
  for (std::size_t i = 0; i < slot_count; ++i) {
    if (!slots[i]->used) return slots[i];
  }
  if (slot_count == max_slots) return nullptr;
  Transfer* made = new (std::nothrow) Transfer;
  if (made == nullptr || !reserve(*made, Transfer::first_capacity)) {
    delete made;
    return nullptr;
  }
  return slots[slot_count++] = made;
}

bool has(const WatchedPage& page, std::uint64_t address) noexcept {
  return address >= page.device && address < page.device + page.bytes;
}

const WatchedPage* page_at(const Transfer& t, std::uint64_t address) noexcept {
  if (!t.sorted) {
    for (std::size_t i = t.page_count; i-- > 0;) {
      if (has(t.pages[i], address)) return &t.pages[i];
    }
    return nullptr;
  }
  const std::uint32_t* const begin = t.by_address;
  const std::uint32_t* const end = begin + t.page_count;
  const std::uint32_t* after = std::upper_bound(
      begin, end, address, [&](std::uint64_t a, std::uint32_t i) { return a < t.pages[i].device; });
  if (after == begin) return nullptr;
  const WatchedPage& page = t.pages[*(after - 1)];
  return has(page, address) ? &page : nullptr;
}

} // namespace

Transfer* open_transfer(const hitproof_transfer_t& a) noexcept {
  std::size_t place = 0;
  for (; place < ThreadState::max_open; ++place) {
    const Transfer* there = thread_state.open[place];
    if (there == nullptr || !there->used || there->owner != &thread_state) break;
  }
  if (place == ThreadState::max_open) return nullptr;
  Transfer* t;
  {
    const LockGuard guard(lock);
    t = free_slot();
    if (t == nullptr) return nullptr;
    t->used = true;
    t->id = a.transfer;
  }
  t->request = a.request;
  t->announced_ns = schema::now();
  t->stream = a.stream;
  t->boundary = a.boundary;
  t->token_begin = a.token_begin;
  t->token_end = a.token_end;
  t->next_token = a.next_token;
  t->rank = a.rank;
  t->direction = a.direction;
  if (a.key != nullptr)
    std::memcpy(t->key, a.key, sizeof t->key);
  else
    std::memset(t->key, 0, sizeof t->key);
  t->ready = t->sorted = false;
  t->device_work = nullptr;
  t->owner = &thread_state;
  t->page_count = 0;
  if (thread_state.open[place] == nullptr) ++thread_state.open_count;
  thread_state.open[place] = t;
  return t;
}

Transfer* find_transfer(std::uint64_t id) noexcept {
  for (Transfer* t : thread_state.open) {
    if (t != nullptr && t->id == id) return t;
  }
  const LockGuard guard(lock);
  for (std::size_t i = 0; i < slot_count; ++i) {
    if (slots[i]->used && slots[i]->id == id) return slots[i];
  }
  return nullptr;
}

bool add_page(Transfer& t, const WatchedPage& page) noexcept {
  if (t.page_count == t.capacity && !reserve(t, 2 * t.capacity)) return false;
  t.sorted = false;
  t.pages[t.page_count++] = page;
  return true;
}

void sort_pages(Transfer& t) noexcept {
  for (std::size_t i = 0; i < t.page_count; ++i)
    t.by_address[i] = static_cast<std::uint32_t>(i);
  std::sort(t.by_address, t.by_address + t.page_count, [&](std::uint32_t a, std::uint32_t b) {
    return t.pages[a].device < t.pages[b].device;
  });
  t.sorted = true;
}

void close_transfer(Transfer& t) noexcept {
  for (Transfer*& open : thread_state.open) {
    if (open != &t) continue;
    open = nullptr;
    --thread_state.open_count;
  }
  t.owner = nullptr;
}

void release_transfer(Transfer& t) noexcept {
  const LockGuard guard(lock);
  t.used = false;
}

PageHit page_of_copy(std::uint64_t dst, std::uint64_t src) noexcept {
  if (thread_state.open_count == 0) return {};
  for (const Transfer* t : thread_state.open) {
    // Closed by another thread: nothing of this thread belongs to it any more.
    if (t == nullptr || !t->used || t->owner != &thread_state) continue;
    const WatchedPage* page = page_at(*t, t->loads() ? dst : src);
    if (page != nullptr) return {t->id, page->block, page->entry};
  }
  return {};
}

void remember_entry(std::uint16_t rank, std::uint16_t entry, std::uint64_t content_bytes) noexcept {
  EntryMemory* memory = entry_memory(rank, entry, true);
  if (memory != nullptr) memory->content.store(content_bytes, std::memory_order_release);
}

std::uint64_t content_bytes_of(std::uint16_t rank, std::uint16_t entry) noexcept {
  const EntryMemory* memory = entry_memory(rank, entry, false);
  return memory == nullptr ? 0 : memory->content.load(std::memory_order_acquire);
}

void forget_transfers_after_fork() noexcept {
  // The parent's streams do not exist here: nothing that was open will ever be finished.
  lock.reset();
  for (std::size_t i = 0; i < slot_count; ++i)
    slots[i]->used = false;
}

} // namespace hitproof::probes
