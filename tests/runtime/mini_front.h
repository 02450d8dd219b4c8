// The least that can drive four ranks and a cache server: one request at a time, blocks by
// counting, no prefix cache.
#pragma once

#include "engine/model/geometry.h"
#include "engine/runtime/channel.h"
#include "tests/runtime/server_process.h"

#include <memory>
#include <sys/types.h>
#include <vector>

namespace hitproof::engine {

struct Generated {
  std::vector<int32_t> tokens;
  std::vector<Digest> logits;
  std::vector<TransferResult> saves, loads; // of rank 0
  int accepted_drafts = 0;
  bool operator==(const Generated& other) const {
    return tokens == other.tokens && logits == other.logits;
  }
};

class MiniFront {
 public:
  static constexpr int ranks = 4;
  struct Options {
    uint64_t seed = 1;
    bool drafts = true;
    std::string break_name = {};
    std::vector<NamedText> profile = {};
    int num_blocks = 96;
    bool device_kernels = false;  // the ranks work as with a GPU's kernels
    std::string collectives = {}; // of such ranks: nccl, or device memory
  };
  // server: nullptr: the connector is off. Starts the ranks and waits until they are ready.
  MiniFront(const Options& options, const ServerProcess* server);
  ~MiniFront();
  MiniFront(const MiniFront&) = delete;
  MiniFront& operator=(const MiniFront&) = delete;

  // Generates greedily; `restore` tokens come from the cache server (a multiple of the chunk).
  Generated generate(const std::vector<int32_t>& prompt, int new_tokens, uint32_t restore = 0);
  uint32_t lookup(const std::vector<int32_t>& prompt, bool full);
  uint32_t chunk() const { return static_cast<uint32_t>(geometry_.block_tokens); }
  const std::vector<RankReady>& ready() const { return ready_; }

  Channel& rank(int r) { return channels_[static_cast<size_t>(r)]; }
  void kill_rank(int r); // dead when it returns
  // Says Shutdown and collects the exit statuses.
  std::vector<int> shut_down();

 private:
  struct Sequence;
  Step plan(Sequence& s, uint32_t restore);
  void take(Sequence& s, const Step& step, const SeqResult& result);
  BlockRef block() { return {next_block_++, 1}; }

  Options options_;
  CacheGeometry geometry_;
  std::vector<Channel> channels_;
  std::vector<pid_t> pids_;
  std::vector<RankReady> ready_;
  Channel server_;
  int32_t next_block_ = 1;
  uint64_t steps_ = 0, transfers_ = 0, requests_ = 0, lookups_ = 0;
};

// For main: runs a rank where the arguments say so; -1 where they do not, else the exit status.
int serve_as_rank(int argc, char** argv);

} // namespace hitproof::engine
