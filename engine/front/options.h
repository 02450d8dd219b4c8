// The command line of hitproof-engine.
//
// Promise: what cannot work is refused here with the option's name and what would be right; nothing
// is started before.
#pragma once

#include "engine/runtime/breaks.h"
#include "engine/runtime/cache_server.h"
#include "engine/runtime/rank_process.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::engine {

struct FrontOptions {
  std::string preset = "tiny";
  int tp = 4;
  std::string device = "sim";
  std::vector<int> gpus = {0};      // ordinals; rank r uses gpus[r % size]
  std::string collectives = "auto"; // auto, ipc or nccl, of ranks on GPUs
  std::string host = "127.0.0.1";
  int port = 0; // 0: a free one
  uint64_t weight_seed = 1;
  uint64_t seed = 42; // choice among legal orders of the simulated device
  bool full_lookup = false;
  bool connector = true;
  std::string cache_server; // address of a running cache server; empty: one of our own
  uint64_t external_bytes = uint64_t{1} << 30;
  uint64_t instance = 0;
  std::string profile = "recorded"; // recorded, free, a file, or choices NAME=VALUE,...
  std::vector<std::string> choices; // further NAME=VALUE or RANK:NAME=VALUE
  std::string break_name;
  int num_blocks = 0; // 0: enough for max_sequences of the longest usual request
  int max_sequences = 4;
  int token_budget = 8192;
  std::string log_dir; // empty: children write to our standard error
};

struct CacheServerCommand {
  ServerOptions server;
  std::string device = "sim";
  bool keep = false;
};

struct CommandLine {
  enum class Command { none, front, rank, cache_server, describe };
  Command command = Command::none;
  int exit_code = 0; // with none: what main returns (help was shown, or the usage was wrong)
  FrontOptions front;
  RankOptions rank;
  CacheServerCommand cache_server;
  std::string device = "sim"; // of the chosen command
  std::string describe_preset = "tiny";
  int describe_tp = 4;
};

/// Parses; help goes to standard output, errors to standard error (exit code 2).
CommandLine parse_command_line(int argc, char** argv);

using Choice = std::pair<std::string, std::string>;
/// The kernel choices of each rank from --profile and --choice. Throws std::invalid_argument for an
/// unknown name, a value that no kernel has, a rank that does not exist, or a file that cannot be
/// read.
std::vector<std::vector<Choice>> profile_of_ranks(const std::string& profile,
                                                  const std::vector<std::string>& choices, int tp);

} // namespace hitproof::engine
