// NCCL, opened when it is wanted: the few functions of its C interface that the collectives call.
//
// Promise: nothing of NCCL is needed to build or to run anything else. Names, values and layouts
// are those that NCCL documents and keeps from 2.18 on. What decides the order of its sums is
// pinned in the environment before the library is opened, and can be read back for the recording.
#pragma once

#include <climits>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::engine::nccl {

enum Result : int { success = 0, in_progress = 7 }; // every other value is an error
enum DataType : int { bytes = 1, float32 = 7 };
enum ReduceOp : int { sum = 0 };

struct UniqueId {
  char content[128];
};
struct Communicator; // NCCL's own
using Comm = Communicator*;

// ncclConfig_t as of 2.18; later versions take it for what it says it is. Undefined: the default.
struct Config {
  static constexpr int undefined = INT_MIN;
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0; // calls come back with in_progress instead of waiting for peers
  int cga_cluster_size = undefined;
  int min_ctas = undefined;
  int max_ctas = undefined;
  const char* net_name = nullptr;
  int split_share = undefined;
  int no_field_yet = undefined; // later versions have one here
};

struct Library {
  Result (*get_version)(int* version) = nullptr;
  Result (*get_unique_id)(UniqueId* id) = nullptr;
  Result (*comm_init_rank_config)(Comm* comm, int size, UniqueId id, int rank,
                                  Config* config) = nullptr;
  Result (*comm_get_async_error)(Comm comm, Result* error) = nullptr;
  Result (*comm_abort)(Comm comm) = nullptr;
  Result (*comm_destroy)(Comm comm) = nullptr;
  Result (*all_reduce)(const void* send, void* receive, size_t count, DataType type, ReduceOp op,
                       Comm comm, void* stream) = nullptr;
  // receive_count: values of one rank
  Result (*reduce_scatter)(const void* send, void* receive, size_t receive_count, DataType type,
                           ReduceOp op, Comm comm, void* stream) = nullptr;
  // send_count: values of one rank
  Result (*all_gather)(const void* send, void* receive, size_t send_count, DataType type, Comm comm,
                       void* stream) = nullptr;
  const char* (*get_error_string)(Result result) = nullptr;
  const char* (*get_last_error)(Comm comm) = nullptr;

  std::string path;     // of the file that the loader took
  int version_code = 0; // 22809: 2.28.9
  std::string version() const;
};

// Opens libnccl.so.2 once: the file that HITPROOF_NCCL names, else what the loader finds, else
// nvidia/nccl/lib beside the torch folder in use. Before that it pins, where the environment says
// nothing, NCCL_ALGO=Ring, NCCL_PROTO=Simple and NCCL_NVLS_ENABLE=0. Throws EnvironmentError with
// every place that was tried; for a library older than 2.18, or one that lacks a function.
const Library& load();

// What decides the bits of a sum: the version of the library and what is pinned, as it is now.
std::vector<std::pair<std::string, std::string>> choices(const Library& library);

} // namespace hitproof::engine::nccl
