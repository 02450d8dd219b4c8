// A fake of libnccl.so.2 for machines without two GPUs: the functions that our collectives call,
// over shared memory and work on the simulated device's streams. It tests our side of the
// interface, and says nothing about NCCL.
//
// As the real one: a call is enqueued and comes back, now and then as in progress; what runs waits
// for its peers until the communicator is aborted; a sum has an order of its own (here: rank 1
// first, rank 0 last); arguments that NCCL forbids are refused.
//
// HITPROOF_FAKE_NCCL makes it misbehave:
//   old      says that it is 2.10.3          newer     is another version than its peers'
//   refuse   refuses every operation         remote    reports an error of a peer, and never ends
//   never    operations never end            nowhere   the group never comes together
//   now      works inside the call, for kernels that are done when they return
#include "engine/runtime/nccl_library.h"
#include "engine/sim/cudart_subset.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace hitproof::engine::nccl;

namespace hitproof::engine::nccl {

constexpr size_t slot_bytes = size_t{1} << 20;
constexpr int max_ranks = 8;
constexpr Result cuda_error{1}, invalid_argument{4}, remote_error{6};

struct Shared {
  std::atomic<int> attached, arrived, generation;
  alignas(64) std::byte slots[max_ranks][slot_bytes];
};

struct Communicator {
  Shared* shared = nullptr;
  int rank = 0, size = 1;
  std::string name;
  std::atomic<bool> aborted{false};
  unsigned calls = 0;
  int in_progress_answers = 0;
  std::mutex mutex;
  std::condition_variable idle;
  int running = 0;

  bool meet() {
    const int generation = shared->generation.load();
    if (shared->arrived.fetch_add(1) + 1 == size) {
      shared->arrived.store(0);
      shared->generation.store(generation + 1);
    }
    while (shared->generation.load() == generation) {
      if (aborted) return false;
      ::usleep(20);
    }
    return true;
  }
  std::byte* slot(int r) const { return shared->slots[r]; }
  float* floats(int r) const { return reinterpret_cast<float*>(slot(r)); }
};

} // namespace hitproof::engine::nccl

namespace {

bool mode(const char* name) {
  const char* set = std::getenv("HITPROOF_FAKE_NCCL");
  return set != nullptr && std::strcmp(set, name) == 0;
}

struct Work {
  Comm comm;
  std::function<void()> run;
};

void run_work(void* data) {
  const std::unique_ptr<Work> work(static_cast<Work*>(data));
  work->run();
  const std::lock_guard lock(work->comm->mutex);
  --work->comm->running;
  work->comm->idle.notify_all();
}

Result enqueue(Comm comm, void* stream, std::function<void()> run) {
  if (comm == nullptr || comm->aborted) return invalid_argument;
  if (mode("refuse")) return cuda_error;
  if (mode("never") || mode("remote"))
    run = [comm] {
      while (!comm->aborted)
        ::usleep(1000);
    };
  if (mode("now")) {
    run();
    return success;
  }
  {
    const std::lock_guard lock(comm->mutex);
    ++comm->running;
  }
  auto work = std::make_unique<Work>(Work{comm, std::move(run)});
  if (cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), run_work, work.get()) != cudaSuccess)
    return cuda_error;
  work.release();
  if (++comm->calls % 3 != 0) return success;
  comm->in_progress_answers = 2;
  return in_progress;
}

// Two ranges may be one where NCCL says so, and else must not touch.
bool misplaced(const void* small, size_t bytes, const void* large, size_t large_bytes,
               size_t place) {
  const auto a = reinterpret_cast<uintptr_t>(small), b = reinterpret_cast<uintptr_t>(large);
  return a + bytes > b && a < b + large_bytes && a != b + place;
}

// The sum over ranks of n floats at `at` of every slot.
void sum_slots(Comm c, size_t at, size_t n, float* to) {
  for (size_t i = 0; i < n; ++i) {
    float sum = c->floats(1 % c->size)[at + i];
    for (int k = 2; k <= c->size && c->size > 1; ++k)
      sum += c->floats(k % c->size)[at + i];
    to[i] = sum;
  }
}

void leave(Comm comm) {
  {
    std::unique_lock lock(comm->mutex);
    comm->idle.wait(lock, [comm] { return comm->running == 0; });
  }
  ::munmap(comm->shared, sizeof(Shared));
  ::shm_unlink(comm->name.c_str());
  delete comm;
}

} // namespace

