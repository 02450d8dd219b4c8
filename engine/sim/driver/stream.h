// One stream: a queue of operations and one worker thread that runs them in order.
//
// Besides its own order a stream keeps the rule of the legacy default stream: an operation there
// starts after all earlier work of every blocking stream, and later work of those after it.
#pragma once

#include "engine/sim/cuda_subset_types.h"
#include "engine/sim/driver/task.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace hitproof::sim {

class Stream;
struct Capture;
struct Node;

/// "After operation `ticket` of that stream."
struct Dependency {
  std::shared_ptr<Stream> stream;
  uint64_t ticket;
};

/// What a stream that is being captured has come to; guarded by capture_mutex() of graph.h.
struct CaptureSide {
  std::shared_ptr<Capture> capture;
  std::vector<Node*> frontier; // nodes that the next one follows
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind { legacy, blocking, non_blocking };

  static std::shared_ptr<Stream> create(Kind kind, unsigned flags, int priority);
  CUstream handle() { return reinterpret_cast<CUstream>(this); }

  /// Accept an operation; returns its ticket (1, 2, ...).
  uint64_t enqueue(Task task);
  /// Run an operation in stream order and return when it is done. On an idle stream the caller runs
  /// it itself, which spares two thread switches.
  CUresult run(Task task);

  /// Sleep until operation `ticket` is done.
  void wait(uint64_t ticket);
  /// As wait, but gives up at the deadline.
  bool wait_pending(int64_t pending, int64_t timeout_ms);
  void wait_all() { wait(submitted()); }
  bool idle() const { return completed() >= submitted(); }
  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

  /// An operation failed: what follows on this stream is not run, and whoever waits is told.
  void fail(CUresult error);
  CUresult fault() const { return static_cast<CUresult>(fault_.load(std::memory_order_acquire)); }

  /// No more work will come; the worker ends after the last operation.
  void close();

  void hold();
  void step(uint64_t operations);
  void release();

  const Kind kind;
  const unsigned flags;
  const int priority;
  const uint64_t id;
  CaptureSide capturing;

 private:
  struct Operation {
    Task task;
    std::vector<Dependency> after;
  };

  Stream(Kind kind, unsigned flags, int priority);
  void work();
  void start_worker(); // with mutex_ held
  bool may_start() const { return !running_ && !queue_.empty() && (!held_ || credits_ > 0); }
  void perform(Operation& operation);
  template <class Accept> auto in_order(Accept&& accept);

  std::mutex mutex_;
  std::condition_variable worker_wake_;
  std::condition_variable done_;
  std::deque<Operation> queue_;
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<unsigned> fault_{0};
  uint64_t credits_ = 0;
  int waiters_ = 0;
  bool worker_started_ = false;
  bool worker_asleep_ = false;
  bool running_ = false;
  bool held_ = false;
  bool closing_ = false;
};

/// Form of a call: what the null handle means.
enum class DefaultStream { legacy, per_thread };

/// The stream behind a handle; null if it is not live. Makes the default streams on first use.
std::shared_ptr<Stream> find_stream(CUstream handle, DefaultStream form);
std::shared_ptr<Stream> legacy_stream();

/// A stream that programs create and destroy.
std::shared_ptr<Stream> create_stream(unsigned flags, int priority);
bool destroy_stream(CUstream handle);

/// Every stream that still has work or may get some, destroyed ones that drain included.
std::vector<std::shared_ptr<Stream>> every_stream();
void synchronize_device();
/// First failure of any stream, CUDA_SUCCESS if none.
CUresult device_fault();

/// True on a stream's worker thread: host functions may not call back into the driver.
bool on_stream_worker();

} // namespace hitproof::sim
