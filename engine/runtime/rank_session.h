// A rank at the cache server: its memory imported once, its saves and loads copied on two streams
// of its own.
//
// Promises: copies of a save start behind the rank's event, copies of a load too; a stored object
// becomes visible only behind its copy; the completion event lives until the rank has acknowledged
// it.
#pragma once

#include "engine/runtime/channel.h"
#include "engine/runtime/device.h"
#include "engine/runtime/server_state.h"

#include <map>
#include <memory>

namespace hitproof::engine {

class RankSession {
 public:
  // Imports the memory, tells the probe the mapped entries, and answers Registered.
  RankSession(ServerState& state, Channel& channel, Register registration);
  // Waits some seconds for the streams: a rank that was killed leaves an event that never comes.
  ~RankSession();
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;

  void serve(); // until the rank goes (PeerGone)
  SaveReply save(const Save& order);
  LoadReply load(const Load& order);
  void acknowledge(uint64_t transfer) { pending_.erase(transfer); }

 private:
  struct Pending { // what a transfer keeps alive
    device::Event producer, completion;
  };
  struct Streams {
    device::Stream save, load;
  };
  void import_memory();
  std::byte* page(uint16_t entry, uint32_t block) const;
  const EntryExport& entry(uint16_t index) const;
  void announce_page(uint64_t transfer, const PageRef& page, const Object& object, bool held) const;
  void copy_to_store(const Save& order, const std::vector<Reserved>& pages);
  void copy_from_store(const Load& order, const std::vector<Object*>& objects);
  bool broken(Break b) const { return broken_ == b; }
  // The event that the transfer's answer carries; recorded on the stream by the caller.
  Pending& open_transfer(uint64_t transfer, const Bytes& producer);

  ServerState& state_;
  Channel& channel_;
  Register registration_;
  Break broken_;
  std::shared_ptr<RankInfo> info_;
  std::vector<std::byte*> allocations_;
  std::unique_ptr<Streams> streams_;
  std::map<uint64_t, Pending> pending_;
};

} // namespace hitproof::engine
