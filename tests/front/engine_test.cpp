// The engine's loop and the HTTP server against ranks made of threads.
#include "engine/front/engine.h"
#include "engine/front/http_server.h"
#include "tests/front/fake_ranks.h"

#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace hitproof::engine::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
constexpr int c = 32;
constexpr int ranks = 2;

class EngineTest : public testing::Test {
 protected:
  void start(Misbehaviour wrong = {}, bool connector = true) {
    cluster_ = std::make_unique<FakeCluster>(ranks, c, wrong);
    EngineConfig config;
    config.scheduler.block_tokens = c;
    config.scheduler.max_positions = 400;
    config.num_blocks = 200;
    config.connector = connector;
    config.ranks.resize(ranks);
    engine_ = std::make_unique<Engine>(config, cluster_->take_ranks(),
                                       connector ? cluster_->take_server() : Channel(), metrics_);
    port_ = http_.bind("127.0.0.1", 0);
    std::promise<void> ready;
    engine_->start([&ready](const std::vector<RankReady>&) { ready.set_value(); },
                   [this](const std::string& error) { ended_.set_value(error); });
    ready.get_future().wait();
    http_.serve(*engine_, metrics_, {"m", 4096}, 400);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", port_);
    client_->set_read_timeout(20);
  }
  void TearDown() override {
    if (!engine_) return;
    engine_->request_stop();
    engine_->join();
    client_.reset();
    http_.stop();
  }
  httplib::Result post(const json& body) {
    return client_->Post("/v1/completions", body.dump(), "application/json");
  }
  static Tokens expected(Tokens tokens, int count) {
    const size_t first = tokens.size();
    for (int i = 0; i < count; ++i)
      tokens.push_back(next_token(tokens));
    return Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
  }
  static double metric(const std::string& text, const std::string& name) {
    const auto at = text.find("\n" + name + "{");
    return at == std::string::npos ? -1 : std::stod(text.substr(text.find("} ", at) + 2));
  }

  Metrics metrics_{"m"};
  std::unique_ptr<FakeCluster> cluster_;
  std::unique_ptr<Engine> engine_;
  HttpServer http_;
  int port_ = 0;
  std::promise<std::string> ended_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(EngineTest, AnswersACompletion) {
  start();
  const Tokens prompt = make_prompt(70, 1);
  const auto answer = post({{"prompt", prompt}, {"max_tokens", 9}, {"ignore_eos", true}});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
  const json body = json::parse(answer->body);
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["token_ids"].get<Tokens>(), expected(prompt, 9));
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["hitproof"]["logits_sha256"].size(), 9u);
  EXPECT_EQ(choice["hitproof"]["margin"].size(), 9u);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 70);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(EngineTest, StreamsTheSameTokensAndThenTheUsage) {
  start();
  const Tokens prompt = make_prompt(40, 2);
  const json body = {{"prompt", prompt},
                     {"max_tokens", 12},
                     {"stream", true},
                     {"ignore_eos", true},
                     {"return_token_ids", true}};
  const auto answer = post(body);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/event-stream");
  Tokens tokens;
  json usage;
  std::string last;
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    ASSERT_EQ(line.rfind("data: ", 0), 0u) << line;
    last = line.substr(6);
    if (last == "[DONE]") continue;
    const json event = json::parse(last);
    if (event.contains("usage")) usage = event["usage"];
    if (event["choices"].empty()) continue;
    const auto ids = event["choices"][0]["token_ids"].get<Tokens>();
    EXPECT_EQ(event["choices"][0]["hitproof"]["margin"].size(), ids.size());
    EXPECT_EQ(event["choices"][0].contains("prompt_token_ids"), tokens.empty());
    tokens.insert(tokens.end(), ids.begin(), ids.end());
  }
  EXPECT_EQ(last, "[DONE]");
  EXPECT_EQ(tokens, expected(prompt, 12));
  EXPECT_EQ(usage["completion_tokens"], 12);
}

TEST_F(EngineTest, AfterAResetTheExternalCacheRestores) {
  start();
  const json body = {{"prompt", make_prompt(97, 3)}, {"max_tokens", 5}, {"ignore_eos", true}};
  const json cold = json::parse(post(body)->body);
  ASSERT_EQ(client_->Post("/reset_prefix_cache", "", "application/json")->status, 200);
  const json again = json::parse(post(body)->body);
  EXPECT_EQ(again["choices"][0]["token_ids"], cold["choices"][0]["token_ids"]);
  EXPECT_EQ(again["usage"]["prompt_tokens_details"]["cached_tokens"], 96);
  const std::string text = client_->Get("/metrics")->body;
  EXPECT_EQ(metric(text, "vllm:external_prefix_cache_hits_total"), 96);
  EXPECT_EQ(metric(text, "vllm:external_prefix_cache_queries_total"), 2 * 97);
  EXPECT_EQ(metric(text, "vllm:prompt_tokens_total"), 2 * 97);
  EXPECT_EQ(metric(text, "vllm:generation_tokens_total"), 10);
  EXPECT_EQ(metric(text, "vllm:num_requests_running"), 0);
  EXPECT_EQ(metric(text, "vllm:time_to_first_token_seconds_count"), 2);
  EXPECT_GT(metric(text, "vllm:spec_decode_num_draft_tokens_total"), 0);
}

