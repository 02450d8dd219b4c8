#include "engine/sim/runtime/driver_access.h"

#include <dlfcn.h>
#include <mutex>
#include <string>

namespace hitproof::sim {
namespace {

using GetProcAddress = decltype(&::cuGetProcAddress_v2);

constexpr int self_version = 12000; // the five-argument form

template <class F>
void ask(GetProcAddress get, const char* base, int version, cuuint64_t flags, F& target) {
  void* function = nullptr;
  if (get(base, &function, version, flags, nullptr) == CUDA_SUCCESS)
    target = reinterpret_cast<F>(function);
}

void ask_all(GetProcAddress get, cuuint64_t flags, DriverCalls& calls) {
#define HITPROOF_SIM_ENTRY(base, version, symbol, twin)                                            \
  ask(get, #base, version, flags, calls.symbol);
#include "engine/sim/driver_entries.def"
#undef HITPROOF_SIM_ENTRY
}

bool complete(const DriverCalls& calls) {
#define HITPROOF_SIM_ENTRY(base, version, symbol, twin)                                            \
  if (!calls.symbol) return false;
#include "engine/sim/driver_entries.def"
#undef HITPROOF_SIM_ENTRY
  return true;
}

// The driver that is loaded already, else the one beside this library. By path and not by a run
// path: a sanitizer or a hook that forwards dlopen is the caller then, and its run path would
// count.
void* open_driver() {
  constexpr const char* soname = "libcuda.so.1";
  if (void* loaded = dlopen(soname, RTLD_NOLOAD | RTLD_NOW)) return loaded;
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&driver), &self) && self.dli_fname) {
    const std::string path(self.dli_fname);
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    if (void* beside = dlopen((folder + soname).c_str(), RTLD_NOW)) return beside;
  }
  return dlopen(soname, RTLD_NOW);
}

Driver load() {
  Driver loaded;
  void* library = open_driver();
  if (!library) return loaded;
  auto first = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!first) return loaded;
  ask(first, "cuGetProcAddress", self_version, CU_GET_PROC_ADDRESS_DEFAULT,
      loaded.get_proc_address);
  if (!loaded.get_proc_address) return loaded;
  ask_all(loaded.get_proc_address, CU_GET_PROC_ADDRESS_LEGACY_STREAM, loaded.legacy);
  ask_all(loaded.get_proc_address, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
          loaded.per_thread);
  if (!complete(loaded.legacy) || !complete(loaded.per_thread)) return loaded;
  loaded.state = static_cast<cudaError_t>(static_cast<unsigned>(loaded.legacy.cuInit(0)));
  return loaded;
}

thread_local cudaError_t thread_error = cudaSuccess;
thread_local bool thread_bound = false;

CUcontext primary(const Driver& loaded, CUresult& result) {
  static std::mutex& mutex = *new std::mutex;
  static CUcontext context = nullptr;
  std::lock_guard lock(mutex);
  result = context ? CUDA_SUCCESS : loaded.legacy.cuDevicePrimaryCtxRetain(&context, 0);
  return context;
}

} // namespace

const Driver& driver() {
  // Leaked: exit handlers of the program may still call.
  static const Driver& loaded = *new Driver(load());
  return loaded;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) thread_error = error;
  return error;
}

cudaError_t last_error(bool clear) {
  const cudaError_t error = thread_error;
  if (clear) thread_error = cudaSuccess;
  return error;
}

cudaError_t bind_thread(const Driver& loaded) {
  if (loaded.state != cudaSuccess) return loaded.state;
  if (thread_bound) return cudaSuccess;
  CUcontext current = nullptr;
  CUresult result = loaded.legacy.cuCtxGetCurrent(&current);
  if (result == CUDA_SUCCESS && !current) {
    CUcontext context = primary(loaded, result);
    if (result == CUDA_SUCCESS) result = loaded.legacy.cuCtxSetCurrent(context);
  }
  thread_bound = result == CUDA_SUCCESS;
  return static_cast<cudaError_t>(static_cast<unsigned>(result));
}

} // namespace hitproof::sim
