// Cases for collectives of device memory, held against those in shared memory: for every
// implementation, on the simulated device and on GPUs.
#pragma once

#include "engine/runtime/collectives.h"
#include "engine/runtime/device.h"

#include <functional>
#include <vector>

namespace hitproof::engine {

struct Rank {
  Collectives& host;
  Collectives& on_device;
  const device::Stream& stream;
  // Sums are those in rank order, bit for bit; otherwise they agree within rounding.
  bool rank_order = true;
};

// Device memory that a test fills and reads.
class Buffer {
 public:
  // Room for `bytes`, and for a start that is not aligned.
  explicit Buffer(size_t bytes);
  ~Buffer() { device::release(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  float* floats(size_t at = 0) const { return reinterpret_cast<float*>(data) + at; }
  void fill(const Rank& rank, const std::vector<float>& values) const;
  // What lies at `from` once the stream has come to its end.
  static std::vector<std::byte> read(const Rank& rank, const void* from, size_t bytes);

  const size_t bytes;
  std::byte* const data;
};

using Open =
    std::function<std::unique_ptr<Collectives>(Collectives& host, const device::Stream& stream)>;
struct Group {
  int size = 2;
  Open open;
  std::vector<int> gpus = {0}; // of the ranks, in turn
  bool rank_order = true;
};
using Body = std::function<bool(Rank)>;

// Runs `body` as every rank, in a process each, because only processes of their own can open each
// other's memory. The exit status of each rank: 0 where body said true, 1 otherwise.
std::vector<int> statuses(const Group& group, const Body& body);
bool on_processes(const Group& group, const Body& body);

std::vector<float> values(int rank, size_t n, uint32_t seed);
// The same n floats on the device and on the host; with another order than rank order, nearly.
bool same(const Rank& rank, const float* device_data, const float* host_data, size_t n);

bool reduces(const Rank& rank, size_t n, uint32_t seed);
// In place and out of it, as the model does it: sum the own rows where they are, then gather all.
bool scatters_and_gathers(const Rank& rank, int rows, int cols, uint32_t seed);
bool gathers(const Rank& rank, size_t bytes, size_t offset, uint32_t seed);
// `rounds` operations of random kinds and sizes.
bool agrees(const Rank& rank, uint32_t seed, int rounds);
// Many operations without a look at the device between them.
bool many_in_a_row(const Rank& rank);

} // namespace hitproof::engine
