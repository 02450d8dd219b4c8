#include "cli/engine_client.h"

#include <deque>
#include <fstream>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <thread>
#include <time.h>

namespace hitproof::cli {
namespace {

using nlohmann::json;
using schema::Code;
using schema::Status;

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000ULL + static_cast<uint64_t>(t.tv_nsec);
}

bool hex_to_bytes(const std::string& hex, std::array<uint8_t, 32>* out) {
  if (hex.size() != 64) return false;
  for (size_t i = 0; i < 32; ++i) {
    int value = 0;
    for (char c : hex.substr(2 * i, 2)) {
      int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) return false;
      value = value * 16 + digit;
    }
    (*out)[i] = static_cast<uint8_t>(value);
  }
  return true;
}

// "cmpl-17" -> 17
uint64_t request_number(const std::string& id) {
  size_t dash = id.rfind('-');
  return dash == std::string::npos ? 0 : std::strtoull(id.c_str() + dash + 1, nullptr, 10);
}

// One server-sent event of a completion.
Status take_event(const std::string& data, uint64_t t_ns, Completion* out) {
  json event = json::parse(data, nullptr, false);
  if (event.is_discarded())
    return Status(Code::io_error,
                  "the engine sent an event that is not JSON: " + data.substr(0, 120));
  if (event.contains("error"))
    return Status(Code::io_error,
                  "the engine reports: " + event["error"].value("message", event["error"].dump()));
  if (event.contains("id")) out->request = request_number(event["id"].get<std::string>());
  if (event.contains("usage") && event["usage"].is_object())
    out->cached_tokens =
        event["usage"].value("/prompt_tokens_details/cached_tokens"_json_pointer, 0U);
  if (!event.contains("choices") || event["choices"].empty()) return Status();
  const json& choice = event["choices"][0];
  if (!choice.contains("token_ids")) return Status();
  const json ids = choice["token_ids"];
  const json seen = choice.value("hitproof", json::object());
  for (size_t i = 0; i < ids.size(); ++i) {
    Token token;
    token.id = ids[i].get<int32_t>();
    token.t_ns = t_ns;
    if (seen.contains("logits_sha256") && i < seen["logits_sha256"].size())
      hex_to_bytes(seen["logits_sha256"][i].get<std::string>(), &token.logits_sha256);
    if (seen.contains("margin") && i < seen["margin"].size() && seen["margin"][i].is_number())
      token.margin = seen["margin"][i].get<double>();
    out->tokens.push_back(token);
  }
  return Status();
}

} // namespace

struct EngineClient::Http {
  explicit Http(const std::string& url) : client(url) {
    client.set_read_timeout(600);
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
  }
  httplib::Client client;
};

EngineClient::EngineClient() = default;
EngineClient::~EngineClient() { stop(2000); }

std::string tail_of_file(const std::string& path, int lines) {
  std::ifstream file(path);
  std::deque<std::string> last;
  for (std::string line; std::getline(file, line);) {
    last.push_back(line);
    if (static_cast<int>(last.size()) > lines) last.pop_front();
  }
  std::string text;
  for (const auto& line : last)
    text += "\n    " + line;
  return text;
}

std::vector<std::string> engine_command(const EngineOptions& o) {
  std::vector<std::string> command = {beside_program("hitproof-engine"),
                                      "front",
                                      "--preset",
                                      o.preset,
                                      "--device",
                                      o.device,
                                      "--tp",
                                      std::to_string(o.tp),
                                      "--collectives",
                                      o.collectives,
                                      "--lookup",
                                      o.lookup,
                                      "--connector",
                                      o.connector ? "on" : "off",
                                      "--weight-seed",
                                      std::to_string(o.weight_seed),
                                      "--port",
                                      std::to_string(o.port)};
  if (o.device == "cuda") command.insert(command.end(), {"--gpus", o.gpus});
  if (o.external_bytes > 0)
    command.insert(command.end(), {"--external-bytes", std::to_string(o.external_bytes)});
  if (!o.break_name.empty()) command.insert(command.end(), {"--break", o.break_name});
  if (!o.cache_server.empty()) command.insert(command.end(), {"--cache-server", o.cache_server});
  for (const auto& [name, value] : o.profile)
    command.insert(command.end(), {"--choice", name + "=" + value});
  command.insert(command.end(), o.extra.begin(), o.extra.end());
  return command;
}

