// Kernels that are given pinned host memory move bytes that no copy call shows. A launch's
// parameters are looked through for such addresses; each kernel is named once, its launches are
// counted.
//
// A process that has opened another one's memory and announces nothing (a cache server without an
// adapter) may scatter and gather pages by kernels: there each launch is a row of the order, and
// each kernel's name a fact.
#include "probes/address_map.h"
#include "probes/coverage.h"
#include "probes/observers.h"
#include "probes/process_state.h"
#include "schema/records.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace hitproof::probes {
namespace {

// What is known of a kernel: where its parameters may hold addresses. Filled in at its first
// launch, in a fixed table, so that later launches ask the driver nothing.
constexpr std::size_t room = 4096; // power of two
constexpr std::size_t max_words = 48;
struct Kernel {
  std::atomic<void*> function{nullptr};
  std::atomic<bool> ready{false};
  std::uint16_t words = 0; // parameters' words of eight bytes that are looked at
  std::uint8_t parameter[max_words];
  std::uint8_t word[max_words]; // of that parameter
  std::atomic<bool> named{false};
  std::atomic<bool> listed{false};
};
Kernel kernels[room];

// Most parameters are no addresses: sizes and flags are sorted out before the map is asked.
constexpr std::uint64_t lowest_address = 0x10000;
constexpr int address_bits = 47;

// A launch is given a function or, by newer runtimes, a kernel of a library: each has its own
// calls.
struct Driver {
  int (*parameter)(void*, std::size_t, std::size_t*, std::size_t*);
  int (*kernel_parameter)(void*, std::size_t, std::size_t*, std::size_t*);
  int (*name)(const char**, void*);
  int (*kernel_name)(const char**, void*);
};
template <class F> void find(F& function, const char* symbol) noexcept {
  function = reinterpret_cast<F>(find_driver_symbol(symbol));
}
const Driver& driver() noexcept {
  static std::atomic<bool> ready{false};
  static Driver functions;
  static SpinLock once;
  if (!ready.load(std::memory_order_acquire)) {
    const LockGuard guard(once);
    find(functions.parameter, "cuFuncGetParamInfo");
    find(functions.kernel_parameter, "cuKernelGetParamInfo");
    find(functions.name, "cuFuncGetName");
    find(functions.kernel_name, "cuKernelGetName");
    ready.store(true, std::memory_order_release);
  }
  return functions;
}

using Parameter = int (*)(void*, std::size_t, std::size_t*, std::size_t*);

void learn_from(Kernel& kernel, void* function, Parameter parameter) noexcept {
  std::size_t offset = 0, size = 0;
  for (std::size_t p = 0; parameter != nullptr && p < 256; ++p) {
    if (parameter(function, p, &offset, &size) != result_success) break;
    // Structs passed by value hold their pointers at multiples of eight.
    for (std::size_t w = 0; 8 * (w + 1) <= size && w < 256 && kernel.words < max_words; ++w) {
      kernel.parameter[kernel.words] = static_cast<std::uint8_t>(p);
      kernel.word[kernel.words++] = static_cast<std::uint8_t>(w);
    }
  }
}

void learn(Kernel& kernel, void* function) noexcept {
  learn_from(kernel, function, driver().parameter);
  if (kernel.words == 0) learn_from(kernel, function, driver().kernel_parameter);
  kernel.ready.store(true, std::memory_order_release);
}

const char* name_of(void* function) noexcept {
  const Driver& d = driver();
  const char* name = nullptr;
  if (d.name != nullptr && d.name(&name, function) == result_success) return name;
  if (d.kernel_name != nullptr && d.kernel_name(&name, function) == result_success) return name;
  return "?";
}

Kernel* kernel_of(void* function) noexcept {
  std::size_t i = (reinterpret_cast<std::uint64_t>(function) * 0x9e3779b97f4a7c15u) >> 52;
  for (std::size_t tries = 0; tries < room; ++tries, i = (i + 1) % room) {
    void* there = kernels[i].function.load(std::memory_order_acquire);
    if (there == function) return &kernels[i];
    if (there != nullptr) continue;
    if (kernels[i].function.compare_exchange_strong(there, function)) {
      learn(kernels[i], function);
      return &kernels[i];
    }
    if (there == function) return &kernels[i];
  }
  return nullptr;
}

void list_launch(const Call& call, Kernel& kernel, void* function, stream_t stream) noexcept {
  const auto number = static_cast<std::uint64_t>(&kernel - kernels);
  if (!kernel.listed.exchange(true, std::memory_order_relaxed)) {
    // Template arguments, at the end of a mangled name, tell apart what a kernel was made for.
    const char* rest = name_of(function);
    for (unsigned part = 1; part <= 3 && *rest != '\0'; ++part) {
      schema::rec::meta r;
      char name[32];
      std::snprintf(name, sizeof name, part == 1 ? "kernel.%u" : "kernel.%u.%u",
                    static_cast<unsigned>(number), part);
      const std::size_t length = std::min(std::strlen(rest), sizeof r.value - 1);
      schema::set_text(r.name, name);
      schema::set_text(r.value, std::string_view(rest, length));
      schema::journal(r);
      rest += length;
    }
  }
  launch_ordered(call, stream, number);
}

} // namespace

void kernel_launched(const Call& call, void* function, void* const* parameters,
                     stream_t stream) noexcept {
  counted(call, 0);
  if (call.result != result_success || function == nullptr) return;
  Kernel* const kernel = kernel_of(function);
  if (kernel != nullptr && has_imported_memory() && !role_announced())
    list_launch(call, *kernel, function, stream);
  if (parameters == nullptr) return;
  // Another thread is learning it: that launch is looked through, this one is its like.
  if (kernel == nullptr || !kernel->ready.load(std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < kernel->words; ++i) {
    std::uint64_t value;
    std::memcpy(&value,
                static_cast<const unsigned char*>(parameters[kernel->parameter[i]]) +
                    8 * std::size_t{kernel->word[i]},
                sizeof value);
    if (value < lowest_address || value >> address_bits != 0) continue;
    if (range_of(value).kind != Memory::host) continue;
    count(Counter::kernel_with_host_pointer, 1);
    if (kernel->named.exchange(true, std::memory_order_relaxed)) return;
    schema::rec::meta r;
    schema::set_text(r.name, "kernel.host_pointer");
    schema::set_text(r.value, name_of(function));
    schema::journal(r);
    return;
  }
}

} // namespace hitproof::probes
