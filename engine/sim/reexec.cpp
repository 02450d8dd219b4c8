#include "engine/sim/reexec.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace hitproof::sim {
namespace {

constexpr const char* runtime_name = "libcudart.so.13";
constexpr const char* driver_name = "libcuda.so.1";
constexpr const char* again_variable = "HITPROOF_SIM_AGAIN"; // set by us for the second start

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) ? resolved : path;
}

// Who answers for `symbol` of the library that is loaded under `soname`; empty if it is not loaded.
std::string answering(const char* soname, const char* symbol) {
  void* library = dlopen(soname, RTLD_NOLOAD | RTLD_LAZY);
  if (!library) return {};
  Dl_info info{};
  void* at = dlsym(library, symbol);
  const bool found = at && dladdr(at, &info) && info.dli_fname;
  std::string path = found ? real_path(info.dli_fname) : std::string();
  dlclose(library);
  return path;
}

bool readable(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> entries;
  size_t begin = 0;
  while (begin < list.size()) {
    const size_t end = list.find_first_of(": ", begin);
    const size_t stop = end == std::string::npos ? list.size() : end;
    if (stop > begin) entries.push_back(list.substr(begin, stop - begin));
    begin = stop + 1;
  }
  return entries;
}

} // namespace

std::string sim_directory() {
  std::string directory;
  if (const char* given = std::getenv("HITPROOF_SIM_DIR"); given && *given) {
    directory = given;
  } else {
    const std::string program = own_program();
    const size_t slash = program.rfind('/');
    if (slash == std::string::npos) return {};
    directory = program.substr(0, slash) + "/../lib/hitproof/sim";
  }
  directory = real_path(directory);
  const bool complete =
      readable(directory + "/" + runtime_name) && readable(directory + "/" + driver_name);
  return complete ? directory : std::string();
}

std::string sim_preload(const std::string& directory, const std::string& probe_library,
                        const std::string& present) {
  std::vector<std::string> entries = split(present);
  auto append = [&](const std::string& path) {
    for (const auto& entry : entries)
      if (real_path(entry) == real_path(path)) return;
    entries.push_back(path);
  };
  if (!probe_library.empty()) append(probe_library);
  append(directory + "/" + runtime_name);
  append(directory + "/" + driver_name);
  std::string joined;
  for (const auto& entry : entries)
    joined += (joined.empty() ? "" : ":") + entry;
  return joined;
}

SimDevice check_sim_device() {
  SimDevice device;
  const std::string directory = sim_directory();
  if (directory.empty()) {
    device.message = "the simulated device's libraries (" + std::string(runtime_name) + ", " +
                     driver_name +
                     ") are not in ../lib/hitproof/sim beside this program; build "
                     "them, or name their folder in HITPROOF_SIM_DIR";
    return device;
  }
  // cudaRuntimeGetVersion and cuGetErrorName are names that no probe answers for.
  device.runtime = answering(runtime_name, "cudaRuntimeGetVersion");
  device.driver = answering(driver_name, "cuGetErrorName");
  const std::string runtime = real_path(directory + "/" + runtime_name);
  const std::string driver = real_path(directory + "/" + driver_name);
  if (device.runtime == runtime && device.driver == driver) {
    device.ok = true;
  } else {
    device.message = "the simulated device is not the one in use: " + std::string(runtime_name) +
                     " is " + (device.runtime.empty() ? "not loaded" : device.runtime) + ", " +
                     driver_name + " is " + (device.driver.empty() ? "not loaded" : device.driver);
  }
  return device;
}

SimDevice ensure_sim_device(int argc, char** argv, const std::string& probe_library) {
  SimDevice device = check_sim_device();
  const std::string directory = sim_directory();
  const bool probe_there = probe_library.empty() || [&] {
    void* probe = dlopen(probe_library.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (probe) dlclose(probe);
    return probe != nullptr;
  }();
  if (directory.empty() || (device.ok && probe_there)) return device;
  if (!probe_library.empty() && !readable(probe_library)) {
    device.ok = false;
    device.message = "the probe library " + probe_library + " cannot be read";
    return device;
  }
  // The second start carries the number of this process (exec keeps it): a child that inherits the
  // variable is another process and may start over itself.
  const std::string mark = std::to_string(getpid());
  if (const char* again = std::getenv(again_variable); again && mark == again) {
    if (device.ok) device.message = "the probe library " + probe_library + " did not load";
    device.ok = false;
    device.message += "; the program was started again with LD_PRELOAD and something else still "
                      "came first (a set-user-id program, or a library with RTLD_DEEPBIND?)";
    return device;
  }
  const char* present = std::getenv("LD_PRELOAD");
  const std::string preload = sim_preload(directory, probe_library, present ? present : "");
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(again_variable, mark.c_str(), 1);
  const std::string program = own_program();
  std::vector<char*> arguments(argv, argv + argc);
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  device.ok = false;
  device.message = "cannot start " + program + " again: " + std::strerror(errno);
  return device;
}

} // namespace hitproof::sim
