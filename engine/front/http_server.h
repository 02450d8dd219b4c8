// The engine behind HTTP: completions, health, metrics, version, models, reset of the device prefix
// cache.
//
// Routes: POST /v1/completions, GET /v1/models, GET /health, GET /metrics, GET /version, POST
// /reset_prefix_cache. Promises: every answer that is not a success is OpenAI-shaped JSON; a client
// that goes away during a stream takes its request out of the engine; a port that somebody listens
// at already is an error, never shared.
#pragma once

#include "engine/front/completions.h"
#include "engine/front/engine.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace hitproof::engine {

struct BindError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HttpServer {
 public:
  HttpServer();
  ~HttpServer();

  /// Takes a port (0: a free one) and returns it. Throws BindError with cause and remedy.
  int bind(const std::string& host, int port);
  /// Serves from threads of its own until stop().
  void serve(Engine& engine, Metrics& metrics, const ApiLimits& limits, int max_positions);
  /// Takes no more connections and waits for the handlers; the engine must have ended its requests.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace hitproof::engine
