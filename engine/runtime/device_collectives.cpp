// Every operation is: copy into the own slot, record the own event, meet on the host, have the
// stream wait for the peers' events, read the peers' slots.
//
// Why the host meets: a wait for an event means the record that was made last when the wait was
// called. Past the barrier every rank has made its record of this operation.
//
// Why two slots and two events are enough. Let a rank begin operation n + 2: it copies into the
// slot of operation n and records that event anew.
// - The slot: a peer's reads of operation n stand on the peer's stream before its record of
//   operation n + 1, and the own stream has waited for that record in operation n + 1. So the copy
//   comes after the reads.
// - The event: a peer calls its wait of operation n before it arrives at the barrier of operation
//   n + 1, and that barrier has been passed. So the wait means the record of n, not that of n + 2.
// With one slot the copy of n + 1 could overtake a peer's reads of n. With one event a wait of n
// could mean the record of n + 1, and every operation would wait for the next one of its peers.
#include "engine/runtime/device_collectives.h"

#include "probes/hitproof.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace hitproof::engine {
namespace {

struct Card { // what a rank shows to the others
  std::array<uint8_t, 64> memory{};
  std::array<std::array<uint8_t, 64>, 2> events{};
  uint64_t slot_bytes = 0;
};

std::array<uint8_t, 64> fixed(const device::Handle& handle) {
  std::array<uint8_t, 64> bytes{};
  if (handle.size() != bytes.size()) throw CollectiveError("an IPC handle has the wrong length");
  std::copy(handle.begin(), handle.end(), bytes.begin());
  return bytes;
}

device::Handle variable(const std::array<uint8_t, 64>& bytes) {
  return {bytes.begin(), bytes.end()};
}

class DeviceMemory final : public Collectives {
 public:
  DeviceMemory(Collectives& host, const kernels::ModelKernels& kernels,
               const device::Stream& stream, size_t slot_bytes);
  ~DeviceMemory() override;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  void all_gather_rows(const float* own, int rows, int cols, float* all) override;
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override;
  void all_reduce(float* data, int n) override;
  void all_gather(const void* mine, size_t bytes_each, void* all) override;
  void barrier() override {
    exchange();
    turn_ ^= 1;
  }
  std::string missing_peer() const override { return host_.missing_peer(); }

 private:
  struct Member {
    std::byte* slots = nullptr; // of a peer: as mapped here
    std::array<device::Event, 2> events;
  };
  void open_peers();
  void close_peers() noexcept;
  void exchange();
  std::byte* slot(int r) const {
    return members_[static_cast<size_t>(r)].slots + static_cast<size_t>(turn_) * slot_bytes_;
  }
  const float* floats(int r) const { return reinterpret_cast<const float*>(slot(r)); }
  void copy(const void* from, size_t bytes, void* to);
  void sum(size_t offset, int n, float* to);
  // Rows that fit a slot.
  int rows_of_slot(int cols) const;

  Collectives& host_;
  const kernels::ModelKernels& kernels_;
  const device::Stream& stream_;
  const size_t slot_bytes_;
  std::vector<Member> members_; // by rank
  int turn_ = 0;
};

DeviceMemory::DeviceMemory(Collectives& host, const kernels::ModelKernels& kernels,
                           const device::Stream& stream, size_t slot_bytes)
    : host_(host), kernels_(kernels), stream_(stream), slot_bytes_(slot_bytes),
      members_(static_cast<size_t>(host.size())) {
  if (slot_bytes == 0 || slot_bytes % 256 != 0)
    throw CollectiveError("a slot of the device collectives is a multiple of 256 bytes");
  Member& own = members_[static_cast<size_t>(rank())];
  own.slots = static_cast<std::byte*>(device::allocate_exported(2 * slot_bytes));
  try {
    for (device::Event& event : own.events)
      event = device::Event::interprocess();
    open_peers();
    for (const Member& member : members_)
      for (const device::Event& event : member.events)
        if (event) HITPROOF_CALL(internal_event, (event.get()));
  } catch (...) {
    close_peers();
    device::release(own.slots);
    throw;
  }
}

void DeviceMemory::open_peers() {
  const Member& own = members_[static_cast<size_t>(rank())];
  Card mine;
  mine.memory = fixed(device::export_memory(own.slots));
  for (size_t i = 0; i < 2; ++i)
    mine.events[i] = fixed(own.events[i].export_handle());
  mine.slot_bytes = slot_bytes_;
  std::vector<Card> cards(members_.size());
  host_.all_gather(&mine, sizeof mine, cards.data());
  for (size_t r = 0; r < members_.size(); ++r) {
    if (cards[r].slot_bytes != slot_bytes_)
      throw CollectiveError("rank " + std::to_string(r) + " has device slots of another size");
    if (r == static_cast<size_t>(rank())) continue;
    members_[r].slots = static_cast<std::byte*>(device::import_memory(variable(cards[r].memory)));
    for (size_t i = 0; i < 2; ++i)
      members_[r].events[i] = device::Event::import(variable(cards[r].events[i]));
  }
  // A peer that goes from here on is missed at a meeting, and not as memory that cannot be opened.
  host_.barrier();
}

void DeviceMemory::close_peers() noexcept {
  for (size_t r = 0; r < members_.size(); ++r) {
    if (r == static_cast<size_t>(rank()) || members_[r].slots == nullptr) continue;
    try {
      device::close_memory(members_[r].slots);
    } catch (const device::DeviceError&) {
      // The process ends; the driver takes the mapping back.
    }
  }
}

DeviceMemory::~DeviceMemory() {
  try {
    stream_.synchronize();
    close_peers();
    // Exported memory must not be freed while a peer still has it open.
    host_.barrier();
    device::release(members_[static_cast<size_t>(rank())].slots);
  } catch (const std::exception&) {
    // A peer or the device has gone: the driver takes the memory back when the process ends.
  }
}

void DeviceMemory::exchange() {
  const auto turn = static_cast<size_t>(turn_);
  members_[static_cast<size_t>(rank())].events[turn].record(stream_);
  host_.barrier();
  for (size_t r = 0; r < members_.size(); ++r)
    if (r != static_cast<size_t>(rank())) device::wait(stream_, members_[r].events[turn]);
}

int DeviceMemory::rows_of_slot(int cols) const {
  const size_t rows = slot_bytes_ / (static_cast<size_t>(cols) * sizeof(float));
  if (rows == 0) throw CollectiveError("a row is larger than a slot of the device collectives");
  return static_cast<int>(rows);
}

// By a kernel where it can: a copy call would be a record in the byte ledger of every operation,
// and the cache's own copies are what the ledger is for.
void DeviceMemory::copy(const void* from, size_t bytes, void* to) {
  if (bytes == 0 || from == to) return;
  const auto words = static_cast<int>(bytes / 4);
  const auto low_bits = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to) | bytes;
  if (low_bits % 4 == 0) {
    kernels_.copy_rows(stream_.get(), from, words, 1, words, to, words);
  } else {
    kernels_.copy(stream_.get(), to, from, bytes);
  }
}

