#include "engine/front/http_server.h"

#include "engine/front/tokenizer.h"
#include "engine/runtime/last_words.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <httplib.h>
#include <thread>

namespace hitproof::engine {
namespace {

constexpr size_t handler_threads = 32;
constexpr size_t max_body = size_t{64} << 20;
constexpr std::chrono::milliseconds client_check{100};

void answer_error(httplib::Response& response, const ApiError& error) {
  response.status = error.status;
  response.set_content(error_body(error), "application/json");
}

ApiError not_ready(const Engine& engine) {
  const std::string why = engine.failure();
  return {503, "service_unavailable_error",
          why.empty() ? "the engine is not ready yet; ask GET /health and try again"
                      : "the engine has ended: " + why};
}

} // namespace

class HttpServer::Impl {
 public:
  Impl() {
    // The library's default would set SO_REUSEPORT, with which two engines share a port and steal
    // each other's requests.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_tcp_nodelay(true);
    server_.set_payload_max_length(max_body);
    server_.set_keep_alive_max_count(100000);
    server_.set_keep_alive_timeout(
        1); // an idle connection holds a thread, and the shutdown, no longer than that
    server_.set_read_timeout(30);
    server_.new_task_queue = [] { return new httplib::ThreadPool(handler_threads); };
  }

  int bind(const std::string& host, int port) {
    errno = 0;
    const int bound = port == 0                          ? server_.bind_to_any_port(host)
                      : server_.bind_to_port(host, port) ? port
                                                         : -1;
    if (bound > 0) return bound;
    const int error = errno;
    std::string why = "cannot listen at " + host + " port " + std::to_string(port);
    if (error != 0) why += ": " + std::string(std::strerror(error));
    throw BindError(
        why + (error == EADDRINUSE
                   ? "; give another --port, or 0 for a free one, or end the program that has it"
                   : "; check --host and --port"));
  }

