// `hitproof serve`: the reference runtime alone, in the foreground, until it is told to end.
#include "cli/command.h"
#include "cli/engine_client.h"
#include "cli/study/device_options.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

namespace hitproof::cli {
namespace {

struct ServeCommand : Command {
  EngineOptions engine;
  bool no_connector = false;

  const char* name() const override { return "serve"; }
  const char* summary() const override {
    return "Run the reference runtime and serve completions over HTTP";
  }
  const char* examples() const override {
    return "  hitproof serve --preset tiny --port 8000\n"
           "  hitproof run --out out/mine -- hitproof serve --preset micro --port 8000\n"
           "  curl -s http://127.0.0.1:8000/v1/completions -d '{\"prompt\": \"Hello\", "
           "\"max_tokens\": 8}'\n";
  }
  void add(CLI::App& app) override {
    app.add_option("--preset", engine.preset, "Dimensions of the model: micro, tiny or paper")
        ->capture_default_str();
    add_device_options(app, engine.device, engine.gpus);
    add_rank_options(app, engine.tp, engine.collectives);
    app.add_option("--external-bytes", engine.external_bytes,
                   "Host memory of the external cache; takes suffixes such as 512M, 2G")
        ->transform(CLI::AsSizeValue(false));
    app.add_option("--port", engine.port, "Port on 127.0.0.1; 0 takes a free one and prints it")
        ->capture_default_str();
    app.add_option("--lookup", engine.lookup, "External lookup: strict, or full (the faulty one)")
        ->check(CLI::IsMember({"strict", "full"}))
        ->capture_default_str();
    app.add_option("--seed", engine.weight_seed, "Seed of the weights")->capture_default_str();
    app.add_option("--break", engine.break_name,
                   "Break the engine on purpose (see hitproof study boundary --help)");
    app.add_flag("--no-connector", no_connector, "No external cache");
  }
  int run() override {
    engine.connector = !no_connector;
    auto command = engine_command(engine);
    std::vector<char*> argv;
    for (auto& word : command)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    complain("cannot start " + command[0], "build it with: make build");
    return exit_usage;
  }
};

} // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

} // namespace hitproof::cli
