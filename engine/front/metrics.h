// Counters of the engine under the names that vLLM gives them, in Prometheus text form.
//
// Promise: thread safe; a rendering shows one moment's values. What this engine does not have
// (several engines, adapters) has no metric instead of a zero.
#pragma once

#include "engine/front/scheduler.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace hitproof::engine {

/// Upper bounds in seconds and the observations below each; the last bucket is +Inf.
class Histogram {
 public:
  static constexpr std::array<double, 22> bounds{
      0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
      1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
  void observe(double seconds);
  void render(const std::string& name, const std::string& help, const std::string& labels,
              std::string& out) const;

 private:
  std::array<uint64_t, bounds.size() + 1> counts_{};
  double sum_ = 0;
};

class Metrics {
 public:
  explicit Metrics(std::string model_name)
      : labels_("engine=\"0\",model_name=\"" + std::move(model_name) + "\"") {}

  /// State after a step.
  void set_state(size_t running, size_t waiting, double cache_usage,
                 const SchedulerCounters& counters);
  void add_prompt_tokens(uint64_t tokens);
  void add_generation_tokens(uint64_t tokens);
  void first_token_after(double seconds);
  void finished(FinishReason reason, double seconds);
  std::string render() const;

 private:
  const std::string labels_;
  mutable std::mutex mutex_;
  size_t running_ = 0, waiting_ = 0;
  double cache_usage_ = 0;
  SchedulerCounters counters_;
  uint64_t prompt_tokens_ = 0, generation_tokens_ = 0;
  std::array<uint64_t, 4> finished_{};
  Histogram time_to_first_token_, request_latency_;
};

} // namespace hitproof::engine
