// `hitproof serve`: the reference runtime alone, in the foreground, until it is told to end.
#include "cli/command.h"
#include "cli/engine_client.h"
#include "cli/interrupt.h"
#include "cli/plain_json.h"
#include "cli/study/breaks.h"
#include "cli/study/device_options.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <sys/wait.h>
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
    add_preset_option(app, engine.preset, "Dimensions of the model");
    add_device_options(app, engine.device, engine.gpus);
    add_rank_options(app, engine.tp, engine.collectives);
    app.add_option("--external-bytes", engine.external_bytes,
                   "Host memory of the external cache; takes suffixes such as 512M, 2G")
        ->type_name("BYTES")
        ->transform(CLI::AsSizeValue(false))
        ->transform(CLI::Validator( // the last one runs first
            [](std::string& size) {
              return size.starts_with('-') ? size + " is no size" : std::string();
            },
            ""));
    app.add_option("--port", engine.port, "Port on 127.0.0.1; 0 takes a free one and prints it")
        ->check(CLI::Range(0, 65535))
        ->capture_default_str();
    app.add_option("--lookup", engine.lookup, "External lookup: strict, or full (the faulty one)")
        ->check(CLI::IsMember({"strict", "full"}))
        ->capture_default_str();
    app.add_option("--seed", engine.weight_seed, "Seed of the weights")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    std::vector<std::string> breaks;
    for (const auto& spec : break_specs())
      breaks.push_back(spec.name);
    app.add_option("--break", engine.break_name, "Break the engine on purpose")
        ->check(CLI::IsMember(breaks));
    app.add_flag("--no-connector", no_connector, "No external cache");
  }
  // One document as soon as the engine listens; its own words go to stderr.
  int serve_with_json(const std::vector<std::string>& command) const {
    watch_interrupts();
    ProcessOptions options;
    options.command = command;
    options.capture_stdout = true;
    Process process;
    if (const schema::Status s = process.start(options); !s.ok()) return cannot_start(s.message());
    const std::string begin = "listening on ";
    bool told = false;
    for (std::string line; process.running();) {
      if (!process.read_line(&line, 50)) {
        if (interrupted() && !told) process.send_signal(SIGTERM);
        told = told || interrupted();
      } else if (line.starts_with(begin)) {
        std::cout << plain_json({{"url", line.substr(begin.size())},
                                 {"process", std::int64_t{process.pid()}}})
                  << std::flush;
      }
    }
    const int status = process.status();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  static int cannot_start(const std::string& why) {
    complain(why, "hitproof-engine stands beside this program; make programs builds it");
    return exit_usage;
  }

  int run() override {
    engine.connector = !no_connector;
    auto command = engine_command(engine);
    if (common.json) return serve_with_json(command);
    std::vector<char*> argv;
    for (auto& word : command)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    return cannot_start("cannot start " + command[0]);
  }
};

} // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

} // namespace hitproof::cli