TEST_F(EngineTest, ManyRequestsAtOnceGetTheirOwnTokens) {
  start({}, false);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&, i] {
      httplib::Client client("127.0.0.1", port_);
      client.set_read_timeout(20);
      const Tokens prompt = make_prompt(20 + 9 * i, i);
      const json body = {{"prompt", prompt}, {"max_tokens", 30}, {"ignore_eos", true}};
      const auto answer = client.Post("/v1/completions", body.dump(), "application/json");
      if (answer && answer->status == 200 &&
          json::parse(answer->body)["choices"][0]["token_ids"].get<Tokens>() ==
              expected(prompt, 30))
        ++right;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(right, 12);
}

TEST_F(EngineTest, BadRequestsAreRefusedInOpenAiShape) {
  start();
  const auto refused = [this](const std::string& body) {
    const auto answer = client_->Post("/v1/completions", body, "application/json");
    EXPECT_EQ(answer->status, 400) << body;
    return json::parse(answer->body)["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refused("{\"prompt\":"), HasSubstr("not JSON"));
  EXPECT_THAT(refused(R"({"prompt":[4096]})"), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(refused(json{{"prompt", make_prompt(399, 0)}, {"max_tokens", 2}}.dump()),
              HasSubstr("limit of 400"));
  const auto unknown = client_->Get("/v2/other");
  EXPECT_EQ(unknown->status, 404);
  EXPECT_THAT(json::parse(unknown->body)["error"]["message"].get<std::string>(),
              HasSubstr("/v1/completions"));
  EXPECT_EQ(client_->Get("/health")->status, 200);
  EXPECT_EQ(json::parse(client_->Get("/version")->body)["version"], "0.1.0");
  EXPECT_EQ(json::parse(client_->Get("/v1/models")->body)["data"][0]["max_model_len"], 400);
}

// The status line of an answer to bytes sent as they are.
std::string raw_exchange(int port, const std::string& request) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return "no connection";
  if (send(socket.get(), request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()))
    return "not sent";
  std::string answer(64, '\0');
  const ssize_t got = recv(socket.get(), answer.data(), answer.size(), 0);
  answer.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return answer.substr(0, answer.find("\r\n"));
}

TEST_F(EngineTest, APostWithoutLengthHasNoBody) {
  start({}, false);
  EXPECT_THAT(raw_exchange(port_, "POST /reset_prefix_cache HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("200"));
  EXPECT_THAT(raw_exchange(port_, "POST /v1/completions HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("411"));
}

TEST_F(EngineTest, ResetIsRefusedWhileARequestRunsAndAClientThatGoesEndsItsRequest) {
  Misbehaviour slow;
  slow.slow_ms = 20;
  start(slow, false);
  auto busy = std::make_unique<httplib::Client>("127.0.0.1", port_);
  const json body = {
      {"prompt", make_prompt(20, 0)}, {"max_tokens", 300}, {"stream", true}, {"ignore_eos", true}};
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body = body.dump();
  int events = 0;
  httplib::Client other("127.0.0.1", port_);
  request.content_receiver = [&](const char*, size_t, uint64_t, uint64_t) {
    if (++events == 2) {
      EXPECT_EQ(other.Post("/reset_prefix_cache", "", "application/json")->status, 409);
    }
    return events < 3;
  };
  httplib::Response response;
  httplib::Error error{};
  busy->send(request, response, error);
  busy.reset();
  int status = 409;
  for (int i = 0; i < 200 && status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = other.Post("/reset_prefix_cache", "", "application/json")->status;
  }
  EXPECT_EQ(status, 200) << "the request was taken out long before its 300 tokens";
  EXPECT_THAT(client_->Get("/metrics")->body, HasSubstr("finished_reason=\"abort\"} 1"));
}

struct Death {
  Misbehaviour wrong;
  const char* says;
};
class EngineDeath : public EngineTest, public testing::WithParamInterface<Death> {};

TEST_P(EngineDeath, FailsRequestsAndSaysWhy) {
  start(GetParam().wrong);
  const auto answer =
      post({{"prompt", make_prompt(40, 0)}, {"max_tokens", 20}, {"ignore_eos", true}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_THAT(json::parse(answer->body)["error"]["message"].get<std::string>(),
              HasSubstr(GetParam().says));
  EXPECT_THAT(ended_.get_future().get(), HasSubstr(GetParam().says));
  EXPECT_EQ(client_->Get("/health")->status, 503);
  EXPECT_EQ(post({{"prompt", {1}}})->status, 503);
  EXPECT_EQ(client_->Post("/reset_prefix_cache", "", "application/json")->status, 503);
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineDeath,
                         testing::Values(Death{{1, 4, true, false, false, 0}, "rank 1"},
                                         Death{{0, 4, false, true, false, 0}, "out of luck"},
                                         Death{{1, 4, false, false, true, 0},
                                               "rank 1 disagrees with rank 0"}));

TEST_F(EngineTest, ShutdownReachesRanksAndServer) {
  start();
  engine_->request_stop();
  engine_->join();
  EXPECT_EQ(ended_.get_future().get(), "");
  for (int i = 0; i < 200 && cluster_->shutdowns < ranks + 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cluster_->shutdowns, ranks + 1);
}

TEST(HttpServerPorts, APortInUseIsNamed) {
  HttpServer first, second;
  const int port = first.bind("127.0.0.1", 0);
  EXPECT_GT(port, 0);
  try {
    second.bind("127.0.0.1", port);
    FAIL() << "two servers share a port";
  } catch (const BindError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(std::to_string(port)), HasSubstr("--port")));
  }
}

} // namespace
} // namespace hitproof::engine::test
