// The way of generated tokens from the engine's loop to the HTTP handler that waits for them.
#pragma once

#include "engine/front/sequence.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hitproof::engine {

/// Tokens that one step decided, or the end of a request.
struct TokenEvent {
  std::vector<int32_t> tokens;
  std::vector<std::array<uint8_t, 32>> logits; // one a token
  std::vector<float> margin;                   // one a token
  FinishReason finish = FinishReason::none;    // not none: the last event
  std::string error;         // not empty: the request failed and this is the last event
  int32_t cached_tokens = 0; // credited at admission

  bool last() const { return finish != FinishReason::none || !error.empty(); }
};

/// One writer, one reader; never blocks the writer.
class RequestStream {
 public:
  explicit RequestStream(uint64_t request) : request_(request) {}
  uint64_t request() const { return request_; }

  void push(TokenEvent event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    ready_.notify_one();
  }
  /// The next event, or nothing after the timeout.
  std::optional<TokenEvent> next(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!ready_.wait_for(lock, timeout, [this] { return !events_.empty(); })) return std::nullopt;
    TokenEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  const uint64_t request_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<TokenEvent> events_;
};

} // namespace hitproof::engine
