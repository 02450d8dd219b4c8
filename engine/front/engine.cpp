#include "engine/front/engine.h"

#include "engine/front/announce.h"
#include "engine/runtime/last_words.h"

#include <chrono>

namespace hitproof::engine {

using Clock = std::chrono::steady_clock;

struct Engine::Pending {
  std::shared_ptr<RequestStream> stream;
  Clock::time_point arrival;
  bool first_token = true;
  double age() const { return std::chrono::duration<double>(Clock::now() - arrival).count(); }
};

Engine::Engine(const EngineConfig& config, std::vector<Channel> ranks, Channel server,
               Metrics& metrics)
    : config_(config), ranks_(std::move(ranks)),
      index_(config.connector ? std::make_unique<CacheServerIndex>(std::move(server),
                                                                   config.scheduler.block_tokens)
                              : nullptr),
      metrics_(metrics), pool_(config.num_blocks, announce_block),
      scheduler_(config.scheduler, pool_, index_.get(),
                 [this](const Admission& a) {
                   announce_admission(a);
                   if (a.preemptions == 0)
                     metrics_.add_prompt_tokens(static_cast<uint64_t>(a.known_tokens));
                 }),
      orders_({static_cast<int>(ranks_.size()), config.scheduler.block_tokens, config.connector,
               config.broken, config.first_id},
              pool_),
      requests_(config.first_id) {}

Engine::~Engine() {
  request_stop();
  join();
}

void Engine::start(OnReady on_ready, OnEnd on_end) {
  thread_ = std::thread([this, on_ready = std::move(on_ready), on_end = std::move(on_end)] {
    std::string failed;
    try {
      run(on_ready);
    } catch (const std::exception&) {
      failed = last_words(std::current_exception());
      fail_all(failed);
    }
    on_end(failed);
  });
}

void Engine::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

void Engine::join() {
  if (thread_.joinable()) thread_.join();
}

std::string Engine::refuse(int32_t prompt_tokens, int32_t max_tokens) const {
  return scheduler_.refuse(prompt_tokens, max_tokens); // reads constants only
}

bool Engine::post(Command command) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || state_ != State::ready) return false;
    commands_.push_back(std::move(command));
  }
  wake_.notify_all();
  return true;
}

std::shared_ptr<RequestStream> Engine::submit(NewRequest request) {
  auto sequence = std::make_shared<std::unique_ptr<Sequence>>(std::make_unique<Sequence>());
  Sequence& s = **sequence;
  s.id = ++requests_;
  s.tag = std::move(request.tag);
  s.prompt_tokens = static_cast<int32_t>(request.prompt.size());
  s.tokens = std::move(request.prompt);
  s.max_tokens = request.max_tokens;
  s.ignore_eos = request.ignore_eos;
  auto stream = std::make_shared<RequestStream>(s.id);
  const auto arrival = Clock::now();
  const bool taken = post([this, sequence, stream, arrival] {
    announce_request(**sequence);
    pending_[stream->request()] = std::make_unique<Pending>(Pending{stream, arrival});
    scheduler_.submit(std::move(*sequence));
  });
  return taken ? stream : nullptr;
}

void Engine::cancel(uint64_t request) {
  post([this, request] {
    if (!scheduler_.abort(request)) return;
    TokenEvent event;
    event.finish = FinishReason::aborted;
    const std::shared_ptr<RequestStream> stream = pending_.at(request)->stream;
    count_finished(request, FinishReason::aborted);
    stream->push(std::move(event));
  });
}

Engine::Reset Engine::reset_prefix_cache() {
  auto done = std::make_shared<std::promise<Reset>>();
  std::future<Reset> answer = done->get_future();
  if (!post([this, done] {
        done->set_value(scheduler_.reset_prefix_cache() ? Reset::done : Reset::busy);
      }))
    return Reset::unavailable;
  try {
    return answer.get();
  } catch (const std::future_error&) { // the loop ended before it came to the command
    return Reset::unavailable;
  }
}

std::string Engine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Engine::start_ranks(const OnReady& on_ready) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].send(config_.ranks.at(rank));
  std::vector<RankReady> ready;
  std::vector<std::vector<NamedDigest>> inputs;
  for (Channel& rank : ranks_) {
    ready.push_back(rank.expect<RankReady>());
    inputs.push_back(ready.back().key_inputs);
  }
  if (index_) {
    index_->hello(config_.instance);
    index_->set_key_inputs(std::move(inputs));
  }
  {
    const std::lock_guard lock(mutex_);
    state_ = State::ready;
  }
  on_ready(ready);
}

