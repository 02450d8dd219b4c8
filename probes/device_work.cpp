#include "probes/device_work.h"

#include "probes/coverage.h"
#include "probes/cuda_abi.h"
#include "probes/intercept.h"
#include "schema/records.h"

#include <cstdlib>
#include <cstring>

namespace hitproof::probes {
namespace {

constexpr std::size_t first_closures = 1024;
Closure first[first_closures];
Closure* free_list = nullptr;
bool filled = false;
SpinLock lock;

void give_back(Closure* closure) noexcept {
  const LockGuard guard(lock);
  closure->next = free_list;
  free_list = closure;
}

void run_closure(void* raw) noexcept {
  Closure* closure = static_cast<Closure*>(raw);
  // The probe calls no CUDA from here, but what it calls must never be taken for the program's.
  const DepthGuard guard;
  closure->run(closure->state);
  give_back(closure);
}

void write_device_facts() noexcept {
  schema::rec::meta r;
  const auto put_fact = [&](const char* name, const char* value) {
    schema::set_text(r.name, name);
    schema::set_text(r.value, value);
    schema::journal(r);
  };
  using Name = int (*)(char*, int, int);
  using Version = int (*)(int*);
  char text[80] = {};
  const Name device_name = reinterpret_cast<Name>(find_driver_symbol("cuDeviceGetName"));
  if (device_name != nullptr && device_name(text, sizeof text - 1, 0) == result_success)
    put_fact("device.0", text);
  for (const char* call : {"cuDriverGetVersion", "cudaRuntimeGetVersion"}) {
    void* found = call[2] == 'D' ? find_driver_symbol(call) : find_runtime_symbol(call);
    int version = 0;
    if (found == nullptr || reinterpret_cast<Version>(found)(&version) != result_success) continue;
    char* end = text + sizeof text - 1;
    *end = '\0';
    do {
      *--end = static_cast<char>('0' + version % 10);
      version /= 10;
    } while (version != 0);
    put_fact(call[2] == 'D' ? "driver.version" : "runtime.version", end);
  }
}

} // namespace

Closure* take_closure() noexcept {
  const LockGuard guard(lock);
  if (!filled) {
    for (Closure& closure : first) {
      closure.next = free_list;
      free_list = &closure;
    }
    filled = true;
  }
  if (free_list == nullptr) return new (std::nothrow) Closure;
  Closure* closure = free_list;
  free_list = closure->next;
  return closure;
}

bool enqueue(void* stream, Closure* closure) noexcept {
  using Launch = int (*)(stream_t, host_fn, void*);
  const Launch launch = reinterpret_cast<Launch>(library_function(Hook::cuLaunchHostFunc));
  const DepthGuard guard;
  if (launch != nullptr && launch(stream, run_closure, closure) == result_success) {
    count(Counter::device_work);
    return true;
  }
  count_dropped(Counter::device_work);
  give_back(closure);
  return false;
}

BackEnd back_end() noexcept {
  static std::atomic<int> answer{-1};
  int known = answer.load(std::memory_order_acquire);
  if (known >= 0) return static_cast<BackEnd>(known);
  using Name = int (*)(char*, int, int);
  const DepthGuard guard;
  const Name device_name = reinterpret_cast<Name>(find_driver_symbol("cuDeviceGetName"));
  char text[80] = {};
  if (device_name == nullptr || device_name(text, sizeof text - 1, 0) != result_success)
    return BackEnd::unknown;
  // The simulated device says so in its name; a real one keeps its memory to itself.
  known = std::strstr(text, "(sim)") != nullptr;
  int before = -1;
  if (answer.compare_exchange_strong(before, known)) write_device_facts();
  return static_cast<BackEnd>(known);
}

void forget_device_work_after_fork() noexcept {
  // Closures of the parent's streams never run here; the pool starts again from its fixed part.
  lock.reset();
  free_list = nullptr;
  filled = false;
}

} // namespace hitproof::probes
