// Events. The state of an event is a small cell of plain atomic words: on the heap for an event of
// one process, in a page shared by memfd for an interprocess one.
//
// A record is numbered when it is enqueued. A wait, a query and a synchronise speak of the record
// that was newest when they were called, also when the event is recorded again afterwards.
#pragma once

#include "engine/sim/cuda_subset_types.h"
#include "engine/sim/driver/futex.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hitproof::sim {

struct Capture;
struct Node;

/// Layout is shared between processes: changing it means changing the handle's magic in event.cpp.
struct EventCell {
  // Records in flight at one time for which "done" is kept apart. Only the slot of an older record
  // is overwritten, so with more than this many outstanding an old wait may end with a later one.
  static constexpr uint64_t window = 16;

  std::atomic<uint64_t> identity;   // never reused; 0: the cell is free
  std::atomic<uint64_t> newest;     // number of the newest record, 0: never recorded
  std::atomic<uint64_t> time_ns;    // when the newest finished record was reached
  std::atomic<uint32_t> references; // exporter and importers
  std::atomic<uint32_t> word;       // changes with every finished record
  std::atomic<uint32_t> sleepers;
  std::atomic<int32_t> recorder_pid;    // whose stream holds the newest record
  std::atomic<uint64_t> recorder_start; // tells a reused pid from the old one
  std::array<std::atomic<uint64_t>, window> finished;

  bool done(uint64_t record) const {
    return finished[record % window].load(std::memory_order_acquire) >= record;
  }
};
static_assert(sizeof(EventCell) <= 256);

class Event {
 public:
  /// A new event; an interprocess one lives in shared memory.
  static std::shared_ptr<Event> create(unsigned flags);
  /// Opens an exported one. Null: the handle is malformed, or its event is gone.
  static std::shared_ptr<Event> import(const CUipcEventHandle& handle, CUresult& why);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUevent handle() { return reinterpret_cast<CUevent>(this); }
  CUresult export_to(CUipcEventHandle& handle) const;

  /// Numbers a record at the time of the call; finish() is called where the stream reaches it.
  uint64_t begin_record();
  void finish_record(uint64_t record);
  uint64_t newest() const { return cell_->newest.load(std::memory_order_acquire); }
  bool done(uint64_t record) const { return record == 0 || cell_->done(record); }
  /// Sleeps until the record is done; CUDA_ERROR_LAUNCH_FAILED if its process died before that.
  CUresult wait(uint64_t record);
  bool timed() const { return !(flags & CU_EVENT_DISABLE_TIMING); }
  uint64_t time_ns() const { return cell_->time_ns.load(std::memory_order_acquire); }

  const unsigned flags;
  const bool imported;

  // Last recorded in a capturing stream: an edge of a graph, not an event in time.
  std::weak_ptr<Capture> capture;
  std::vector<Node*> capture_frontier;

 private:
  Event(unsigned event_flags, bool is_imported) : flags(event_flags), imported(is_imported) {}
  bool recorder_alive() const;
  FutexScope scope() const {
    return flags & CU_EVENT_INTERPROCESS ? FutexScope::shared : FutexScope::process;
  }

  EventCell* cell_ = nullptr;
  std::unique_ptr<EventCell> own_cell_;
  std::shared_ptr<void> page_; // keeps the shared mapping
  int page_fd_ = -1;
  uint32_t slot_ = 0;
};

void add_event(std::shared_ptr<Event> event);
std::shared_ptr<Event> find_event(CUevent handle);
std::shared_ptr<Event> take_event(CUevent handle);

uint64_t now_ns();
/// Start time of a process in clock ticks since boot, 0 if there is no such process.
uint64_t process_start(int pid);

} // namespace hitproof::sim