void Engine::run(const OnReady& on_ready) {
  start_ranks(on_ready);
  update_metrics();
  while (take_commands()) {
    const auto plan = scheduler_.plan();
    if (plan)
      step(*plan);
    else
      update_metrics();
  }
  fail_all("the engine is shutting down");
  say_shutdown();
}

bool Engine::take_commands() {
  std::vector<Command> commands;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stop_ || !commands_.empty() || !scheduler_.idle(); });
    if (stop_) return false;
    commands.swap(commands_);
  }
  for (Command& command : commands)
    command();
  return true;
}

void Engine::step(const StepPlan& plan) {
  const std::vector<Step> orders = orders_.make(plan);
  for (size_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].send(orders[rank]);
  std::vector<StepDone> answers;
  for (Channel& rank : ranks_)
    answers.push_back(rank.expect<StepDone>());
  const std::vector<SeqResult> results = agreed_results(plan.step, answers);

  std::vector<SequenceOutcome> outcomes;
  for (const SeqResult& r : results)
    outcomes.push_back({r.accepted, r.sampled, r.draft});
  scheduler_.complete(plan, outcomes);
  update_metrics(); // before anybody can know that the step is done
  publish(plan, results, outcomes);
  scheduler_.take_finished(); // all told in publish
}

void Engine::publish(const StepPlan& plan, const std::vector<SeqResult>& results,
                     const std::vector<SequenceOutcome>& outcomes) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Sequence& s = *plan.sequences[i].sequence;
    const size_t count = outcomes[i].sampled.size(); // without what came after the request's end
    const auto found = pending_.find(s.id);
    if (count == 0 || found == pending_.end()) continue;
    if (results[i].logits.size() < count || results[i].margin.size() < count)
      throw std::runtime_error("the ranks answered request " + std::to_string(s.id) +
                               " without the digest of its logits");
    TokenEvent event;
    event.tokens = outcomes[i].sampled;
    event.logits.assign(results[i].logits.begin(),
                        results[i].logits.begin() + static_cast<std::ptrdiff_t>(count));
    event.margin.assign(results[i].margin.begin(),
                        results[i].margin.begin() + static_cast<std::ptrdiff_t>(count));
    event.cached_tokens = s.cached_tokens;
    event.finish = s.finish;
    if (found->second->first_token) metrics_.first_token_after(found->second->age());
    found->second->first_token = false;
    metrics_.add_generation_tokens(count);
    const std::shared_ptr<RequestStream> stream = found->second->stream;
    if (event.last()) count_finished(s.id, s.finish);
    stream->push(std::move(event));
  }
}

void Engine::count_finished(uint64_t request, FinishReason reason) {
  const auto found = pending_.find(request);
  if (found == pending_.end()) return;
  metrics_.finished(reason, found->second->age());
  pending_.erase(found);
}

void Engine::fail_all(const std::string& message) {
  std::vector<Command> unheard;
  {
    const std::lock_guard lock(mutex_);
    state_ = stop_ ? State::stopping : State::failed;
    failure_ = message;
    unheard.swap(commands_);
  }
  // Submissions that were still queued get their stream, so that they fail like the others; a
  // queued reset's promise breaks when its command is destroyed, unless it can still be answered
  // here.
  for (Command& command : unheard)
    command();
  for (auto& [id, pending] : pending_) {
    TokenEvent event;
    event.error = message;
    pending->stream->push(std::move(event));
  }
  pending_.clear();
}

void Engine::say_shutdown() {
  for (Channel& rank : ranks_)
    rank.send(Shutdown{});
  // The ranks may still have work at the server: it is told when they have closed their side.
  for (Channel& rank : ranks_) {
    try {
      while (rank.receive()) {
      }
    } catch (const PeerGone&) {
    }
  }
  if (index_ && config_.shut_server_down) index_->shut_down();
}

void Engine::update_metrics() {
  metrics_.set_state(scheduler_.running(), scheduler_.waiting(),
                     static_cast<double>(pool_.in_use()) / pool_.capacity(), scheduler_.counters());
}

} // namespace hitproof::engine
