// One rank's place in a group of NCCL's, and the thread that watches over it.
#pragma once

#include "engine/runtime/collectives.h"
#include "engine/runtime/device.h"
#include "engine/runtime/nccl_library.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hitproof::engine {

class NcclLink {
 public:
  // The ranks of `host` meet and make the group. `gpu` is selected on the calling thread. Throws as
  // open_nccl_collectives.
  NcclLink(Collectives& host, const device::Stream& stream, int gpu,
           std::chrono::milliseconds timeout);
  // Leaves the group in order where nothing was lost; otherwise aborts. Meets the peers.
  ~NcclLink();
  NcclLink(const NcclLink&) = delete;
  NcclLink& operator=(const NcclLink&) = delete;

  const nccl::Library& library() const { return library_; }
  // Enqueues what `call` asks of NCCL. Throws CollectiveError where it refuses, or anything was
  // lost before.
  void enqueue(const char* name, const std::function<nccl::Result(nccl::Comm)>& call);
  // Throws where an operation was lost.
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  void connect();
  void watch();
  void look();
  void settle(const char* name, nccl::Result result);
  void lose(const std::string& why);
  void require_sound() const;
  std::string reason(nccl::Result result) const;

  Collectives& host_;
  const device::Stream& stream_;
  const int gpu_;
  const std::chrono::milliseconds timeout_;
  const nccl::Library& library_;
  device::Event marker_; // behind everything that was enqueued when it was recorded

  std::mutex mutex_; // of everything below
  nccl::Comm comm_ = nullptr;
  std::string lost_; // what went wrong; empty: nothing
  uint64_t enqueued_ = 0;
  uint64_t marked_ = 0; // operations before the marker
  bool marker_runs_ = false;
  Clock::time_point marker_since_;
  bool ends_ = false;
  std::condition_variable wake_;
  std::thread watch_;
};

} // namespace hitproof::engine