extern "C" {

Result ncclGetVersion(int* version) {
  *version = mode("old") ? 21003 : mode("newer") ? 22999 : 22809;
  return success;
}

Result ncclGetUniqueId(UniqueId* id) {
  static int number = 0;
  std::snprintf(id->content, sizeof id->content, "/hitproof-fake-nccl-%d-%d", ::getpid(), number++);
  return success;
}

Result ncclCommInitRankConfig(Comm* comm, int size, UniqueId id, int rank, Config* config) {
  if (config == nullptr || config->size < 48 || config->magic != 0xcafebeef ||
      config->version < 21800 || config->blocking != 0 || config->min_ctas != INT_MIN ||
      size > max_ranks || rank < 0 || rank >= size)
    return invalid_argument;
  const int fd = ::shm_open(id.content, O_CREAT | O_RDWR, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(Shared)) != 0) return cuda_error;
  void* p = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (p == MAP_FAILED) return cuda_error;
  auto* made = new Communicator;
  made->shared = static_cast<Shared*>(p); // new memory is zeros
  made->rank = rank;
  made->size = size;
  made->name = id.content;
  // Nobody comes after the last; a rank that ends without leaving the group leaves no memory.
  if (made->shared->attached.fetch_add(1) + 1 == size) ::shm_unlink(id.content);
  *comm = made;
  return in_progress;
}

Result ncclCommGetAsyncError(Comm comm, Result* error) {
  const bool together = comm->shared->attached.load() >= comm->size && !mode("nowhere");
  *error = success;
  if (!together)
    *error = in_progress;
  else if (comm->in_progress_answers > 0 && comm->in_progress_answers-- > 0)
    *error = in_progress;
  else if (mode("remote") && comm->calls > 0)
    *error = remote_error;
  return success;
}

Result ncclCommAbort(Comm comm) {
  comm->aborted = true;
  leave(comm);
  return success;
}

Result ncclCommDestroy(Comm comm) {
  leave(comm);
  return success;
}

Result ncclAllReduce(const void* send, void* receive, size_t count, DataType type, ReduceOp op,
                     Comm c, void* stream) {
  if (send == nullptr || receive == nullptr || count == 0 || type != float32 || op != sum)
    return invalid_argument;
  const auto* from = static_cast<const float*>(send);
  auto* to = static_cast<float*>(receive);
  return enqueue(c, stream, [=] {
    constexpr size_t most = slot_bytes / sizeof(float);
    for (size_t at = 0; at < count; at += most) {
      const size_t n = std::min(most, count - at);
      std::memcpy(c->slot(c->rank), from + at, n * sizeof(float));
      if (!c->meet()) return;
      sum_slots(c, 0, n, to + at);
      if (!c->meet()) return;
    }
  });
}

Result ncclReduceScatter(const void* send, void* receive, size_t count, DataType type, ReduceOp op,
                         Comm c, void* stream) {
  const size_t bytes_each = count * sizeof(float);
  if (send == nullptr || receive == nullptr || count == 0 || type != float32 || op != sum ||
      misplaced(receive, bytes_each, send, bytes_each * static_cast<size_t>(c->size),
                bytes_each * static_cast<size_t>(c->rank)))
    return invalid_argument;
  const auto* from = static_cast<const float*>(send);
  auto* to = static_cast<float*>(receive);
  return enqueue(c, stream, [=] {
    const size_t most = slot_bytes / sizeof(float) / static_cast<size_t>(c->size);
    for (size_t at = 0; at < count; at += most) {
      const size_t n = std::min(most, count - at);
      for (size_t r = 0; r < static_cast<size_t>(c->size); ++r)
        std::memcpy(c->floats(c->rank) + r * n, from + r * count + at, n * sizeof(float));
      if (!c->meet()) return;
      sum_slots(c, static_cast<size_t>(c->rank) * n, n, to + at);
      if (!c->meet()) return;
    }
  });
}

Result ncclAllGather(const void* send, void* receive, size_t count, DataType type, Comm c,
                     void* stream) {
  const size_t bytes_each = count * (type == float32 ? sizeof(float) : 1);
  if (send == nullptr || receive == nullptr || count == 0 || (type != float32 && type != bytes) ||
      misplaced(send, bytes_each, receive, bytes_each * static_cast<size_t>(c->size),
                bytes_each * static_cast<size_t>(c->rank)))
    return invalid_argument;
  const auto* from = static_cast<const std::byte*>(send);
  auto* to = static_cast<std::byte*>(receive);
  return enqueue(c, stream, [=] {
    for (size_t at = 0; at < bytes_each; at += slot_bytes) {
      const size_t n = std::min(slot_bytes, bytes_each - at);
      std::memcpy(c->slot(c->rank), from + at, n);
      if (!c->meet()) return;
      for (size_t r = 0; r < static_cast<size_t>(c->size); ++r)
        std::memcpy(to + r * bytes_each + at, c->slot(static_cast<int>(r)), n);
      if (!c->meet()) return;
    }
  });
}

const char* ncclGetErrorString(Result result) {
  return result == cuda_error         ? "unhandled cuda error"
         : result == invalid_argument ? "invalid argument"
         : result == remote_error     ? "remote process exited or there was a network error"
                                      : "some other error";
}

const char* ncclGetLastError(Comm) { return "as the test asked for"; }

} // extern "C"
