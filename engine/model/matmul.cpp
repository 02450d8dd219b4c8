#include "engine/model/matmul.h"

#include "engine/installed_library.h"
#include "engine/model/matmul_torch.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace hitproof::engine {
namespace {

using LargeMatmul = decltype(&hitproof_large_matmul);

LargeMatmul load() {
  const std::string path = installed_library("libhitproof_matmul.so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(
        "large products need libtorch, and it cannot be loaded: " + std::string(dlerror()) +
        "; it needs about 1 GiB of memory: where that is limited, raise the limit "
        "(ulimit -v, or the container's); else build again (make build), or "
        "name its folder in LD_LIBRARY_PATH");
  void* function = dlsym(library, "hitproof_large_matmul");
  if (function == nullptr)
    throw std::runtime_error(path + " is of another build than this program; build both again");
  return reinterpret_cast<LargeMatmul>(function);
}

} // namespace

void large_matmul(const float* a, int64_t lda, int rows, const float* w, int n, int k, float* c,
                  int64_t ldc) {
  static const LargeMatmul function = load();
  function(a, lda, rows, w, n, k, c, ldc);
}

} // namespace hitproof::engine
