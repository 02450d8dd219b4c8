// A thin layer over the CUDA runtime's names: RAII, errors as exceptions, closures as device work.
//
// Promise: every call goes to the CUDA runtime by its linked name, so that a preloaded probe sees
// what it would see in a serving engine. Which library answers (a GPU's or the simulated device's)
// is decided by the loader, not here. Streams and events are handles (CUstream, CUevent) as the
// probe's interface takes them. All functions throw DeviceError with the call's name and the
// runtime's own text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::engine::device {

struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Handle = std::vector<uint8_t>; // bytes of an IPC handle

void select(int ordinal); // per thread
std::string name(int ordinal);

void* allocate(size_t bytes); // an error names what was asked for and what is free
// For memory that other processes open. A driver puts small allocations into one block of 2 MiB and
// exports the block; rounded up to such blocks, a handle stands for this allocation alone.
void* allocate_exported(size_t bytes);
void release(void* pointer);
void clear(void* pointer, size_t bytes); // zeros; waits for the device
struct Room {
  size_t free = 0, total = 0;
};
Room room(); // of the selected device
void* allocate_pinned(size_t bytes);
void release_pinned(void* pointer);

Handle export_memory(void* allocation);
void* import_memory(const Handle& handle);
void close_memory(void* imported);

class Stream {
 public:
  Stream(); // non-blocking: not ordered with the legacy stream
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void* get() const { return handle_; }
  void synchronize() const;
  bool idle() const; // everything enqueued has finished

 private:
  void* handle_ = nullptr;
};

class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event();

  static Event interprocess(); // without timing, as IPC requires
  static Event import(const Handle& handle);
  Handle export_handle() const;
  void record(const Stream& stream) const;
  void synchronize() const;
  bool done() const; // the work before the last record has finished
  void* get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  void* handle_ = nullptr;
};

void wait(const Stream& stream, const Event& event);

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
};
void copy_to_device(const Copy& copy, const Stream& stream);
void copy_to_host(const Copy& copy, const Stream& stream);
// One batch call; sources are read in stream order. An empty batch is no call.
void copy_batch(std::span<const Copy> copies, const Stream& stream);

// Device work: runs on the stream, in its order. The closure makes no call of this layer and does
// not throw.
void enqueue(const Stream& stream, std::function<void()> work);

} // namespace hitproof::engine::device
