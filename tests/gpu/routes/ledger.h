// What a route of gpu_routes did, as the route itself knows it; printed as one JSON line a process.
// check_routes.py holds the recording against it.
//
// Addresses and handles differ from run to run, so the line speaks of them by name ("device+1024",
// "stream1"), and what the names stand for stands apart, under "where": two runs of a route print
// the same line but for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hitproof::routes {

enum Direction { device_to_host, host_to_device, device_to_device, host_to_host, no_direction };

// As order_op.op says it.
enum OrderOp {
  event_create = 0,
  event_destroy = 1,
  event_record = 2,
  event_query = 3,
  event_synchronize = 4,
  stream_wait_event = 5,
  stream_synchronize = 6,
  stream_query = 7,
  device_synchronize = 8,
  host_function = 9,
  write_value = 10,
  wait_value = 11,
  event_export = 12,
  event_open = 13,
  stream_create = 14,
  stream_destroy = 15
};

// One row of table copy. A fill has no source and no direction.
struct Copy {
  const char* call; // hook by which it must be seen
  const void* dst;
  const void* src;
  std::size_t bytes;
  Direction direction;
  const void* stream = nullptr;
  int version = 0; // by which the pointer was asked for
  int batch_index = 0, batch_count = 1;
  int access_order = 0;
  int result = 0;
  bool graph = false; // of one launch, whose copies have no order among each other
};

// One row of table order_op.
struct Order {
  const char* call;
  OrderOp op;
  const void* stream = nullptr;
  const void* event = nullptr; // of a stream memory operation its address
  std::uint64_t value = 0;
  const void* function = nullptr; // whose address is the value
  std::string handle = {};        // name of the IPC handle
};

class Ledger {
 public:
  // What addresses and handles are called in the line.
  void name(const std::string& name, const void* value, std::size_t bytes = 1);
  void name_handle(const std::string& name, const void* handle, std::size_t bytes);

  void copied(const Copy& copy);
  void ordered(const Order& order);
  // The recording must have this row of table memory. op: as memory.op says it; bytes 0: whatever.
  void mapped(int op, const void* address, std::size_t bytes, const std::string& handle = {});
  // The recording must have this entry, with its base here.
  void registered(int entry, const void* base);
  // By the other process's export and this one's import, page 0 of its entry lies here.
  void joined(int entry, const void* address);
  // The recording must count so many launches of a kernel with this in its name as given host
  // memory.
  void host_pointer_kernel(const char* name, int launches);
  // The coverage records must name this call as looked up, and not hooked, so many times or more.
  void looked_up(const char* call, int times);
  // What the route computed or received: equal with and without the probe.
  void result(const char* name, const void* data, std::size_t bytes);
  // The same of host memory as it is when everything is done.
  void result_at_end(const char* name, const void* data, std::size_t bytes);

  void finish();

  void print(const char* route) const;

 private:
  struct Named {
    std::string name;
    std::uint64_t value;
    std::size_t bytes;
  };
  std::string described(const void* address) const;
  std::string thread() const;

  std::vector<Named> names_;
  std::map<std::string, std::string> handles_; // name, hex digits
  std::map<std::string, std::vector<std::string>> calls_;
  std::vector<std::string> facts_, results_;
  std::vector<Named> kept_;
  mutable std::map<int, std::string> threads_;
  mutable std::mutex mutex_;
};

// Ends the program where a CUDA call failed.
void check(int result, const char* what);
// Ends the program: this machine has not what the route needs.
[[noreturn]] void skip(const char* why);

using Route = void (*)(Ledger& ledger, int argc, char** argv);
struct Named {
  const char* name;
  Route route;
};
// Every file of routes adds its own before main begins.
struct Routes {
  explicit Routes(std::vector<Named> list);
};

// Starts this program again with these arguments and waits for it; 0 where it did well.
int run_self(const std::vector<std::string>& arguments);
std::string hex(const void* data, std::size_t bytes);
void from_hex(const char* text, void* data, std::size_t bytes);

// A symbol of libcuda.so.1, opened at run time.
void* driver_symbol(const char* name);

// Two device buffers and a pinned one of this size, alive until the process ends and named
// "device", "other_device" and "pinned". The pinned one holds a pattern, which is part of the
// results at the end; the device's are filled.
struct Buffers {
  Buffers(Ledger& ledger, std::size_t n);
  unsigned char *device, *other_device, *pinned;
  std::size_t bytes;
};
// What byte i of a fresh pinned buffer is.
unsigned char pattern(std::size_t i);

// Calls and their rows together.
cudaEvent_t make_event(Ledger& ledger, const std::string& name, unsigned flags);
cudaStream_t make_stream(Ledger& ledger, const std::string& name);
void synchronize(Ledger& ledger, cudaStream_t stream);
void copy_async(Ledger& ledger, void* dst, const void* src, std::size_t bytes, Direction direction,
                cudaStream_t stream = nullptr);

} // namespace hitproof::routes
