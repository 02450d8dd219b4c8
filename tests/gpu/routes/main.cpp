// gpu_routes ROUTE: moves bytes between host and device by one of the routes that serving engines
// use, and prints what it did. `gpu_routes` alone lists the routes. Exit code 77: this machine has
// no device, or not what the route needs.
#include "tests/gpu/routes/ledger.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::routes {
namespace {

std::vector<Named>& all_routes() {
  static std::vector<Named> routes;
  return routes;
}

} // namespace

Routes::Routes(std::vector<Named> list) {
  all_routes().insert(all_routes().end(), list.begin(), list.end());
}

void check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "gpu_routes: %s: error %d\n", what, result);
  std::exit(1);
}

void skip(const char* why) {
  std::fprintf(stderr, "skipped: %s\n", why);
  std::exit(77);
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

unsigned char pattern(std::size_t i) { return static_cast<unsigned char>(31 * i + 7); }

Buffers::Buffers(Ledger& ledger, std::size_t n) : bytes(n) {
  const auto device_buffer = [&](const char* name, int value) {
    void* p = nullptr;
    check(cudaMalloc(&p, n), "cudaMalloc");
    ledger.name(name, p, n);
    check(cudaMemset(p, value, n), "cudaMemset");
    ledger.copied(
        {.call = "cudaMemset", .dst = p, .src = nullptr, .bytes = n, .direction = no_direction});
    return static_cast<unsigned char*>(p);
  };
  device = device_buffer("device", 0x11);
  other_device = device_buffer("other_device", 0x22);
  void* p = nullptr;
  check(cudaMallocHost(&p, n), "cudaMallocHost");
  ledger.name("pinned", p, n);
  ledger.result_at_end("pinned", p, n);
  pinned = static_cast<unsigned char*>(p);
  for (std::size_t i = 0; i < n; ++i)
    pinned[i] = pattern(i);
}

cudaStream_t make_stream(Ledger& ledger, const std::string& name) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  ledger.name(name, stream);
  ledger.ordered({.call = "cudaStreamCreate", .op = stream_create, .stream = stream});
  return stream;
}

cudaEvent_t make_event(Ledger& ledger, const std::string& name, unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  ledger.name(name, event);
  ledger.ordered({.call = "cudaEventCreateWithFlags", .op = event_create, .event = event});
  return event;
}

void synchronize(Ledger& ledger, cudaStream_t stream) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  ledger.ordered({.call = "cudaStreamSynchronize", .op = stream_synchronize, .stream = stream});
}

void copy_async(Ledger& ledger, void* dst, const void* src, std::size_t bytes, Direction direction,
                cudaStream_t stream) {
  const cudaMemcpyKind kind = direction == host_to_device   ? cudaMemcpyHostToDevice
                              : direction == device_to_host ? cudaMemcpyDeviceToHost
                                                            : cudaMemcpyDeviceToDevice;
  check(cudaMemcpyAsync(dst, src, bytes, kind, stream), "cudaMemcpyAsync");
  ledger.copied({.call = "cudaMemcpyAsync",
                 .dst = dst,
                 .src = src,
                 .bytes = bytes,
                 .direction = direction,
                 .stream = stream});
}

namespace {

int list() {
  // What begins with an underscore is the other process of a route.
  for (const Named& named : all_routes())
    if (named.name[0] != '_') std::printf("%s\n", named.name);
  return 0;
}

int run(int argc, char** argv) {
  for (const Named& named : all_routes()) {
    if (std::strcmp(argv[1], named.name) != 0) continue;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      skip("no CUDA device on this machine");
    Ledger ledger;
    named.route(ledger, argc - 2, argv + 2);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ledger.ordered({.call = "cudaDeviceSynchronize", .op = device_synchronize});
    ledger.finish();
    ledger.print(named.name);
    return 0;
  }
  std::fprintf(stderr, "gpu_routes: no route %s; gpu_routes alone lists them\n", argv[1]);
  return 2;
}

} // namespace
} // namespace hitproof::routes

int main(int argc, char** argv) {
  return argc < 2 ? hitproof::routes::list() : hitproof::routes::run(argc, argv);
}
