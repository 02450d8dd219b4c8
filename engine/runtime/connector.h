// The rank's side of the external cache: registers memory, loads before a step, saves after it, and
// waits.
//
// Promises: no page of a save is written again before the save's completion event has been waited
// for, and no step reads a loaded page before the load's has been (unless the engine is broken on
// purpose); every wait is told to the probe with its own begin and end; what a save named and a
// later step writes again is told once.
#pragma once

#include "engine/model/geometry.h"
#include "engine/runtime/breaks.h"
#include "engine/runtime/channel.h"
#include "engine/runtime/device.h"
#include "engine/runtime/protocol.h"
#include "engine/runtime/rank_memory.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace hitproof::engine {

// Pages written by something: the blocks of one engine group.
struct WrittenBlock {
  int engine_group = 0;
  int32_t block = 0;
};

class Connector {
 public:
  struct Options {
    int rank = 0, tp = 1;
    int gpu = 0;
    uint64_t instance = 0;
    Break broken = Break::none;
    std::string break_name;
  };
  // key_inputs: all that the bytes depend on; a key leaves out what the break says.
  Connector(const Options& options, const CacheGeometry& geometry, const RankMemory& memory,
            Channel server, std::vector<NamedDigest> key_inputs);

  int server_fd() const { return server_.fd(); }
  const std::vector<NamedDigest>& key_inputs() const { return key_inputs_; }

  // Loads: `begin_loads` has the server copy behind what is on the compute stream now;
  // `finish_loads` waits.
  void begin_loads(uint64_t step, const std::vector<LoadOrder>& orders,
                   const device::Stream& compute);
  std::vector<TransferResult> finish_loads();

  // Saves: the server copies behind what is on the compute stream now; next_tokens has one value an
  // order.
  void begin_saves(const std::vector<SaveOrder>& orders, const std::vector<uint32_t>& next_tokens,
                   const device::Stream& compute);
  std::vector<TransferResult> finish_saves();

  // To be called before a step's work is enqueued: pages that a save named and that will be written
  // now.
  void announce_reuse(uint64_t step, const std::vector<WrittenBlock>& written);

 private:
  struct Open { // a transfer whose completion has not been waited for
    uint64_t request = 0;
    device::Event completion;
    TransferResult result;
  };
  struct Named { // pages of one block that a save named
    uint64_t transfer = 0;
    std::vector<const CacheEntry*> entries;
  };
  Digest key_of(const Digest& prefix); // told to the probe the first time
  std::vector<PageRef> pages_of(const SaveOrder& order) const;
  std::vector<PageRef> pages_of(const LoadOrder& order) const;
  std::vector<TransferResult> finish(std::vector<Open>& open, int kind, bool wait);
  void name_pages(const SaveOrder& order);

  Options options_;
  const CacheGeometry& geometry_;
  const RankMemory& memory_;
  Channel server_;
  std::vector<NamedDigest> key_inputs_;
  std::set<Digest> announced_keys_;
  std::vector<Open> loads_, saves_;
  std::vector<device::Event>
      step_events_; // exported to the server; they live until the transfers are done
  std::map<int32_t, Named> named_;
};

} // namespace hitproof::engine