Status EngineClient::dead(const std::string& during) {
  int status = process_.wait();
  // Exit code 2 is the engine's word for a machine that lacks something.
  const bool lacking = WIFEXITED(status) && WEXITSTATUS(status) == 2;
  return Status(lacking ? Code::unsupported : Code::io_error,
                "the engine " + describe_exit(status) + " during " + during + "; its log " +
                    log_path_ + " ends:" + tail_of_file(log_path_, 6));
}

Status EngineClient::start(const EngineOptions& options,
                           const std::map<std::string, std::string>& environment,
                           const std::string& log_path, int timeout_ms) {
  log_path_ = log_path;
  ProcessOptions process;
  process.command = engine_command(options);
  process.set_env = environment;
  process.log_path = log_path;
  process.capture_stdout = true;
  if (Status s = process_.start(process); !s.ok()) return s;
  const uint64_t deadline = now_ns() + static_cast<uint64_t>(timeout_ms) * 1000000ULL;
  const std::string mark = "listening on ";
  for (std::string line; url_.empty();) {
    if (!process_.read_line(&line, 200)) {
      if (!process_.running()) return dead("start-up");
      if (now_ns() > deadline)
        return Status(Code::io_error,
                      "the engine did not say its address in time; see " + log_path);
      continue;
    }
    if (size_t at = line.find(mark); at != std::string::npos) url_ = line.substr(at + mark.size());
  }
  http_ = std::make_unique<Http>(url_);
  for (;;) {
    if (auto answer = http_->client.Get("/health"); answer && answer->status == 200)
      return Status();
    if (!process_.running()) return dead("start-up");
    if (now_ns() > deadline)
      return Status(Code::io_error,
                    "the engine at " + url_ + " did not become healthy in time; see " + log_path);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status EngineClient::complete(const std::vector<int32_t>& prompt, uint32_t max_tokens,
                              const std::string& tag, Completion* out) {
  json body = {
      {"prompt", prompt}, {"max_tokens", max_tokens}, {"temperature", 0},        {"seed", 42},
      {"stream", true},   {"ignore_eos", true},       {"return_token_ids", true}};
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.set_header("Content-Type", "application/json");
  request.set_header("X-Request-Id", tag);
  request.body = body.dump();
  std::string buffer, plain;
  Status failed;
  bool finished = false;
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    const uint64_t t_ns = now_ns();
    buffer.append(data, size);
    for (size_t end; (end = buffer.find("\n\n")) != std::string::npos; buffer.erase(0, end + 2)) {
      std::string line = buffer.substr(0, end);
      if (line.rfind("data: ", 0) != 0) continue;
      line.erase(0, 6);
      if (line == "[DONE]")
        finished = true;
      else if (failed.ok())
        failed = take_event(line, t_ns, out);
    }
    return true;
  };
  out->begin_ns = now_ns();
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  const bool sent = http_->client.send(request, response, error);
  out->end_ns = now_ns();
  if (!sent) {
    // The socket closes before the process is reaped; give it a moment to say how it ended.
    for (int i = 0; i < 100 && process_.running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!process_.running()) return dead("request " + tag);
    return Status(Code::io_error, "request " + tag + " failed: " + httplib::to_string(error));
  }
  if (response.status != 200) {
    json reply = json::parse(buffer.empty() ? response.body : buffer, nullptr, false);
    std::string why = !reply.is_discarded() && reply.contains("error")
                          ? reply["error"].value("message", "")
                          : buffer;
    return Status(Code::io_error, "request " + tag + " was refused with HTTP " +
                                      std::to_string(response.status) + ": " + why);
  }
  if (!failed.ok()) return failed;
  if (!finished)
    return Status(Code::io_error, "request " + tag + ": the stream ended without its end mark");
  return Status();
}

Status EngineClient::reset_device_cache() {
  // Requests of the past may still be releasing their blocks; the engine answers 503 until they
  // have.
  for (int attempt = 0; attempt < 200; ++attempt) {
    auto answer = http_->client.Post("/reset_prefix_cache", "", "application/json");
    if (answer && answer->status == 200) return Status();
    if (!answer || (answer->status != 503 && answer->status != 409)) {
      if (!process_.running()) return dead("reset");
      return Status(Code::io_error,
                    "resetting the device prefix cache failed" +
                        (answer ? " with HTTP " + std::to_string(answer->status) : std::string()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Status(
      Code::io_error,
      "resetting the device prefix cache was refused for two seconds: requests still run");
}

int EngineClient::stop(int grace_ms) {
  if (process_.pid() <= 0 || process_.ended()) return process_.status();
  return process_.stop(grace_ms);
}

} // namespace hitproof::cli
