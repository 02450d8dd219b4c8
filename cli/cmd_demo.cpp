// `hitproof demo`: the whole claim of the project in one run.
#include <CLI/CLI.hpp>

#include "audit/tables.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/study/demo.h"
#include "cli/study/interrupt.h"

namespace hitproof::cli {
namespace {

using schema::Status;

struct DemoCommand : Command {
  DemoOptions options;

  const char* name() const override { return "demo"; }
  const char* summary() const override { return "Control, candidate, faulty lookup and twelve broken engines, audited"; }
  const char* examples() const override {
    return "  hitproof demo --out out/demo\n"
           "  hitproof audit out/demo/candidate\n";
  }
  void add(CLI::App& app) override {
    app.add_option("--out", options.out, "Folder for the archives; an earlier demo there is replaced")->capture_default_str();
    app.add_option("--preset", options.preset, "Dimensions of the model in parts 1 and 2")->capture_default_str();
    app.add_option("--tokens", options.tokens, "Tokens to generate per operation")->check(CLI::Range(1, 4096))->capture_default_str();
  }

  int run() override {
    options.quiet = common.quiet;
    watch_interrupts();
    auto made = run_demo(options);
    if (!made.ok()) {
      complain(made.status().message(), "hitproof inspect on the folders under " + options.out + " shows what was recorded");
      return made.status().code() == schema::Code::invalid_argument ? exit_usage : exit_inconclusive;
    }
    const DemoResult& result = *made;
    show(result);
    return result.wrong.empty() ? exit_pass : exit_finding;
  }
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

}  // namespace hitproof::cli
