// gpu_routes ROUTE: moves bytes between host and device by one of the routes that serving engines
// use, and prints what it moved. `gpu_routes` alone lists the routes.
#include "tests/gpu/routes/ledger.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::routes {

void Ledger::print(const char* route) const {
  std::printf("{\"route\":\"%s\",\"process\":%d,\"copies\":[", route, static_cast<int>(getpid()));
  const char* comma = "";
  for (const Copy& c : copies_) {
    std::printf("%s[%llu,%llu,%llu,%d]", comma, static_cast<unsigned long long>(c.dst),
                static_cast<unsigned long long>(c.src), static_cast<unsigned long long>(c.bytes),
                static_cast<int>(c.direction));
    comma = ",";
  }
  std::printf("],\"orders\":{");
  comma = "";
  for (const auto& [op, times] : orders_) {
    std::printf("%s\"%d\":%d", comma, op, times);
    comma = ",";
  }
  std::printf("},\"kernel\":\"%s\"}\n", kernel_.c_str());
  std::fflush(stdout);
}

void check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "gpu_routes: %s: error %d\n", what, result);
  std::exit(1);
}

int run_self(const std::vector<std::string>& arguments) {
  char self[4096] = {};
  check(readlink("/proc/self/exe", self, sizeof self - 1) < 0, "readlink");
  std::vector<char*> argv{self};
  std::vector<std::string> copies = arguments;
  for (std::string& a : copies)
    argv.push_back(a.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execv(self, argv.data());
    _exit(127);
  }
  int status = 0;
  check(child < 0 || waitpid(child, &status, 0) != child, "fork");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string hex(const void* data, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(data)[i]);
    text += two;
  }
  return text;
}

void from_hex(const char* text, void* data, std::size_t bytes) {
  check(std::strlen(text) != 2 * bytes, "handle");
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned value = 0;
    check(std::sscanf(text + 2 * i, "%2x", &value) != 1, "handle");
    static_cast<unsigned char*>(data)[i] = static_cast<unsigned char>(value);
  }
}

void* driver_symbol(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  check(library == nullptr, "libcuda.so.1");
  void* found = dlsym(library, name);
  check(found == nullptr, name);
  return found;
}

Buffers::Buffers(std::size_t n) : bytes(n) {
  void *a = nullptr, *b = nullptr, *c = nullptr;
  check(cudaMalloc(&a, n), "cudaMalloc");
  check(cudaMalloc(&b, n), "cudaMalloc");
  check(cudaMallocHost(&c, n), "cudaMallocHost");
  device = static_cast<unsigned char*>(a);
  other_device = static_cast<unsigned char*>(b);
  pinned = static_cast<unsigned char*>(c);
}

} // namespace hitproof::routes

int main(int argc, char** argv) {
  using namespace hitproof::routes;
  for (const auto* list : {&copy_routes, &lookup_routes, &graph_routes, &order_routes,
                           &memory_routes, &per_thread_routes}) {
    for (const Named& named : *list) {
      // What begins with an underscore is the other process of a route.
      if (argc < 2) {
        if (named.name[0] != '_') std::printf("%s\n", named.name);
        continue;
      }
      if (std::strcmp(argv[1], named.name) != 0) continue;
      int devices = 0;
      if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "gpu_routes: no CUDA device on this machine\n");
        return 77;
      }
      Ledger ledger;
      named.route(ledger, argc - 2, argv + 2);
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      ledger.print(named.name);
      return 0;
    }
  }
  return argc < 2 ? 0 : 2;
}
