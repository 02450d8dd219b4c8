#include "engine/sim/driver/event.h"

#include "engine/sim/driver/event_page.h"
#include "engine/sim/driver/handle_table.h"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace hitproof::sim {
namespace {

constexpr uint64_t handle_magic = 0x31544E4556455348ull; // "HSEVENT1"

// The 64 bytes of an exported event. /proc/<pid>/fd/<fd> leads to the page, so that no name is left
// anywhere when the exporter is killed.
struct HandleBody {
  uint64_t magic;
  int32_t pid;
  int32_t fd;
  uint32_t slot;
  uint32_t unused;
  uint64_t identity;
  uint64_t inode;
};
static_assert(sizeof(HandleBody) <= sizeof(CUipcEventHandle));

HandleTable<Event>& events() {
  static auto& instance = *new HandleTable<Event>;
  return instance;
}

// How long a sleeper trusts that the recording process still lives.
constexpr int64_t liveness_interval_ns = 200'000'000;

} // namespace

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t process_start(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  // The command name in parentheses may hold anything; fields are counted after the last one.
  const char* at = std::strrchr(text, ')');
  if (!at) return 0;
  char state = 0;
  unsigned long long start = 0;
  const int got = std::sscanf(at + 1,
                              " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                              "%*d %*d %llu",
                              &state, &start);
  // A zombie runs no stream any more.
  return got == 2 && state != 'Z' && state != 'X' ? start : 0;
}

std::shared_ptr<Event> Event::create(unsigned flags) {
  std::shared_ptr<Event> event(new Event(flags, false));
  if (flags & CU_EVENT_INTERPROCESS) {
    EventPage::Slot slot = EventPage::take_slot();
    event->cell_ = slot.cell;
    event->page_ = std::move(slot.page);
    event->page_fd_ = slot.fd;
    event->slot_ = slot.index;
  } else {
    event->own_cell_ = std::make_unique<EventCell>();
    event->cell_ = event->own_cell_.get();
    event->cell_->references = 1;
  }
  return event;
}

Event::~Event() {
  if (!cell_ || own_cell_) return;
  // The last one out frees the cell; importers that still wait keep it.
  if (cell_->references.fetch_sub(1) == 1) cell_->identity = 0;
}

CUresult Event::export_to(CUipcEventHandle& out) const {
  if (!(flags & CU_EVENT_INTERPROCESS) || imported) return CUDA_ERROR_INVALID_VALUE;
  struct stat status {};
  if (fstat(page_fd_, &status) != 0) return CUDA_ERROR_OPERATING_SYSTEM;
  HandleBody body{};
  body.magic = handle_magic;
  body.pid = getpid();
  body.fd = page_fd_;
  body.slot = slot_;
  body.identity = cell_->identity.load();
  body.inode = status.st_ino;
  std::memset(&out, 0, sizeof out);
  std::memcpy(&out, &body, sizeof body);
  return CUDA_SUCCESS;
}

std::shared_ptr<Event> Event::import(const CUipcEventHandle& handle, CUresult& why) {
  HandleBody body;
  std::memcpy(&body, &handle, sizeof body);
  why = CUDA_ERROR_INVALID_HANDLE;
  if (body.magic != handle_magic || body.slot >= EventPage::slots) return nullptr;
  // As the real driver: an event is opened in another process than its own.
  if (body.pid == getpid()) {
    why = CUDA_ERROR_INVALID_CONTEXT;
    return nullptr;
  }
  auto page = EventPage::map_foreign(body.pid, body.fd, body.inode);
  if (!page) return nullptr;
  EventCell* cell = EventPage::cell_at(page.get(), body.slot);
  // A reference is taken only on a live cell, so a cell is not given out again under an importer.
  uint32_t count = cell->references.load();
  do {
    if (count == 0 || cell->identity.load() != body.identity) return nullptr;
  } while (!cell->references.compare_exchange_weak(count, count + 1));
  std::shared_ptr<Event> event(new Event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, true));
  event->cell_ = cell;
  event->page_ = std::move(page);
  if (cell->identity.load() != body.identity) return nullptr; // its destructor gives back
  why = CUDA_SUCCESS;
  return event;
}

uint64_t Event::begin_record() {
  static const uint64_t own_start = process_start(getpid());
  cell_->recorder_pid.store(getpid(), std::memory_order_relaxed);
  cell_->recorder_start.store(own_start, std::memory_order_relaxed);
  return cell_->newest.fetch_add(1, std::memory_order_acq_rel) + 1;
}

void Event::finish_record(uint64_t record) {
  cell_->time_ns.store(now_ns(), std::memory_order_release);
  auto& slot = cell_->finished[record % EventCell::window];
  uint64_t before = slot.load(std::memory_order_relaxed);
  while (before < record &&
         !slot.compare_exchange_weak(before, record, std::memory_order_seq_cst)) {
  }
  cell_->word.fetch_add(1, std::memory_order_seq_cst);
  if (cell_->sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(cell_->word, scope());
}

bool Event::recorder_alive() const {
  if (!(flags & CU_EVENT_INTERPROCESS)) return true;
  const int pid = cell_->recorder_pid.load();
  return pid == getpid() || process_start(pid) == cell_->recorder_start.load();
}

CUresult Event::wait(uint64_t record) {
  while (!done(record)) {
    const uint32_t seen = cell_->word.load(std::memory_order_seq_cst);
    cell_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (!done(record)) futex_wait(cell_->word, seen, scope(), liveness_interval_ns);
    cell_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
    // A process that was killed finishes no record: its waiters fail instead of hanging.
    if (!done(record) && !recorder_alive()) return CUDA_ERROR_LAUNCH_FAILED;
  }
  return CUDA_SUCCESS;
}

void add_event(std::shared_ptr<Event> event) { events().add(std::move(event)); }
std::shared_ptr<Event> find_event(CUevent handle) { return events().find(handle); }
std::shared_ptr<Event> take_event(CUevent handle) { return events().take(handle); }

} // namespace hitproof::sim
