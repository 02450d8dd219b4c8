// Test doubles for rank processes and cache server: threads that speak the protocol over real
// socket pairs and generate the shadow's language (shadow_engine.h).
#pragma once

#include "engine/runtime/channel.h"
#include "tests/front/shadow_engine.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace hitproof::engine::test {

struct Misbehaviour {
  int rank = -1;
  uint64_t step = 0;    // at this step ...
  bool dies = false;    // ... the rank closes its socket
  bool fails = false;   // ... it reports a Failure
  bool differs = false; // ... it samples something else
  int slow_ms = 0;      // every step of every rank takes so long
};

class FakeCluster {
 public:
  FakeCluster(int ranks, int block_tokens, Misbehaviour wrong = {});
  ~FakeCluster();

  std::vector<Channel> take_ranks() { return std::move(front_ends_); }
  Channel take_server() { return std::move(server_end_); }
  std::atomic<int> shutdowns{0}; // ranks and server that were told

 private:
  void serve_rank(int rank, Channel channel);
  void serve_cache(Channel channel);
  StepDone answer(int rank, const Step& step, std::map<int32_t, Tokens>& states);

  int c_;
  Misbehaviour wrong_;
  std::mutex mutex_;
  std::map<Digest, Tokens> external_;
  std::vector<Channel> front_ends_;
  Channel server_end_;
  std::vector<std::thread> threads_;
};

} // namespace hitproof::engine::test
