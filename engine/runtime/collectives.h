// Collective operations of the tensor-parallel ranks, behind one interface.
//
// Promise: two runs of one schedule agree bit for bit, whatever the timing. Sums are made in rank
// order, with the same bits whatever the implementation; NCCL alone has an order of its own, fixed
// for a size and a machine. Every rank calls the same operations with the same sizes in the same
// order. An operation that cannot finish because a peer has gone throws CollectiveError, or, where
// it was only enqueued, check() does; it never hangs for ever.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace hitproof::engine {

struct CollectiveError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Rows [first, second) that `rank` owns: as even as can be, in rank order.
  static std::pair<int, int> row_range(int rows, int rank, int size);

  // own: the rows of row_range, [own rows][cols]; all: [rows][cols]. own may lie at its place
  // inside all.
  virtual void all_gather_rows(const float* own, int rows, int cols, float* all) = 0;
  // partial: [rows][cols] of every rank; own: the sum over ranks of the own rows. own may be its
  // place inside partial.
  virtual void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) = 0;
  // data[n] becomes the sum over ranks, in place.
  virtual void all_reduce(float* data, int n) = 0;
  // all: bytes_each of every rank, in rank order.
  virtual void all_gather(const void* mine, size_t bytes_each, void* all) = 0;
  virtual void barrier() = 0;
  // Throws where an operation that was enqueued could not finish: what it wrote is void. To be
  // asked after the wait for the device, before results are used.
  virtual void check() {}
  // Who of the group has gone or given up, in words; empty: nobody. Any thread may ask.
  virtual std::string missing_peer() const { return {}; }
};

// One rank: every operation is a copy.
std::unique_ptr<Collectives> single_rank_collectives();

// Shared memory between the processes of one machine. The parent makes the memory once and every
// rank opens it by the inherited descriptor. slot_bytes: room for one rank's data of one operation;
// larger operations go in pieces.
int create_collectives_memory(int size,
                              size_t slot_bytes = size_t{4} << 20); // memfd, close-on-exec; throws

struct CollectiveOptions {
  std::chrono::milliseconds timeout{120000}; // of one operation
  int parent = 0;                            // process whose end ends the wait; 0: not looked at
};
std::unique_ptr<Collectives> open_collectives(int fd, int rank,
                                              const CollectiveOptions& options = {});

// Tells every other rank that this one gives up: their operations throw at once.
void abort_collectives(Collectives& collectives);

} // namespace hitproof::engine
