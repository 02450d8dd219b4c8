#include "engine/runtime/nccl_library.h"

#include "engine/runtime/kernel_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace hitproof::engine::nccl {
namespace {

constexpr const char* soname = "libnccl.so.2";
constexpr int least_version = 21800;
constexpr const char* instead =
    "; name the file in HITPROOF_NCCL (the package nvidia-nccl-cu13 has it), or use "
    "--collectives ipc";

// One ring and one protocol: which of them NCCL takes by itself depends on what it measures and
// on the size of an operation. Multicast in the switches sums where nobody says in which order.
constexpr std::pair<const char*, const char*> pinned[] = {
    {"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}, {"NCCL_NVLS_ENABLE", "0"}};

std::string path_of(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

// .../nvidia/nccl/lib/libnccl.so.2 for a libtorch in .../torch/lib, where one is loaded: beside the
// folder by its name, and beside what the name is a link to.
std::vector<std::string> beside_torch() {
  void* torch = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  if (torch == nullptr) return {};
  const std::filesystem::path lib = std::filesystem::path(path_of(torch)).parent_path();
  dlclose(torch);
  const std::filesystem::path file = lib / "../../nvidia/nccl/lib" / soname;
  return {file.lexically_normal().string(), file.string()};
}

void* open_library() {
  if (const char* named = std::getenv("HITPROOF_NCCL"); named != nullptr && *named != '\0') {
    void* library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    throw EnvironmentError("HITPROOF_NCCL names a library that cannot be loaded: " +
                           std::string(dlerror()));
  }
  std::string tried;
  std::vector<std::string> paths{soname};
  for (std::string& path : beside_torch())
    paths.push_back(std::move(path));
  for (const std::string& path : paths) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    tried += (tried.empty() ? "" : "; ") + std::string(dlerror());
  }
  throw EnvironmentError("NCCL cannot be loaded: " + tried + instead);
}

template <class F> void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr)
    throw EnvironmentError(path_of(library) + " has no function " + name + instead);
}

Library open() {
  for (const auto& [name, value] : pinned)
    setenv(name, value, 0);
  void* handle = open_library();
  Library l;
  l.path = path_of(handle);
  find(handle, "ncclGetVersion", l.get_version);
  if (l.get_version(&l.version_code) != success || l.version_code < least_version)
    throw EnvironmentError(l.path + " is NCCL " + l.version() + ", needed is 2.18 or later" +
                           instead);
  find(handle, "ncclGetUniqueId", l.get_unique_id);
  find(handle, "ncclCommInitRankConfig", l.comm_init_rank_config);
  find(handle, "ncclCommGetAsyncError", l.comm_get_async_error);
  find(handle, "ncclCommAbort", l.comm_abort);
  find(handle, "ncclCommDestroy", l.comm_destroy);
  find(handle, "ncclAllReduce", l.all_reduce);
  find(handle, "ncclReduceScatter", l.reduce_scatter);
  find(handle, "ncclAllGather", l.all_gather);
  find(handle, "ncclGetErrorString", l.get_error_string);
  find(handle, "ncclGetLastError", l.get_last_error);
  return l;
}

} // namespace

std::string Library::version() const {
  return std::to_string(version_code / 10000) + "." + std::to_string(version_code / 100 % 100) +
         "." + std::to_string(version_code % 100);
}

const Library& load() {
  static const Library library = open();
  return library;
}

std::vector<std::pair<std::string, std::string>> choices(const Library& library) {
  std::vector<std::pair<std::string, std::string>> list{{"nccl_version", library.version()}};
  for (const auto& [name, value] : pinned) {
    const char* now = std::getenv(name);
    list.emplace_back(name, now == nullptr ? "" : now);
  }
  return list;
}

} // namespace hitproof::engine::nccl
