// The external cache as the front asks it: one lookup a request, over a channel to the cache
// server.
//
// Promise: an answer is what every rank and transfer group can restore; it is never longer than any
// of their answers. Throws PeerGone where the server has died, std::runtime_error where it
// contradicts itself.
#pragma once

#include "engine/front/scheduler.h"
#include "engine/runtime/channel.h"

#include <vector>

namespace hitproof::engine {

class CacheServerIndex : public ExternalIndex {
 public:
  CacheServerIndex(Channel channel, int block_tokens)
      : channel_(std::move(channel)), block_tokens_(block_tokens) {}

  /// Introduces this front; its lookups are answered for the ranks of `instance`.
  void hello(uint64_t instance);
  /// The ranks' key inputs, so that lookups can be recorded with the keys they found.
  void set_key_inputs(std::vector<std::vector<NamedDigest>> inputs) {
    key_inputs_ = std::move(inputs);
  }

  Answer lookup(const Sequence& sequence, bool full) override;
  void release(uint64_t request) override;
  /// Asks the server to end; there is no answer.
  void shut_down();

 private:
  Channel channel_;
  int block_tokens_;
  std::vector<std::vector<NamedDigest>> key_inputs_;
  uint64_t lookups_ = 0;
};

} // namespace hitproof::engine
