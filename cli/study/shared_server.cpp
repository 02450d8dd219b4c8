#include "cli/study/shared_server.h"

#include "cli/engine_client.h"
#include "cli/study/arm.h"
#include "schema/plan_operations.h"

#include <atomic>
#include <unistd.h>

namespace hitproof::cli {

using schema::Code;
using schema::Status;

Status SharedServer::start(const ArmOptions& options, const EngineOptions& engine,
                           const std::map<std::string, std::string>& environment,
                           const std::string& logs) {
  static std::atomic<int> number{0};
  address_ = "@hitproof-" + std::to_string(getpid()) + "-" + std::to_string(number++);
  ProcessOptions server;
  server.command = {beside_program("hitproof-engine"), "cache-server", "--listen", address_,
                    "--keep", "--device", engine.device, "--gpu",
                    engine.gpus.substr(0, engine.gpus.find(',')), "--bytes",
                    // Both engines keep their checkpoints there.
                    std::to_string(2 * external_bytes_for(options.plan, options.facts))};
  if (!engine.break_name.empty())
    server.command.insert(server.command.end(), {"--break", engine.break_name});
  server.set_env = environment;
  server.log_path = logs + "cache-server.log";
  server.log_stdout = true;
  if (Status s = server_.start(server); !s.ok()) return s;
  // The server says when it listens; a front that came earlier would be refused.
  for (int i = 0; tail_of_file(server.log_path, 100).find("listening") == std::string::npos; ++i) {
    if (!server_.running() || i == 3000)
      return Status(Code::io_error, "the shared cache server did not start; its log ends:" +
                                        tail_of_file(server.log_path, 6));
    usleep(10000);
  }

  EngineOptions other = engine;
  other.weight_seed = engine.weight_seed + 1;
  other.cache_server = address_;
  other.extra.insert(other.extra.end(), {"--instance", "1"});
  EngineClient primer;
  // The other engine's own processes are not part of the study; the server, which both use, is.
  if (Status s = primer.start(other, {}, logs + "other-engine.log", 600000); !s.ok()) return s;
  for (const auto& op : schema::operations_of(options.plan, "candidate")) {
    if (std::string(op.kind) != "cold") continue;
    Completion ignored;
    const auto prompt = make_prompt(op, prompt_source(options.plan, options.facts));
    const std::string tag = "other-" + std::to_string(op.length);
    if (Status s = primer.complete(prompt, 1, tag, &ignored); !s.ok()) return s;
  }
  primer.stop();
  return Status();
}

void SharedServer::stop() {
  if (server_.running()) server_.stop(10000);
}

} // namespace hitproof::cli
