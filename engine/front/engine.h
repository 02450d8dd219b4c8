// The engine's loop: takes requests from any thread, plans steps, sends them to the ranks, gives
// tokens back.
//
// Promises: one thread owns scheduler, block pool and all channels; everything public is thread
// safe. A failure (a rank that died, ranks that disagree, a cache server that contradicts itself)
// ends the loop and fails every request with its message. request_stop() fails running requests,
// says Shutdown to the ranks, waits until they have closed their side, then says it to the cache
// server. Either way the loop reports its end once.
#pragma once

#include "engine/front/external_index.h"
#include "engine/front/metrics.h"
#include "engine/front/orders.h"
#include "engine/front/request_stream.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace hitproof::engine {

struct EngineConfig {
  SchedulerConfig scheduler;
  int num_blocks = 0;
  bool connector = true;
  Break broken = Break::none;
  bool shut_server_down = true; // false: the cache server belongs to somebody else
  uint64_t instance = 0;
  uint64_t first_id = 0;        // requests and transfers are numbered on from here
  std::vector<RankStart> ranks; // what each rank is told at the start
};

struct NewRequest {
  std::vector<int32_t> prompt;
  int32_t max_tokens = 0;
  bool ignore_eos = false;
  std::string tag;
};

class Engine {
 public:
  enum class State { starting, ready, stopping, failed };
  enum class Reset { done, busy, unavailable };

  /// `server` is closed where the connector is off.
  Engine(const EngineConfig& config, std::vector<Channel> ranks, Channel server, Metrics& metrics);
  ~Engine();

  using OnReady = std::function<void(const std::vector<RankReady>&)>;
  using OnEnd = std::function<void(const std::string&)>;
  /// Starts the loop. `on_ready` is called when all ranks are ready, `on_end` once with the
  /// failure's text, empty after an orderly end; both on the loop's thread.
  void start(OnReady on_ready, OnEnd on_end);
  /// Asks the loop to end after the step it is in; returns at once.
  void request_stop();
  /// Waits for the loop's end.
  void join();

  /// Why a request can never run here; empty where it can.
  std::string refuse(int32_t prompt_tokens, int32_t max_tokens) const;
  /// Null where the engine is not ready.
  std::shared_ptr<RequestStream> submit(NewRequest request);
  void cancel(uint64_t request);
  Reset reset_prefix_cache();
  State state() const { return state_; }
  std::string failure() const;

 private:
  struct Pending; // a request's stream and times
  using Command = std::function<void()>;

  void run(const OnReady& on_ready);
  void start_ranks(const OnReady& on_ready);
  bool take_commands();
  void step(const StepPlan& plan);
  void publish(const StepPlan& plan, const std::vector<SeqResult>& results,
               const std::vector<SequenceOutcome>& outcomes);
  void count_finished(uint64_t request, FinishReason reason);
  void fail_all(const std::string& message);
  void say_shutdown();
  void update_metrics();
  bool post(Command command);

  EngineConfig config_;
  std::vector<Channel> ranks_;
  std::unique_ptr<CacheServerIndex> index_;
  Metrics& metrics_;
  BlockPool pool_;
  Scheduler scheduler_;
  OrderMaker orders_;
  std::unordered_map<uint64_t, std::unique_ptr<Pending>> pending_;

  std::thread thread_;
  std::atomic<State> state_{State::starting};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Command> commands_;
  bool stop_ = false;
  std::string failure_;
  std::atomic<uint64_t> requests_{0};
};

} // namespace hitproof::engine
