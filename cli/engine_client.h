// The reference runtime as a client sees it: start the process, ask for completions over HTTP, stop
// it.
#pragma once

#include "cli/process.h"
#include "schema/status.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hitproof::cli {

struct EngineOptions {
  std::string preset = "tiny";
  std::string device = "sim";
  std::string gpus = "0";           // with device cuda: ordinals, comma-separated
  uint32_t tp = 4;                  // ranks
  std::string collectives = "auto"; // with device cuda: auto, ipc or nccl
  std::string lookup = "strict";    // strict or full
  bool connector = true;
  uint64_t weight_seed = 1;
  std::string break_name;      // empty: healthy
  uint64_t external_bytes = 0; // host memory of its own cache server; 0: the engine's default
  std::string cache_server; // socket of a cache server shared with another engine; empty: its own
  int port = 0;             // 0: any free port
  std::map<std::string, std::string> profile; // named kernel choices; empty: the preset's own
  std::vector<std::string> extra;             // further arguments, passed as they are
};

// The command line of the front process for these options (shared by `serve` and the studies).
std::vector<std::string> engine_command(const EngineOptions& options);

struct Token {
  int32_t id = 0;
  std::array<uint8_t, 32> logits_sha256{};
  double margin = 0;
  uint64_t t_ns = 0; // CLOCK_MONOTONIC at the event that brought it
};

struct Completion {
  uint64_t request = 0; // number in the answer's id
  std::vector<Token> tokens;
  uint64_t begin_ns = 0, end_ns = 0;
  uint32_t cached_tokens = 0;
};

class EngineClient {
 public:
  EngineClient();
  ~EngineClient();

  // Starts the engine with `environment` set and waits until it answers /health. Its stderr goes to
  // `log_path`. Errors carry the last lines of the log.
  schema::Status start(const EngineOptions& options,
                       const std::map<std::string, std::string>& environment,
                       const std::string& log_path, int timeout_ms);

  // Generates exactly `max_tokens` tokens, temperature 0, EOS ignored, streamed.
  schema::Status complete(const std::vector<int32_t>& prompt, uint32_t max_tokens,
                          const std::string& tag, Completion* out);

  // Drops the device prefix cache; the external cache stays.
  schema::Status reset_device_cache();

  // Ends the engine; the wait status of its front process.
  int stop(int grace_ms = 30000);

  Process& process() { return process_; }
  const std::string& url() const { return url_; }

 private:
  struct Http;
  schema::Status dead(const std::string& during);

  Process process_;
  std::unique_ptr<Http> http_;
  std::string url_, log_path_;
};

// The last `lines` lines of a file, for error messages.
std::string tail_of_file(const std::string& path, int lines);

} // namespace hitproof::cli
