#include "engine/runtime/collectives_choice.h"

#include "engine/runtime/kernel_library.h"

#include <set>
#include <stdexcept>

namespace hitproof::engine {
namespace {

std::string list(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus)
    text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

// What keeps the ranks from using each other's memory; empty: nothing.
std::string unreachable(const std::set<int>& used, const std::function<bool(int, int)>& reaches) {
  for (const int from : used)
    for (const int to : used)
      if (from != to && !reaches(from, to))
        return "GPU " + std::to_string(from) + " cannot reach the memory of GPU " +
               std::to_string(to) + " (nvidia-smi topo -p2p r shows which can)";
  return {};
}

} // namespace

std::string choose_collectives(const std::string& wanted, int tp, const std::vector<int>& gpus,
                               const std::function<bool(int, int)>& reaches) {
  std::set<int> used;
  for (int rank = 0; rank < tp; ++rank)
    used.insert(gpus.at(static_cast<size_t>(rank) % gpus.size()));
  const bool own_gpus = used.size() == static_cast<size_t>(tp);
  if (wanted == "nccl") {
    if (own_gpus) return wanted;
    throw std::invalid_argument("--collectives nccl needs a GPU for every rank, and " +
                                std::to_string(tp) + " ranks on --gpus " + list(gpus) +
                                " share one; name " + std::to_string(tp) +
                                " different GPUs with --gpus, or use --collectives ipc");
  }
  if (wanted != "auto" && wanted != "ipc")
    throw std::invalid_argument("--collectives " + wanted + ": auto, ipc or nccl is wanted");
  const std::string obstacle = unreachable(used, reaches);
  if (obstacle.empty()) return "ipc";
  if (wanted == "auto" && own_gpus) return "nccl";
  throw EnvironmentError(obstacle + "; name GPUs that can, or one for all ranks, with --gpus" +
                         (own_gpus ? ", or use --collectives nccl" : ""));
}

} // namespace hitproof::engine
