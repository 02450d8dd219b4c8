#include "engine/front/options.h"

#include "engine/model/preset.h"

#include <CLI/CLI.hpp>

namespace hitproof::engine {
namespace {

constexpr const char* clean_twin = "key-shared-server";

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

void add_device(CLI::App* app, std::string& device) {
  app->add_option("--device", device,
                  "sim: the simulated device; cuda: the libraries that the loader finds")
      ->check(CLI::IsMember({"sim", "cuda"}))
      ->capture_default_str();
}

void add_ranks(CLI::App* app, int& tp, FrontOptions& o) {
  app->add_option("--tp", tp, "Tensor-parallel ranks, a process each")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--gpus", o.gpus,
                  "With --device cuda: ordinals of the GPUs; ranks take them in turn, and several "
                  "ranks may share one")
      ->delimiter(',')
      ->check(CLI::Range(0, 63))
      ->capture_default_str();
  app->add_option("--collectives", o.collectives,
                  "With --device cuda, how ranks sum: ipc, through each other's device memory; "
                  "nccl, which needs a GPU for every rank; auto: ipc where GPUs reach each other")
      ->check(CLI::IsMember({"auto", "ipc", "nccl"}))
      ->capture_default_str();
}

CLI::App* add_front(CLI::App& app, FrontOptions& o, std::string& device) {
  CLI::App* front = app.add_subcommand(
      "front", "HTTP, scheduler and block manager; starts ranks and cache server");
  front->add_option("--preset", o.preset, "Dimensions of the model: " + joined(preset_names()))
      ->check(CLI::IsMember(preset_names()))
      ->capture_default_str();
  add_device(front, device);
  add_ranks(front, o.tp, o);
  front->add_option("--host", o.host, "Address to listen at")->capture_default_str();
  front
      ->add_option("--port", o.port,
                   "Port; 0 takes a free one. The address is printed on standard output")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  front->add_option("--weight-seed", o.weight_seed, "Seed of the weights")->capture_default_str();
  front->add_option("--seed", o.seed, "Seed of the simulated device's choices among legal orders")
      ->capture_default_str();
  front
      ->add_option_function<std::string>(
          "--lookup", [&o](const std::string& mode) { o.full_lookup = mode == "full"; },
          "External lookup: strict (B = p <= N - 1) or full (the faulty upstream behaviour)")
      ->check(CLI::IsMember({"strict", "full"}));
  front
      ->add_option_function<std::string>(
          "--connector", [&o](const std::string& mode) { o.connector = mode == "on"; },
          "External cache: on, or off for a control arm")
      ->check(CLI::IsMember({"on", "off"}));
  front->add_option(
      "--cache-server", o.cache_server,
      "Address of a running cache server (a path or @name) to use instead of an own one");
  front
      ->add_option("--external-bytes", o.external_bytes,
                   "Memory of the own cache server; takes suffixes such as 512M, 2G")
      ->transform(CLI::AsSizeValue(false));
  front
      ->add_option("--instance", o.instance,
                   "Number of this engine at a shared cache server; 0 makes one")
      ->capture_default_str();
  front
      ->add_option(
          "--profile", o.profile,
          "Kernel choices: recorded, free, a file of NAME = VALUE lines, or NAME=VALUE,...")
      ->capture_default_str();
  front
      ->add_option("--choice", o.choices,
                   "One more kernel choice, NAME=VALUE or RANK:NAME=VALUE; may be repeated")
      ->allow_extra_args(false);
  std::vector<std::string> breaks = break_names();
  breaks.emplace_back(clean_twin);
  front->add_option("--break", o.break_name, "Break the engine on purpose: " + joined(breaks))
      ->check(CLI::IsMember(breaks));
  front
      ->add_option("--blocks", o.num_blocks,
                   "Cache blocks of the pool, the null block included; 0: enough for --max-seqs "
                   "long requests")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  front->add_option("--max-seqs", o.max_sequences, "Sequences that run at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  front->add_option("--token-budget", o.token_budget, "Rows of a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  front->add_option("--log-dir", o.log_dir, "Folder for the logs of ranks and cache server");
  return front;
}

CLI::App* add_rank(CLI::App& app, RankOptions& o, std::string& device) {
  CLI::App* rank = app.add_subcommand("rank", "One tensor-parallel rank; started by the front");
  rank->add_option("--rank", o.rank, "Number of the rank")->required();
  rank->add_option("--front-fd", o.front_fd, "Inherited socket to the front")->required();
  rank->add_option("--collectives-fd", o.collectives_fd,
                   "Inherited memory of the collectives; -1 for one rank")
      ->capture_default_str();
  add_device(rank, device);
  rank->add_option("--gpu", o.gpu, "Ordinal of its GPU")->capture_default_str();
  return rank;
}

CLI::App* add_cache_server(CLI::App& app, CacheServerCommand& o, std::string& device) {
  CLI::App* server = app.add_subcommand(
      "cache-server", "The external cache; says on standard error where it listens");
  server->add_option("--listen", o.server.listen,
                     "Address: a path, or @name for one that leaves nothing behind");
  server
      ->add_option("--listen-fd", o.server.listen_fd,
                   "Inherited listening socket, instead of --listen")
      ->capture_default_str();
  server
      ->add_option("--bytes", o.server.limit_bytes,
                   "Pinned host memory; takes suffixes such as 512M, 2G")
      ->transform(CLI::AsSizeValue(false));
  server->add_option("--break", o.server.break_name, "Break in force for every rank");
  server->add_flag("--keep", o.keep, "Stay when the last front has gone, until SIGTERM");
  add_device(server, device);
  server->add_option("--gpu", o.server.gpu, "Ordinal of a GPU that it may use before ranks come")
      ->capture_default_str();
  return server;
}

} // namespace

CommandLine parse_command_line(int argc, char** argv) {
  CommandLine out;
  CLI::App app(
      "The reference runtime of Hitproof: a serving engine whose cache transfers can be watched.",
      "hitproof-engine");
  app.set_version_flag("--version", "hitproof-engine " HITPROOF_VERSION);
  app.require_subcommand(1);
  app.footer("Example: hitproof-engine front --preset micro --port 8000");
  const CLI::App* front = add_front(app, out.front, out.device);
  const CLI::App* rank = add_rank(app, out.rank, out.device);
  const CLI::App* server = add_cache_server(app, out.cache_server, out.device);
  CLI::App* describe =
      app.add_subcommand("describe", "Dimensions of a preset, and the device's name, as JSON");
  describe->add_option("--preset", out.describe_preset, "Name of the preset")
      ->capture_default_str();
  add_device(describe, out.device);
  add_ranks(describe, out.describe_tp, out.front);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    out.exit_code = app.exit(error) == 0 ? 0 : 2;
    return out;
  }
  using Command = CommandLine::Command;
  out.command = front->parsed()    ? Command::front
                : rank->parsed()   ? Command::rank
                : server->parsed() ? Command::cache_server
                                   : Command::describe;
  out.front.device = out.device;
  out.cache_server.device = out.device;
  out.cache_server.server.exit_with_front = !out.cache_server.keep;
  // The clean twin of the key break runs both engines and their server unbroken.
  for (std::string* name : {&out.front.break_name, &out.cache_server.server.break_name})
    if (*name == clean_twin) name->clear();
  return out;
}

} // namespace hitproof::engine
