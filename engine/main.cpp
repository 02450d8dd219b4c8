// hitproof-engine: one program, one process per role.
#include "engine/describe.h"
#include "engine/front/front.h"
#include "engine/front/options.h"
#include "engine/runtime/last_words.h"
#include "engine/runtime/cache_server.h"
#include "engine/runtime/collectives_choice.h"
#include "engine/runtime/kernel_library.h"
#include "engine/runtime/nccl_library.h"
#include "engine/runtime/rank_process.h"
#include "engine/sim/reexec.h"
#include "probes/hitproof.h"

#include <cstdio>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace hitproof;

int refuse(const std::string& text) {
  std::fprintf(stderr, "hitproof-engine: %s\n", text.c_str());
  return 2;
}

// The probe's library where this process is to be recorded, else empty.
std::string probe_library() {
  const char* probes = getenv("HITPROOF_PROBES");
  if (!getenv("HITPROOF_DIR") || (probes && std::string(probes) == "off")) return {};
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "lib/hitproof/libhitproof.so")
      .lexically_normal()
      .string();
}

// Puts the process on its device and under the probe: by a preload, hence by executing once more.
// Returns what is wrong, or nothing.
std::string settle(const std::string& device, int argc, char** argv) {
  const std::string probe = probe_library();
  if (!probe.empty() && !std::filesystem::exists(probe))
    return "HITPROOF_DIR is set but the probe " + probe +
           " does not exist; build it, or set HITPROOF_PROBES=off";
  if (device == "sim") {
    const sim::SimDevice settled = sim::ensure_sim_device(argc, argv, probe);
    return settled.ok ? std::string() : settled.message;
  }
  if (probe.empty() || hitproof_mode) return {};
  const char* present = getenv("LD_PRELOAD");
  if (present && std::string(present).find(probe) != std::string::npos)
    return "the probe " + probe + " could not be preloaded";
  setenv("LD_PRELOAD", (probe + (present && *present ? ":" + std::string(present) : "")).c_str(),
         1);
  execv("/proc/self/exe", argv);
  return "cannot execute this program again under the probe";
}

// What `--device cuda` needs of this machine, looked at before anything is started; throws
// EnvironmentError. Names of the GPUs in the order given.
std::vector<std::string> look_at_gpus(const std::vector<int>& gpus, const std::string& option) {
  // The loader may have found the simulated runtime first: this program was built against it.
  const std::string runtime = sim::check_sim_device().runtime;
  if (const std::string simulated = sim::sim_directory();
      !simulated.empty() && runtime.rfind(simulated + "/", 0) == 0)
    throw engine::EnvironmentError(
        "--device cuda, and the CUDA runtime in use is the simulated one, " + runtime +
        "; take it out of LD_PRELOAD, and name the folder of the real libcudart.so.13 in "
        "LD_LIBRARY_PATH");
  std::vector<std::string> names;
  for (const int gpu : gpus) {
    engine::check_gpu(gpu, option);
    names.push_back(engine::gpu_name(gpu));
  }
  return names;
}

// The way of the ranks' sums, in place of what was asked for; NCCL is looked at before a rank needs
// it.
void settle_collectives(engine::FrontOptions& front, int tp) {
  front.collectives =
      engine::choose_collectives(front.collectives, tp, front.gpus, engine::reaches_peer);
  if (front.collectives == "nccl") (void)engine::nccl::load();
}

void settle_on_gpus(engine::CommandLine& line) {
  using Command = engine::CommandLine::Command;
  if (line.command == Command::front) {
    look_at_gpus(line.front.gpus, "--gpus");
    settle_collectives(line.front, line.front.tp);
    engine::load_cuda_kernels();
  } else if (line.command == Command::rank) {
    look_at_gpus({line.rank.gpu}, "--gpu");
    line.rank.kernels = &engine::load_cuda_kernels();
  } else {
    look_at_gpus({line.cache_server.server.gpu}, "--gpu");
    line.cache_server.server.pin_at_start = true;
  }
}

// What is not the simulated device's to choose.
void check_sim_options(engine::FrontOptions& front) {
  if (front.collectives != "auto")
    throw std::invalid_argument("--collectives " + front.collectives +
                                " is for ranks on GPUs (--device cuda); those of the simulated "
                                "device sum through the host's memory");
  front.collectives = "host";
}

std::string describe(engine::CommandLine& line) {
  std::vector<std::string> names;
  if (line.device == "cuda") {
    names = look_at_gpus(line.front.gpus, "--gpus");
    settle_collectives(line.front, line.describe_tp);
    engine::load_cuda_kernels();
  } else {
    check_sim_options(line.front);
  }
  return engine::describe_preset(line.describe_preset, line.describe_tp, names,
                                 line.front.collectives);
}

int run(int argc, char** argv) {
  engine::CommandLine line = engine::parse_command_line(argc, argv);
  using Command = engine::CommandLine::Command;
  if (line.command == Command::none) return line.exit_code;
  if (line.command == Command::describe) {
    std::printf("%s\n", describe(line).c_str());
    return 0;
  }
  if (line.command == Command::front && line.device == "sim") check_sim_options(line.front);
  if (line.command == Command::front) engine::hold_termination_signals();
  setenv("HITPROOF_SIM_SEED", std::to_string(line.front.seed).c_str(), 0);
  if (const std::string wrong = settle(line.device, argc, argv); !wrong.empty())
    return refuse(wrong);
  if (line.device == "cuda") settle_on_gpus(line);
  switch (line.command) {
  case Command::front:
    return engine::run_front(line.front);
  case Command::rank:
    return engine::run_rank(line.rank);
  case Command::cache_server:
    return engine::run_cache_server(line.cache_server.server);
  case Command::describe:
  case Command::none:
    break;
  }
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  hitproof::engine::speak_last_words_on_terminate();
  try {
    return run(argc, argv);
  } catch (...) {
    return refuse(hitproof::engine::last_words(std::current_exception()));
  }
}