// n floats at `offset` of every slot, in rank order.
void DeviceMemory::sum(size_t offset, int n, float* to) {
  if (n == 0) return;
  if (size() == 1) return copy(floats(0) + offset, static_cast<size_t>(n) * sizeof(float), to);
  const float* so_far = floats(0) + offset;
  for (int r = 1; r < size(); ++r) {
    kernels_.add_rows(stream_.get(), so_far, n, floats(r) + offset, n, 1, n, to, n);
    so_far = to;
  }
}

void DeviceMemory::all_reduce(float* data, int n) {
  const auto most = static_cast<int>(slot_bytes_ / sizeof(float));
  for (int at = 0; at < n; at += most) {
    const int piece = std::min(most, n - at);
    copy(data + at, static_cast<size_t>(piece) * sizeof(float), slot(rank()));
    exchange();
    sum(0, piece, data + at);
    turn_ ^= 1;
  }
}

void DeviceMemory::reduce_scatter_rows(const float* partial, int rows, int cols, float* own) {
  if (rows <= 0 || cols <= 0) return;
  const auto width = static_cast<size_t>(cols);
  const int piece_rows = rows_of_slot(cols);
  const auto [first, last] = row_range(rows, rank(), size());
  for (int at = 0; at < rows; at += piece_rows) {
    const int n = std::min(piece_rows, rows - at);
    // The own rows too: `own` may be their place in `partial`, and the sum is made there.
    copy(partial + static_cast<size_t>(at) * width, static_cast<size_t>(n) * width * sizeof(float),
         slot(rank()));
    exchange();
    const int a = std::clamp(first - at, 0, n);
    const int b = std::clamp(last - at, 0, n);
    sum(static_cast<size_t>(a) * width, (b - a) * cols,
        own + static_cast<size_t>(std::max(0, at + a - first)) * width);
    turn_ ^= 1;
  }
}

void DeviceMemory::all_gather_rows(const float* own, int rows, int cols, float* all) {
  if (rows <= 0 || cols <= 0) return;
  const auto width = static_cast<size_t>(cols);
  const int most = row_range(rows, 0, size()).second; // rank 0 never has fewer rows than another
  const int piece_rows = rows_of_slot(cols);
  const auto [first, last] = row_range(rows, rank(), size());
  for (int at = 0; at < most; at += piece_rows) {
    const int mine = std::clamp(last - first - at, 0, piece_rows);
    const float* from = own + static_cast<size_t>(at) * width;
    copy(from, static_cast<size_t>(mine) * width * sizeof(float), slot(rank()));
    exchange();
    for (int r = 0; r < size(); ++r) {
      const auto [a, b] = row_range(rows, r, size());
      const int n = std::clamp(b - a - at, 0, piece_rows);
      if (n > 0)
        copy(r == rank() ? from : floats(r), static_cast<size_t>(n) * width * sizeof(float),
             all + static_cast<size_t>(a + at) * width);
    }
    turn_ ^= 1;
  }
}

void DeviceMemory::all_gather(const void* mine, size_t bytes_each, void* all) {
  const auto* own = static_cast<const std::byte*>(mine);
  for (size_t at = 0; at < bytes_each; at += slot_bytes_) {
    const size_t piece = std::min(slot_bytes_, bytes_each - at);
    copy(own + at, piece, slot(rank()));
    exchange();
    for (int r = 0; r < size(); ++r)
      copy(r == rank() ? own + at : slot(r), piece,
           static_cast<std::byte*>(all) + static_cast<size_t>(r) * bytes_each + at);
    turn_ ^= 1;
  }
}

} // namespace

std::unique_ptr<Collectives> open_device_collectives(Collectives& host,
                                                     const kernels::ModelKernels& kernels,
                                                     const device::Stream& stream,
                                                     size_t slot_bytes) {
  return std::make_unique<DeviceMemory>(host, kernels, stream, slot_bytes);
}

} // namespace hitproof::engine
