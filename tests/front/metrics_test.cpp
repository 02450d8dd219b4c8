#include "engine/front/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine {
namespace {

using testing::HasSubstr;

TEST(Metrics, HaveTheNamesOfVllm) {
  const std::string text = Metrics("m").render();
  for (const char* name :
       {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
        "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
        "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
        "vllm:external_prefix_cache_queries_total", "vllm:external_prefix_cache_hits_total",
        "vllm:num_preemptions_total", "vllm:spec_decode_num_draft_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total", "vllm:time_to_first_token_seconds_sum",
        "vllm:time_to_first_token_seconds_count", "vllm:e2e_request_latency_seconds_count"})
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name + "{engine=\"0\",model_name=\"m\"} 0\n"))
        << name;
}

TEST(Metrics, EveryLineIsACommentOrAValue) {
  Metrics metrics("m");
  metrics.first_token_after(0.3);
  std::istringstream text(metrics.render());
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("# ", 0) == 0) continue;
    const auto brace = line.find("} ");
    ASSERT_NE(brace, std::string::npos) << line;
    EXPECT_NO_THROW(std::stod(line.substr(brace + 2))) << line;
  }
}

TEST(Metrics, BucketsAreCumulative) {
  Metrics metrics("m");
  metrics.first_token_after(0.3);
  metrics.first_token_after(0.5);
  metrics.first_token_after(5000);
  const std::string text = metrics.render();
  EXPECT_THAT(text, HasSubstr("le=\"0.25\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("le=\"0.5\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("le=\"2560\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("le=\"+Inf\"} 3\n"));
}

TEST(Metrics, CountersComeFromTheScheduler) {
  Metrics metrics("m");
  SchedulerCounters counters;
  counters.drafts = 7;
  counters.accepted_drafts = 3;
  counters.preemptions = 1;
  metrics.set_state(2, 1, 0.25, counters);
  metrics.finished(FinishReason::length, 1.5);
  const std::string text = metrics.render();
  EXPECT_THAT(
      text,
      HasSubstr("vllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"m\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("finished_reason=\"length\"} 1\n"));
}

} // namespace
} // namespace hitproof::engine
