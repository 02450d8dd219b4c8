#include "engine/sim/driver/stream.h"

#include <chrono>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <utility>

namespace hitproof::sim {
namespace {

// Taken shared by blocking streams and exclusively by the legacy stream while an operation gets its
// ticket and its dependencies: without it two streams could each be told to wait for the other.
std::shared_mutex& order_mutex() {
  static auto& instance = *new std::shared_mutex;
  return instance;
}

std::atomic<uint64_t> next_stream_id{1};
thread_local bool is_worker = false;

std::vector<Dependency> pending_of(const std::vector<std::shared_ptr<Stream>>& streams) {
  std::vector<Dependency> after;
  for (const auto& stream : streams) {
    if (stream->kind == Stream::Kind::blocking && !stream->idle())
      after.push_back({stream, stream->submitted()});
  }
  return after;
}

} // namespace

bool on_stream_worker() { return is_worker; }

Stream::Stream(Kind k, unsigned f, int p) : kind(k), flags(f), priority(p), id(next_stream_id++) {}

std::shared_ptr<Stream> Stream::create(Kind kind, unsigned flags, int priority) {
  return std::shared_ptr<Stream>(new Stream(kind, flags, priority));
}

// Calls accept(dependencies) at a moment when the ticket and the dependencies fit together.
template <class Accept> auto Stream::in_order(Accept&& accept) {
  if (kind == Kind::non_blocking) return accept(std::vector<Dependency>{});
  if (kind == Kind::legacy) {
    std::unique_lock order(order_mutex());
    return accept(pending_of(every_stream()));
  }
  std::shared_lock order(order_mutex());
  std::vector<Dependency> after;
  if (auto legacy = legacy_stream(); !legacy->idle())
    after.push_back({legacy, legacy->submitted()});
  return accept(std::move(after));
}

uint64_t Stream::enqueue(Task task) {
  return in_order([&](std::vector<Dependency> after) {
    std::unique_lock lock(mutex_);
    queue_.push_back({std::move(task), std::move(after)});
    const uint64_t ticket = submitted_.fetch_add(1, std::memory_order_acq_rel) + 1;
    start_worker();
    const bool wake = worker_asleep_ && may_start();
    lock.unlock();
    if (wake) worker_wake_.notify_one();
    return ticket;
  });
}

CUresult Stream::run(Task task) {
  Operation operation;
  uint64_t ticket = 0;
  const bool mine = in_order([&](std::vector<Dependency> after) {
    std::unique_lock lock(mutex_);
    ticket = submitted_.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (queue_.empty() && !running_ && !held_) {
      operation = {std::move(task), std::move(after)};
      running_ = true;
      return true;
    }
    queue_.push_back({std::move(task), std::move(after)});
    start_worker();
    if (worker_asleep_ && may_start()) worker_wake_.notify_one();
    return false;
  });
  if (!mine) {
    wait(ticket);
    return fault();
  }
  perform(operation);
  std::unique_lock lock(mutex_);
  running_ = false;
  completed_.fetch_add(1, std::memory_order_acq_rel);
  if (waiters_) done_.notify_all();
  if (worker_asleep_ && may_start()) worker_wake_.notify_one();
  return fault();
}

void Stream::perform(Operation& operation) {
  for (auto& [stream, ticket] : operation.after)
    stream->wait(ticket);
  if (fault() == CUDA_SUCCESS) operation.task();
  operation.task.reset();
}

void Stream::start_worker() {
  if (worker_started_) return;
  worker_started_ = true;
  std::thread worker([self = shared_from_this()] { self->work(); });
  pthread_setname_np(worker.native_handle(), "sim-stream");
  // Detached: a process may end while streams still have work, as with a real device.
  worker.detach();
}

void Stream::work() {
  is_worker = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!may_start()) {
      if (closing_ && queue_.empty() && !running_) return;
      worker_asleep_ = true;
      worker_wake_.wait(lock);
      worker_asleep_ = false;
    }
    {
      Operation operation = std::move(queue_.front());
      queue_.pop_front();
      if (held_) --credits_;
      running_ = true;
      lock.unlock();
      perform(operation);
    }
    lock.lock();
    running_ = false;
    completed_.fetch_add(1, std::memory_order_acq_rel);
    if (waiters_) done_.notify_all();
  }
}

void Stream::wait(uint64_t ticket) {
  if (completed() >= ticket) return;
  std::unique_lock lock(mutex_);
  ++waiters_;
  done_.wait(lock, [&] { return completed() >= ticket; });
  --waiters_;
}

bool Stream::wait_pending(int64_t pending, int64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  ++waiters_;
  const bool reached = done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
    return static_cast<int64_t>(submitted() - completed()) <= pending;
  });
  --waiters_;
  return reached;
}

void Stream::fail(CUresult error) {
  unsigned none = 0;
  fault_.compare_exchange_strong(none, error);
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  held_ = false; // a latch outlives nobody
  worker_wake_.notify_one();
}

void Stream::hold() {
  std::lock_guard lock(mutex_);
  held_ = true;
  credits_ = 0;
}

void Stream::step(uint64_t operations) {
  std::lock_guard lock(mutex_);
  credits_ += operations;
  worker_wake_.notify_one();
}

void Stream::release() {
  std::lock_guard lock(mutex_);
  held_ = false;
  worker_wake_.notify_one();
}

} // namespace hitproof::sim
