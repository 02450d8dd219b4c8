// Which way the sums of ranks on GPUs take: device memory over IPC, or NCCL.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hitproof::engine {

// "ipc" or "nccl" for what was asked for: auto, ipc or nccl. Rank r is on gpus[r % size].
// auto: device memory wherever every two of the ranks' GPUs reach each other's memory, one shared
// GPU among them; NCCL where they do not and every rank has a GPU of its own.
// reaches(from, to): GPU `from` reads the memory of GPU `to`. Throws std::invalid_argument where
// nccl is asked for and ranks share a GPU (NCCL refuses that), EnvironmentError where GPUs do not
// reach each other and nothing else is left.
std::string choose_collectives(const std::string& wanted, int tp, const std::vector<int>& gpus,
                               const std::function<bool(int from, int to)>& reaches);

} // namespace hitproof::engine