  void serve(Engine& engine, Metrics& metrics, const ApiLimits& limits, int max_positions) {
    engine_ = &engine;
    limits_ = limits;
    post("/v1/completions",
         [this](const auto& request, auto& response) { complete(request, response); });
    post("/reset_prefix_cache", [this](const auto&, auto& response) { reset(response); });
    get("/health", [this](const auto&, auto& response) {
      if (engine_->state() != Engine::State::ready) throw not_ready(*engine_);
      response.set_content("{}", "application/json");
    });
    get("/metrics", [&metrics](const auto&, auto& response) {
      response.set_content(metrics.render(), "text/plain; version=0.0.4");
    });
    get("/version", [](const auto&, auto& response) {
      response.set_content("{\"version\":\"" HITPROOF_VERSION "\"}", "application/json");
    });
    get("/v1/models", [this, max_positions](const auto&, auto& response) {
      response.set_content(models_body(limits_, started_, max_positions), "application/json");
    });
    // A POST without a length has no body (RFC 9112, 6.3), which is how curl resets the cache; the
    // library would wait for one until its time is up.
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          using Answer = httplib::Server::HandlerResponse;
          if (request.method != "POST" || request.has_header("Content-Length") ||
              request.has_header("Transfer-Encoding"))
            return Answer::Unhandled;
          guarded([this](const httplib::Request& r, httplib::Response& out) {
            if (r.path == "/reset_prefix_cache") return reset(out);
            throw ApiError(411, "invalid_request_error",
                           "POST " + r.path + " needs a body and its Content-Length");
          })(request, response);
          return Answer::Handled;
        });
    server_.set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      const int status = response.status;
      std::string why = request.method + " " + request.path + " was not understood (HTTP " +
                        std::to_string(status) + ")";
      if (status == 404)
        why = "there is no " + request.method + " " + request.path +
              " here; there are POST /v1/completions, GET /v1/models, /health, /metrics, /version "
              "and POST /reset_prefix_cache";
      if (status == 413) why = "the body is larger than " + std::to_string(max_body) + " bytes";
      answer_error(response,
                   {status, status == 404 ? "not_found_error" : "invalid_request_error", why});
    });
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    // stop() before the accept loop runs would be lost.
    while (!server_.is_running() && !stopped_early())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server_.stop();
    thread_.join();
  }

 private:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  // A handler's exceptions become answers.
  static Handler guarded(Handler handler) {
    return [handler = std::move(handler)](const httplib::Request& request,
                                          httplib::Response& response) {
      try {
        handler(request, response);
      } catch (const ApiError& error) {
        answer_error(response, error);
      } catch (const std::exception&) {
        answer_error(response, {500, "internal_error", last_words(std::current_exception())});
      }
    };
  }
  void get(const char* path, Handler handler) { server_.Get(path, guarded(std::move(handler))); }
  void post(const char* path, Handler handler) { server_.Post(path, guarded(std::move(handler))); }

  bool stopped_early() {
    // listen_after_bind returns at once where the socket has been closed under it.
    return ++stop_checks_ > 2000;
  }

  void reset(httplib::Response& response) {
    switch (engine_->reset_prefix_cache()) {
    case Engine::Reset::done:
      response.set_content("{}", "application/json");
      return;
    case Engine::Reset::busy:
      throw ApiError(409, "invalid_request_error",
                     "requests are running; reset the prefix cache when they have ended");
    case Engine::Reset::unavailable:
      throw not_ready(*engine_);
    }
  }

  void complete(const httplib::Request& request, httplib::Response& response) {
    auto parsed = std::make_shared<CompletionRequest>(parse_completion(request.body, limits_));
    if (const std::string why =
            engine_->refuse(static_cast<int32_t>(parsed->prompt.size()), parsed->max_tokens);
        !why.empty())
      throw ApiError(400, "invalid_request_error", why, "prompt");
    const auto stream = engine_->submit({parsed->prompt, parsed->max_tokens, parsed->ignore_eos,
                                         request.get_header_value("X-Request-Id")});
    if (!stream) throw not_ready(*engine_);
    const AnswerHead head{stream->request(), std::time(nullptr), limits_.model};
    if (parsed->stream) {
      answer_stream(head, parsed, stream, response);
    } else {
      answer_whole(head, *parsed, *stream, response);
    }
  }

  void answer_whole(const AnswerHead& head, const CompletionRequest& parsed, RequestStream& stream,
                    httplib::Response& response) {
    TokenEvent all;
    while (!all.last()) {
      const auto event = stream.next(std::chrono::hours(1));
      if (!event) continue;
      all.tokens.insert(all.tokens.end(), event->tokens.begin(), event->tokens.end());
      all.logits.insert(all.logits.end(), event->logits.begin(), event->logits.end());
      all.margin.insert(all.margin.end(), event->margin.begin(), event->margin.end());
      all.cached_tokens = std::max(all.cached_tokens, event->cached_tokens);
      all.finish = event->finish;
      all.error = event->error;
    }
    if (!all.error.empty())
      throw ApiError(503, "service_unavailable_error",
                     "the request was not finished: " + all.error);
    TextStream text;
    std::string shown = text.push(all.tokens);
    shown += text.finish();
    const Usage usage{static_cast<int32_t>(parsed.prompt.size()),
                      static_cast<int32_t>(all.tokens.size()), all.cached_tokens};
    response.set_content(completion_body(head, shown, all,
                                         parsed.return_token_ids ? &parsed.prompt : nullptr, usage),
                         "application/json");
  }

  void answer_stream(const AnswerHead& head, const std::shared_ptr<CompletionRequest>& parsed,
                     const std::shared_ptr<RequestStream>& stream, httplib::Response& response) {
    struct Progress {
      TextStream text;
      Usage usage;
      bool first = true, ended = false;
    };
    auto progress = std::make_shared<Progress>();
    progress->usage.prompt_tokens = static_cast<int32_t>(parsed->prompt.size());
    const auto send = [](httplib::DataSink& sink, const std::string& data) {
      const std::string event = "data: " + data + "\n\n";
      return sink.write(event.data(), event.size());
    };
    response.set_header("Cache-Control", "no-cache");
    response.set_chunked_content_provider(
        "text/event-stream",
        [=](size_t, httplib::DataSink& sink) {
          const auto event = stream->next(client_check);
          if (!event) return sink.is_writable(); // nothing new: is anybody still there?
          if (!event->error.empty()) {
            progress->ended = true;
            send(sink, error_body({503, "service_unavailable_error",
                                   "the request was not finished: " + event->error}));
            sink.done();
            return true;
          }
          Progress& p = *progress;
          p.usage.completion_tokens += static_cast<int32_t>(event->tokens.size());
          p.usage.cached_tokens = std::max(p.usage.cached_tokens, event->cached_tokens);
          std::string shown = p.text.push(event->tokens);
          if (event->last()) shown += p.text.finish();
          const bool with_prompt = p.first && parsed->return_token_ids;
          p.first = false;
          if (!send(sink, chunk_body(head, shown, *event, with_prompt ? &parsed->prompt : nullptr)))
            return false;
          if (!event->last()) return true;
          p.ended = true;
          if (!send(sink, usage_chunk_body(head, p.usage)) || !send(sink, "[DONE]")) return false;
          sink.done();
          return true;
        },
        [this, stream, progress](bool) {
          if (!progress->ended) engine_->cancel(stream->request());
        });
  }

  httplib::Server server_;
  std::thread thread_;
  Engine* engine_ = nullptr;
  ApiLimits limits_;
  int64_t started_ = std::time(nullptr);
  int stop_checks_ = 0;
};

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}
HttpServer::~HttpServer() { impl_->stop(); }
int HttpServer::bind(const std::string& host, int port) { return impl_->bind(host, port); }
void HttpServer::serve(Engine& engine, Metrics& metrics, const ApiLimits& limits,
                       int max_positions) {
  impl_->serve(engine, metrics, limits, max_positions);
}
void HttpServer::stop() { impl_->stop(); }

} // namespace hitproof::engine
