// `hitproof demo`: the whole claim of the project in one run.
#include "audit/json.h"
#include "audit/tables.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/study/demo.h"
#include "cli/study/device_options.h"
#include "cli/study/study.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

namespace hitproof::cli {
namespace {

using schema::Status;

struct DemoCommand : Command {
  DemoOptions options;

  const char* name() const override { return "demo"; }
  const char* summary() const override {
    return "Control, candidate, faulty lookup and twelve broken engines, audited";
  }
  const char* examples() const override {
    return "  hitproof demo --out out/demo\n"
           "  hitproof audit out/demo/candidate\n";
  }
  void add(CLI::App& app) override {
    app.add_option("--out", options.out,
                   "Folder for the archives; an earlier demo there is replaced")
        ->type_name("DIR")
        ->capture_default_str();
    add_preset_option(app, options.preset, "Dimensions of the model in parts 1 and 2");
    add_device_options(app, options.device, options.gpus);
    app.add_option("--tokens", options.tokens, "Tokens to generate per operation")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
  }

  int run() override {
    options.quiet = common.quiet;
    watch_interrupts();
    auto made = run_demo(options);
    if (!made.ok()) {
      std::string remedy = remedy_of_refusal(made.status(), options.out);
      if (!remedy.empty()) remedy += "; ";
      complain(made.status().message(), remedy + "hitproof inspect on the folders under " +
                                            options.out + " shows what was recorded");
      switch (made.status().code()) {
      case schema::Code::invalid_argument:
      case schema::Code::no_space:
      case schema::Code::refused:
        return exit_usage;
      default:
        return exit_inconclusive;
      }
    }
    const DemoResult& result = *made;
    if (common.json)
      print_json(result);
    else
      print_text(result);
    return result.wrong.empty() ? exit_pass : exit_finding;
  }

  void print_text(const DemoResult& result) const {
    auto out = make_output(Format::text, std::cout, common.color);
    out->table(boundary_matrix(result));
    out->table(audit::regression_table(result.candidate));
    out->table(broken_table(result));
    out->table(caught_table(result));
    for (const auto& wrong : result.wrong)
      out->line("not as it must be: " + wrong);
    out->verdict(
        result.wrong.empty()
            ? "PASS: the strict candidate resumed every hit from the right state, full lookup was "
              "refuted at the exact "
              "boundaries and nowhere else, and each broken engine was caught by its own check."
            : "FAIL: " + std::to_string(result.wrong.size()) +
                  " of the demo's expectations did not hold.",
        "hitproof audit " + options.out + "/candidate   (also " + options.out + "/full, " +
            options.out + "/broken/save-no-wait; then hitproof verify " + options.out +
            "/candidate)");
  }

  void print_json(const DemoResult& result) const {
    nlohmann::ordered_json broken = nlohmann::ordered_json::array();
    for (const auto& row : result.broken)
      broken.push_back({{"name", row.name},
                        {"failed", row.failed},
                        {"inconclusive", row.inconclusive},
                        {"as_expected", row.wrong.empty()}});
    nlohmann::ordered_json document = {
        {"verdict", result.wrong.empty() ? "pass" : "fail"},
        {"candidate", nlohmann::ordered_json::parse(audit::to_json(result.candidate))},
        {"full", nlohmann::ordered_json::parse(audit::to_json(result.full))},
        {"broken", broken},
        {"wrong", result.wrong}};
    std::cout << document.dump(2) << "\n";
  }
};

} // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

} // namespace hitproof::cli
