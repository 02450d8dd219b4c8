#include "engine/runtime/device.h"

#include "engine/sim/cudart_subset.h"

#include <cstring>
#include <memory>

namespace hitproof::engine::device {
namespace {

constexpr const char* no_memory_left =
    "; no memory left: end other programs, or raise the limit (ulimit -v, or the container's)";

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::string words = std::string(call) + ": " + cudaGetErrorString(result);
  // On the simulated device this is the machine's own memory.
  if (result == cudaErrorMemoryAllocation)
    words += no_memory_left;
  else if (std::strncmp(call, "cudaIpc", 7) == 0)
    words += "; the process that shares it has ended (its log says why), or this machine or "
             "container keeps its processes from sharing GPU memory: run them in "
             "one container with a common /dev/shm (docker run --ipc=host), as one user, and not "
             "under WSL";
  throw DeviceError(words);
}

std::string mebibytes(size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

cudaStream_t stream_of(const Stream& stream) { return static_cast<cudaStream_t>(stream.get()); }

template <class H> Handle to_bytes(const H& handle) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&handle);
  return Handle(begin, begin + sizeof handle);
}

template <class H> H from_bytes(const Handle& bytes) {
  if (bytes.size() != sizeof(H)) throw DeviceError("an IPC handle has the wrong length");
  H handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  return handle;
}

void run_closure(void* data) {
  const std::unique_ptr<std::function<void()>> work(static_cast<std::function<void()>*>(data));
  (*work)();
}

} // namespace

void select(int ordinal) { check(cudaSetDevice(ordinal), "cudaSetDevice"); }

std::string name(int ordinal) {
  auto properties = std::make_unique<cudaDeviceProp>();
  check(cudaGetDeviceProperties(properties.get(), ordinal), "cudaGetDeviceProperties");
  return properties->name;
}

void* allocate(size_t bytes) {
  void* pointer = nullptr;
  const cudaError_t result = cudaMalloc(&pointer, bytes);
  if (result == cudaErrorMemoryAllocation) {
    const Room now = room();
    // A device with room that gives none is the simulated one: its process has met a limit.
    throw DeviceError("cudaMalloc: " + mebibytes(bytes) + " were asked for, " +
                      mebibytes(now.free) + " of " + mebibytes(now.total) + " are free" +
                      (bytes <= now.free ? no_memory_left : ""));
  }
  check(result, "cudaMalloc");
  return pointer;
}

void* allocate_exported(size_t bytes) {
  constexpr size_t block = size_t{2} << 20;
  return allocate((bytes + block - 1) / block * block);
}

void clear(void* pointer, size_t bytes) {
  check(cudaMemset(pointer, 0, bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Room room() {
  Room now;
  check(cudaMemGetInfo(&now.free, &now.total), "cudaMemGetInfo");
  return now;
}

void release(void* pointer) { check(cudaFree(pointer), "cudaFree"); }

void* allocate_pinned(size_t bytes) {
  void* pointer = nullptr;
  check(cudaHostAlloc(&pointer, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  return pointer;
}

void release_pinned(void* pointer) { check(cudaFreeHost(pointer), "cudaFreeHost"); }

Handle export_memory(void* allocation) {
  cudaIpcMemHandle_t handle;
  check(cudaIpcGetMemHandle(&handle, allocation), "cudaIpcGetMemHandle");
  return to_bytes(handle);
}

void* import_memory(const Handle& handle) {
  void* pointer = nullptr;
  check(cudaIpcOpenMemHandle(&pointer, from_bytes<cudaIpcMemHandle_t>(handle),
                             cudaIpcMemLazyEnablePeerAccess),
        "cudaIpcOpenMemHandle");
  return pointer;
}

void close_memory(void* imported) {
  check(cudaIpcCloseMemHandle(imported), "cudaIpcCloseMemHandle");
}

Stream::Stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  handle_ = stream;
}

Stream::~Stream() {
  if (handle_ != nullptr) cudaStreamDestroy(static_cast<cudaStream_t>(handle_));
}

void Stream::synchronize() const {
  check(cudaStreamSynchronize(stream_of(*this)), "cudaStreamSynchronize");
}

bool Stream::idle() const {
  const cudaError_t result = cudaStreamQuery(stream_of(*this));
  if (result == cudaErrorNotReady) return false;
  check(result, "cudaStreamQuery");
  return true;
}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (handle_ != nullptr) cudaEventDestroy(static_cast<cudaEvent_t>(handle_));
}

Event Event::interprocess() {
  cudaEvent_t handle = nullptr;
  check(cudaEventCreateWithFlags(&handle, cudaEventInterprocess | cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
  Event event;
  event.handle_ = handle;
  return event;
}

Event Event::import(const Handle& bytes) {
  cudaEvent_t handle = nullptr;
  check(cudaIpcOpenEventHandle(&handle, from_bytes<cudaIpcEventHandle_t>(bytes)),
        "cudaIpcOpenEventHandle");
  Event event;
  event.handle_ = handle;
  return event;
}

Handle Event::export_handle() const {
  cudaIpcEventHandle_t handle;
  check(cudaIpcGetEventHandle(&handle, static_cast<cudaEvent_t>(handle_)), "cudaIpcGetEventHandle");
  return to_bytes(handle);
}

void Event::record(const Stream& stream) const {
  check(cudaEventRecord(static_cast<cudaEvent_t>(handle_), stream_of(stream)), "cudaEventRecord");
}

void Event::synchronize() const {
  check(cudaEventSynchronize(static_cast<cudaEvent_t>(handle_)), "cudaEventSynchronize");
}

bool Event::done() const {
  const cudaError_t result = cudaEventQuery(static_cast<cudaEvent_t>(handle_));
  if (result == cudaErrorNotReady) return false;
  check(result, "cudaEventQuery");
  return true;
}

void wait(const Stream& stream, const Event& event) {
  check(cudaStreamWaitEvent(stream_of(stream), static_cast<cudaEvent_t>(event.get()), 0),
        "cudaStreamWaitEvent");
}

void copy_to_device(const Copy& copy, const Stream& stream) {
  check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyHostToDevice, stream_of(stream)),
        "cudaMemcpyAsync");
}

void copy_to_host(const Copy& copy, const Stream& stream) {
  check(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDeviceToHost, stream_of(stream)),
        "cudaMemcpyAsync");
}

void copy_batch(std::span<const Copy> copies, const Stream& stream) {
  if (copies.empty()) return;
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<size_t> bytes;
  for (const Copy& copy : copies) {
    to.push_back(copy.to);
    from.push_back(copy.from);
    bytes.push_back(copy.bytes);
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t first = 0;
  check(cudaMemcpyBatchAsync(to.data(), from.data(), bytes.data(), copies.size(), &attributes,
                             &first, 1, stream_of(stream)),
        "cudaMemcpyBatchAsync");
}

void enqueue(const Stream& stream, std::function<void()> work) {
  auto closure = std::make_unique<std::function<void()>>(std::move(work));
  check(cudaLaunchHostFunc(stream_of(stream), run_closure, closure.get()), "cudaLaunchHostFunc");
  closure.release();
}

} // namespace hitproof::engine::device
