// `hitproof run`: preload and recorder around any program.
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/plain_json.h"
#include "cli/process.h"
#include "cli/recorder.h"
#include "schema/archive.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::cli {
namespace {

using schema::Status;

struct RunCommand : Command {
  std::string out;
  ProbeOptions probes;
  bool cross_check = false;
  std::vector<std::string> program;

  const char* name() const override { return "run"; }
  const char* summary() const override {
    return "Run a program under the probe and record what it does";
  }
  const char* examples() const override {
    return "  hitproof run --out out/mine -- ./my_server --port 8000\n"
           "  hitproof run --out out/mine --probes metadata -- python3 serve.py\n"
           "  hitproof run --out out/check --cross-check --probes metadata -- python3 serve.py\n"
           "  hitproof inspect out/mine\n";
  }
  void add(CLI::App& app) override {
    app.add_option("--out", out, "Folder of the recording; must not exist or be empty")
        ->type_name("DIR")
        ->required();
    app.add_option("--probes", probes.probes,
                   "What the probe does: all, digests (of announced pages at both ends, nothing "
                   "else), metadata (calls and announcements only) or nothing")
        ->check(CLI::IsMember({"all", "digests", "metadata", "off"}))
        ->capture_default_str();
    app.add_option("--save-delay-ms", probes.save_delay_ms,
                   "Delay put into every announced save, milliseconds")
        ->check(CLI::Range(0, 60000))
        ->capture_default_str();
    app.add_flag(
        "--cross-check", cross_check,
        "Count the bytes of copies by CUPTI as well, for rule crosscheck; slower, on a GPU "
        "only, and with --probes metadata, because page work makes copies of its own");
    app.add_option("COMMAND", program, "The program and its arguments, after --")
        ->type_name("COMMAND")
        ->required();
  }

  void print_json(int status) const {
    PlainValue code, signal;
    if (WIFEXITED(status)) code = std::int64_t{WEXITSTATUS(status)};
    if (WIFSIGNALED(status)) signal = std::int64_t{WTERMSIG(status)};
    std::cout << plain_json({{"archive", out},
                             {"program", program},
                             {"exit_code", code},
                             {"signal", signal},
                             {"next", "hitproof audit " + out}});
  }

  int run() override {
    if (cross_check && probes.probes != "metadata") {
      complain("--cross-check counts every copy, and page work makes copies of its own",
               "give --probes metadata as well");
      return exit_usage;
    }
    // The loader would only warn, and the recording would be empty.
    const std::string probe = beside_program("../lib/hitproof/libhitproof.so");
    if (probes.probes != "off" && access(probe.c_str(), R_OK) != 0) {
      complain("the probe " + probe + " cannot be read",
               "make programs builds it; an installed program needs the folder lib/hitproof beside "
               "its bin");
      return exit_usage;
    }
    auto created = Recorder::create(out);
    if (!created.ok()) {
      complain(created.status().message(),
               "name with --out a new folder on a disk with room, where you may write");
      return exit_usage;
    }
    Recorder& recorder = **created;
    watch_interrupts();
    recorder.start();
    ProcessOptions options;
    options.command = program;
    options.set_env = recorder.environment(probes);
    options.stdout_on_stderr = common.json; // stdout holds the document alone
    if (cross_check) options.set_env["HITPROOF_CUPTI"] = "1";
    if (probes.probes != "off") {
      const char* before = std::getenv("LD_PRELOAD");
      options.set_env["LD_PRELOAD"] =
          recorder.preload() + (before && *before ? std::string(":") + before : "");
    }
    Process process;
    if (Status s = process.start(options); !s.ok()) {
      complain(s.message(), s.code() == schema::Code::not_found
                                ? "name a program that exists, after --"
                                : "raise the limit that is met (ulimit -a shows all), and run it "
                                  "again with another --out");
      return exit_usage;
    }
    bool told = false;
    while (process.running()) {
      if (interrupted() && !told) {
        process.send_signal(SIGTERM);
        told = true;
      }
      usleep(20000);
    }
    const int status = process.status();
    Status stored = recorder.with_recording([&](schema::Recording& r) {
      return r.put_process_exit(static_cast<uint32_t>(process.pid()), "program",
                                WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    });
    if (stored.ok()) stored = recorder.finish("completed");
    if (stored.ok()) {
      auto archive = schema::close_archive(recorder.dir());
      if (!archive.ok()) stored = archive.status();
    }
    if (!stored.ok()) {
      complain("the recording could not be closed: " + stored.message(),
               "hitproof inspect " + out + " shows what is there");
      return exit_usage;
    }
    if (common.json) print_json(status);
    if (!common.quiet)
      std::fprintf(stderr, "hitproof: %s %s; recorded in %s\nhitproof: next: hitproof audit %s\n",
                   program[0].c_str(), describe_exit(status).c_str(), out.c_str(), out.c_str());
    // The program's own exit code is the answer, as with env(1) or nohup(1).
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

} // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

} // namespace hitproof::cli
