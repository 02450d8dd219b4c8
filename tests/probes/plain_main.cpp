// A program linked to no CUDA library: it loads them with the flags and from the paths that it is
// given.
//   plain <flags: now,lazy,global,local,nodelete,deepbind joined by +> <libcudart>...
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace {

int flags_of(const char* text) {
  int flags = 0;
  const auto has = [text](const char* word) { return std::strstr(text, word) != nullptr; };
  flags |= has("lazy") ? RTLD_LAZY : RTLD_NOW;
  if (has("global")) flags |= RTLD_GLOBAL;
  if (has("nodelete")) flags |= RTLD_NODELETE;
  if (has("deepbind")) flags |= RTLD_DEEPBIND;
  return flags;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 91;
  for (int i = 2; i < argc; ++i) {
    void* runtime = dlopen(argv[i], flags_of(argv[1]));
    if (runtime == nullptr) {
      std::fprintf(stderr, "plain: %s\n", dlerror());
      return 90;
    }
    const auto allocate =
        reinterpret_cast<int (*)(void**, std::size_t)>(dlsym(runtime, "cudaMalloc"));
    const auto copy = reinterpret_cast<int (*)(void*, const void*, std::size_t, int)>(
        dlsym(runtime, "cudaMemcpy"));
    const auto release = reinterpret_cast<int (*)(void*)>(dlsym(runtime, "cudaFree"));
    if (allocate == nullptr || copy == nullptr || release == nullptr) return 92;
    void* p = nullptr;
    char out = 17, in = 0;
    if (allocate(&p, 4096) != 0 || copy(p, &out, 1, 1) != 0 || copy(&in, p, 1, 2) != 0) return 93;
    if (in != out || release(p) != 0) return 94;
  }
  std::puts("all bytes came back");
  return 0;
}
