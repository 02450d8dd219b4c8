#include "cli/study/device_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace hitproof::cli {

void add_preset_option(CLI::App& app, std::string& preset, const std::string& words) {
  app.add_option("--preset", preset, words)
      ->check(CLI::IsMember({"micro", "tiny", "paper"}))
      ->capture_default_str();
}

void add_device_options(CLI::App& app, std::string& device, std::string& gpus) {
  app.add_option("--device", device,
                 "sim: the simulated device, no GPU needed; cuda: NVIDIA GPUs of compute "
                 "capability 8.0 and later")
      ->check(CLI::IsMember({"sim", "cuda"}))
      ->capture_default_str();
  app.add_option("--gpus", gpus,
                 "With --device cuda: numbers of the GPUs, as 0 or 0,1,2,3; ranks take them in "
                 "turn, and several ranks may share one")
      ->check([](const std::string& list) {
        const bool numbers = std::all_of(list.begin(), list.end(),
                                         [](char c) { return (c >= '0' && c <= '9') || c == ','; });
        return numbers && !list.empty() ? std::string() : "numbers with commas between are wanted";
      })
      ->capture_default_str();
}

void add_rank_options(CLI::App& app, std::uint32_t& tp, std::string& collectives) {
  app.add_option("--tp", tp,
                 "Tensor-parallel ranks, a process each; the checkpoint interval follows from it")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--collectives", collectives,
                 "With --device cuda, how ranks sum: ipc, through each other's device memory; "
                 "nccl, which needs a GPU for every rank; auto: ipc where the GPUs reach each "
                 "other's memory, else nccl")
      ->check(CLI::IsMember({"auto", "ipc", "nccl"}))
      ->capture_default_str();
}

} // namespace hitproof::cli
