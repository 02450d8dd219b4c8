#include "engine/front/metrics.h"

#include <cstdio>

namespace hitproof::engine {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void head(const char* type, const std::string& name, const std::string& help, std::string& out) {
  out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

} // namespace

void Histogram::observe(double seconds) {
  size_t bucket = 0;
  while (bucket < bounds.size() && seconds > bounds[bucket])
    ++bucket;
  ++counts_[bucket];
  sum_ += seconds;
}

void Histogram::render(const std::string& name, const std::string& help, const std::string& labels,
                       std::string& out) const {
  head("histogram", name, help, out);
  uint64_t total = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    char bound[32] = "+Inf";
    if (i < bounds.size()) std::snprintf(bound, sizeof bound, "%g", bounds[i]);
    out += name + "_bucket{" + labels + ",le=\"" + bound + "\"} " + std::to_string(total) + "\n";
  }
  out += name + "_sum{" + labels + "} " + number(sum_) + "\n" + name + "_count{" + labels + "} " +
         std::to_string(total) + "\n";
}

void Metrics::set_state(size_t running, size_t waiting, double cache_usage,
                        const SchedulerCounters& counters) {
  const std::lock_guard lock(mutex_);
  running_ = running;
  waiting_ = waiting;
  cache_usage_ = cache_usage;
  counters_ = counters;
}

void Metrics::add_prompt_tokens(uint64_t tokens) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += tokens;
}

void Metrics::add_generation_tokens(uint64_t tokens) {
  const std::lock_guard lock(mutex_);
  generation_tokens_ += tokens;
}

void Metrics::first_token_after(double seconds) {
  const std::lock_guard lock(mutex_);
  time_to_first_token_.observe(seconds);
}

void Metrics::finished(FinishReason reason, double seconds) {
  const std::lock_guard lock(mutex_);
  ++finished_[static_cast<size_t>(reason)];
  request_latency_.observe(seconds);
}

std::string Metrics::render() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  const auto gauge = [&](const std::string& name, const std::string& help, double value) {
    head("gauge", name, help, out);
    out += name + "{" + labels_ + "} " + number(value) + "\n";
  };
  const auto counter = [&](const std::string& name, const std::string& help, uint64_t value) {
    head("counter", name, help, out);
    out += name + "{" + labels_ + "} " + std::to_string(value) + "\n";
  };
  gauge("vllm:num_requests_running", "Requests in the running batch.",
        static_cast<double>(running_));
  gauge("vllm:num_requests_waiting", "Requests waiting for admission.",
        static_cast<double>(waiting_));
  gauge("vllm:kv_cache_usage_perc", "Share of the cache blocks in use, 1 = all.", cache_usage_);
  counter("vllm:prompt_tokens_total", "Prompt tokens of the admitted requests.", prompt_tokens_);
  counter("vllm:generation_tokens_total", "Generated tokens.", generation_tokens_);
  counter("vllm:prefix_cache_queries_total", "Tokens asked for in the device prefix cache.",
          counters_.local_queries);
  counter("vllm:prefix_cache_hits_total", "Tokens found in the device prefix cache.",
          counters_.local_hits);
  counter("vllm:external_prefix_cache_queries_total", "Tokens asked for in the external cache.",
          counters_.external_queries);
  counter("vllm:external_prefix_cache_hits_total", "Tokens credited from the external cache.",
          counters_.external_hits);
  counter("vllm:num_preemptions_total", "Preemptions.", counters_.preemptions);
  counter("vllm:spec_decode_num_draft_tokens_total", "Draft tokens verified.", counters_.drafts);
  counter("vllm:spec_decode_num_accepted_tokens_total", "Draft tokens accepted.",
          counters_.accepted_drafts);

  head("counter", "vllm:request_success_total", "Finished requests by reason.", out);
  const std::array<std::pair<FinishReason, const char*>, 3> reasons{
      {{FinishReason::length, "length"},
       {FinishReason::stop, "stop"},
       {FinishReason::aborted, "abort"}}};
  for (const auto& [reason, name] : reasons)
    out += "vllm:request_success_total{" + labels_ + ",finished_reason=\"" + name + "\"} " +
           std::to_string(finished_[static_cast<size_t>(reason)]) + "\n";
  counter("hitproof:end_tokens_total", "End-of-sequence ids that were generated.",
          counters_.end_tokens);
  time_to_first_token_.render("vllm:time_to_first_token_seconds",
                              "Time from arrival to the first token.", labels_, out);
  request_latency_.render("vllm:e2e_request_latency_seconds",
                          "Time from arrival to the last token.", labels_, out);
  return out;
}

} // namespace hitproof::engine
