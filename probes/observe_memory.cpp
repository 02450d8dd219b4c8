#include "probes/address_map.h"
#include "probes/coverage.h"
#include "probes/observers.h"
#include "schema/records.h"
#include "schema/sha256.h"

#include <atomic>

namespace hitproof::probes {
namespace {

enum MemoryOp : std::uint8_t {
  op_alloc = 0,
  op_host_alloc = 2,
  op_host_register = 4,
  op_ipc_export = 6,
  op_ipc_open = 7
};

// What `freeing` took out, for the record that is written when the call has returned. Thread-local:
// both halves run on one thread, inside one call.
thread_local constinit MappedRange taken __attribute__((tls_model("initial-exec")));

void put_memory(const Call& call, std::uint8_t op, std::uint64_t address, std::uint64_t bytes,
                const schema::Digest& handle = {}) noexcept {
  write_hook_records_once();
  schema::rec::memory r;
  r.address = address;
  r.bytes = bytes;
  r.end_ns = call.end_ns;
  r.handle = handle;
  r.call = static_cast<std::uint32_t>(call.id);
  r.op = op;
  r.device = static_cast<std::uint8_t>(thread_state.device);
  r.result = call.result;
  put(call.state(), r, call.begin_ns);
}

void map(std::uint64_t address, std::uint64_t bytes, Memory kind) noexcept {
  if (address == 0) return;
  count(Counter::addresses, 1, bytes);
  if (!add_range(address, bytes, kind)) count_dropped(Counter::addresses);
}

void mapped(const Call& call, std::uint8_t op, std::uint64_t address, std::uint64_t bytes,
            Memory kind) noexcept {
  if (call.result == result_success) map(address, bytes, kind);
  put_memory(call, op, address, bytes);
}

// Base and size of the allocation that has this address, as the driver knows it.
bool allocation_of(std::uint64_t address, std::uint64_t& base, std::uint64_t& bytes) noexcept {
  using Get = int (*)(devptr*, std::size_t*, devptr);
  const Get get = reinterpret_cast<Get>(find_driver_symbol("cuMemGetAddressRange_v2"));
  devptr b = 0;
  std::size_t n = 0;
  if (get == nullptr || get(&b, &n, address) != result_success) return false;
  base = b;
  bytes = n;
  return true;
}

std::atomic<bool> imported{false};

} // namespace

void allocated(const Call& call, std::uint64_t address, std::uint64_t bytes) noexcept {
  mapped(call, op_alloc, address, bytes, Memory::device);
}
void allocated_managed(const Call& call, std::uint64_t address, std::uint64_t bytes) noexcept {
  mapped(call, op_alloc, address, bytes, Memory::managed);
}
void host_allocated(const Call& call, std::uint64_t address, std::uint64_t bytes) noexcept {
  mapped(call, op_host_alloc, address, bytes, Memory::host);
}
void host_registered(const Call& call, void* p, std::uint64_t bytes) noexcept {
  mapped(call, op_host_register, at(p), bytes, Memory::host);
}

void forget_range(std::uint64_t address) noexcept { taken = remove_range(address); }

void gone(const Call& call, std::uint64_t address, std::uint8_t op) noexcept {
  // A refused call freed nothing: the range goes back.
  if (call.result != result_success && taken.bytes != 0)
    add_range(taken.base, taken.bytes, taken.kind);
  put_memory(call, op, address, taken.bytes);
}

void ipc_exported(const Call& call, std::uint64_t address, const IpcHandle* handle) noexcept {
  const MappedRange range = range_of(address);
  schema::Digest hash{};
  if (call.result == result_success && handle != nullptr) {
    hash = schema::sha256(handle->bytes, sizeof handle->bytes);
  }
  // A handle stands for the whole allocation, whatever address was given.
  put_memory(call, op_ipc_export, range.bytes != 0 ? range.base : address, range.bytes, hash);
}

bool has_imported_memory() noexcept { return imported.load(std::memory_order_relaxed); }

void ipc_opened(const Call& call, std::uint64_t address, const IpcHandle* handle) noexcept {
  std::uint64_t base = address, bytes = 0;
  if (address != 0 && !allocation_of(address, base, bytes)) count_dropped(Counter::addresses);
  if (address != 0 && bytes != 0) map(address, base + bytes - address, Memory::device);
  if (address != 0) imported.store(true, std::memory_order_relaxed);
  put_memory(call, op_ipc_open, address, bytes,
             handle != nullptr ? schema::sha256(handle->bytes, sizeof handle->bytes)
                               : schema::Digest{});
}

} // namespace hitproof::probes
