// What a route of gpu_routes moved, as the route itself knows it; printed as one JSON line a
// process. check_routes.py holds the recording against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hitproof::routes {

enum Direction { device_to_host = 0, host_to_device = 1, device_to_device = 2, host_to_host = 3 };

class Ledger {
 public:
  void copied(const void* dst, const void* src, std::size_t bytes, Direction direction) {
    copies_.push_back({reinterpret_cast<std::uint64_t>(dst), reinterpret_cast<std::uint64_t>(src),
                       bytes, direction});
  }
  // The recording must have exactly so many order operations of this kind (order_op.op).
  void ordered(int op, int times) { orders_[op] += times; }
  // The recording must name a kernel that has this in its name among those given host memory.
  void host_pointer_kernel(const char* name) { kernel_ = name; }
  void print(const char* route) const;

 private:
  struct Copy {
    std::uint64_t dst, src, bytes;
    Direction direction;
  };
  std::vector<Copy> copies_;
  std::map<int, int> orders_;
  std::string kernel_;
};

// Ends the program where a CUDA call failed.
void check(int result, const char* what);

using Route = void (*)(Ledger& ledger, int argc, char** argv);
struct Named {
  const char* name;
  Route route;
};
extern const std::vector<Named> copy_routes, lookup_routes, graph_routes, order_routes,
    memory_routes, per_thread_routes;

// Starts this program again with these arguments and waits for it; 0 where it did well.
int run_self(const std::vector<std::string>& arguments);
std::string hex(const void* data, std::size_t bytes);
void from_hex(const char* text, void* data, std::size_t bytes);

// A symbol of libcuda.so.1, opened at run time.
void* driver_symbol(const char* name);

// A device buffer and a pinned one of this size, alive until the process ends.
struct Buffers {
  explicit Buffers(std::size_t n);
  unsigned char *device, *other_device, *pinned;
  std::size_t bytes;
};

} // namespace hitproof::routes
