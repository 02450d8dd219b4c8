#include "schema/journal_runtime.h"

#include "schema/clock.h"
#include "schema/journal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hitproof::schema {
namespace {

std::atomic<const JournalPlace*> current_place{nullptr};
std::atomic<std::uint64_t> next_generation{1};
std::atomic<std::uint64_t> process_losses{0};

// What must not outlive a fork has a page of its own: the kernel hands a child a zeroed one,
// however it was forked, so that noticing a fork costs a load instead of a getpid() at every
// record, and a lock that another thread held at that moment is free.
struct ForkedAway {
  std::atomic<std::uint64_t> generation{0};
  std::atomic<bool> locked{false}; // guards the lists
  JournalWriter* all = nullptr;    // every writer of this process
  JournalWriter* idle = nullptr;   // those whose thread has ended
};
std::atomic<ForkedAway*> guard_page{nullptr};

void zero_guard_in_child() {
  auto* page = guard_page.load(std::memory_order_relaxed);
  if (page == nullptr) return;
  page->generation.store(0, std::memory_order_relaxed);
  page->locked.store(false, std::memory_order_relaxed);
  page->all = page->idle = nullptr;
}

ForkedAway* guard() noexcept {
  auto* page = guard_page.load(std::memory_order_acquire);
  if (page != nullptr) return page;
  static ForkedAway fallback;
  constexpr std::size_t bytes = 4096;
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ForkedAway* made = &fallback;
  if (map != MAP_FAILED) made = ::new (map) ForkedAway;
  const bool wiped = map != MAP_FAILED && madvise(map, bytes, MADV_WIPEONFORK) == 0;
  if (!guard_page.compare_exchange_strong(page, made, std::memory_order_acq_rel)) {
    if (map != MAP_FAILED) munmap(map, bytes);
    return page;
  }
  if (!wiped) pthread_atfork(nullptr, nullptr, zero_guard_in_child);
  return made;
}

// Held for some loads and stores, when a thread begins or ends. A signal handler never comes here
// while its own thread holds it: make_or_restart() and end_of_thread() see to that.
class ListLock {
 public:
  explicit ListLock(ForkedAway& page) noexcept : page_(page) {
    while (page_.locked.exchange(true, std::memory_order_acquire))
      sched_yield();
  }
  ~ListLock() { page_.locked.store(false, std::memory_order_release); }
  ListLock(const ListLock&) = delete;
  ListLock& operator=(const ListLock&) = delete;

 private:
  ForkedAway& page_;
};

// Publishes a place for `dir`; with `first`, only where there is none yet.
const JournalPlace* publish(const char* dir, bool first) noexcept {
  static JournalPlace nowhere{0, nullptr, false, nullptr, {}};
  auto* place = new (std::nothrow) JournalPlace{0, nullptr, false, nullptr, {}};
  if (place == nullptr) place = &nowhere;
  const bool wanted = place != &nowhere && dir != nullptr && dir[0] == '/';
  if (wanted) {
    const int n = std::snprintf(place->folder, sizeof place->folder, "%s/journal", dir);
    if (n > 0 && static_cast<std::size_t>(n) < sizeof place->folder) {
      mkdir(dir, 0777);
      mkdir(place->folder, 0777);
      place->usable = access(place->folder, W_OK) == 0;
      if (place->usable) place->control = map_control(place->folder);
    }
  }
  place->generation = next_generation.fetch_add(1);
  const JournalPlace* expected = nullptr;
  if (first) {
    if (!current_place.compare_exchange_strong(expected, place, std::memory_order_acq_rel)) {
      if (place->control != nullptr) munmap(place->control, control_page_bytes);
      if (place != &nowhere) delete place;
      return expected;
    }
    // Another thread may have given out a generation between these two steps: keep that one.
    std::uint64_t none = 0;
    guard()->generation.compare_exchange_strong(none, place->generation);
    return place;
  }
  place->previous = current_place.load(std::memory_order_acquire);
  current_place.store(place, std::memory_order_release);
  guard()->generation.store(place->generation, std::memory_order_release);
  return place;
}

pthread_key_t writer_key;
bool writer_key_made = false;
pthread_once_t writer_key_once = PTHREAD_ONCE_INIT;

} // namespace

const JournalPlace* JournalRuntime::place() noexcept {
  const JournalPlace* place = current_place.load(std::memory_order_acquire);
  if (place != nullptr) return place;
  return publish(std::getenv("HITPROOF_DIR"), true);
}

std::uint64_t JournalRuntime::generation() noexcept {
  std::atomic<std::uint64_t>* page = &guard()->generation;
  std::uint64_t value = page->load(std::memory_order_relaxed);
  if (value == 0 && current_place.load(std::memory_order_acquire) != nullptr) {
    const std::uint64_t fresh = next_generation.fetch_add(1);
    if (page->compare_exchange_strong(value, fresh)) {
      process_losses.store(0, std::memory_order_relaxed);
      value = fresh;
    }
  }
  return value;
}

void JournalRuntime::use_directory(const char* dir) noexcept { publish(dir, false); }

void JournalRuntime::count_loss() noexcept {
  process_losses.fetch_add(1, std::memory_order_relaxed);
  const JournalPlace* where = place();
  if (where->control != nullptr) __atomic_fetch_add(&where->control->dropped, 1, __ATOMIC_RELAXED);
}

std::uint64_t JournalRuntime::losses() noexcept {
  return process_losses.load(std::memory_order_relaxed);
}

void JournalRuntime::restart(JournalWriter& writer) noexcept {
  // The mapping of a forked child is the parent's journal: only let go of it, mark nothing.
  if (writer.header_ != nullptr && writer.pid_ != static_cast<std::uint32_t>(getpid())) {
    munmap(writer.header_, journal_header_bytes + std::size_t{writer.count_} * sizeof(Slot));
    writer.header_ = nullptr;
  }
  writer.leave_segment();
  writer.seq_ = 0;
  writer.segment_ = 0;
  writer.nested_ = 0;
  writer.dropped_ = 0;
  writer.busy_ = false;
  writer.retry_ns_ = 0;
  writer.start_ns_ = now();
  ForkedAway& page = *guard();
  const auto pid = static_cast<std::uint32_t>(getpid());
  {
    const ListLock lock(page);
    if (writer.pid_ != pid) { // new, or the one that a forked child inherits
      writer.next_ = page.all;
      page.all = &writer;
    }
    writer.pid_ = pid;
    writer.tid_ = free_number(writer, static_cast<std::uint32_t>(syscall(SYS_gettid)));
  }
  // Last, because a signal handler takes the writer as it is from then on. Before the place is
  // asked for: if that changes in between, the number is already old and this is done again.
  const std::uint64_t current = generation();
  writer.current_ = &page.generation;
  writer.usable_ = place()->usable;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  writer.generation_ = current;
}

std::uint32_t JournalRuntime::free_number(const JournalWriter& writer, std::uint32_t tid) noexcept {
  // A thread that has ended leaves its number to its journal, and the kernel gives it out again.
  for (const JournalWriter* other = guard()->all; other != nullptr;) {
    if (other == &writer || other->tid_ != tid) {
      other = other->next_;
      continue;
    }
    tid += thread_number_step;
    other = guard()->all;
  }
  return tid;
}

JournalWriter* JournalRuntime::take_idle() noexcept {
  ForkedAway& page = *guard();
  const ListLock lock(page);
  JournalWriter* writer = page.idle;
  if (writer != nullptr) page.idle = writer->next_idle_;
  return writer;
}

void JournalRuntime::give_idle(JournalWriter& writer) noexcept {
  ForkedAway& page = *guard();
  const ListLock lock(page);
  writer.next_idle_ = page.idle;
  page.idle = &writer;
}

JournalWriter* JournalRuntime::make_writer() noexcept {
  pthread_once(&writer_key_once, [] {
    writer_key_made = pthread_key_create(&writer_key, [](void* writer) {
                        JournalRuntime::end_of_thread(writer);
                      }) == 0;
  });
  JournalWriter* writer = take_idle();
  const bool used_before = writer != nullptr;
  if (!used_before) writer = new (std::nothrow) JournalWriter;
  if (writer == nullptr) return nullptr;
  if (writer_key_made && pthread_setspecific(writer_key, writer) == 0) return writer;
  if (used_before)
    give_idle(*writer);
  else
    delete writer;
  return nullptr;
}

ControlPage* map_control(const char* folder) noexcept {
  char path[4096];
  const int n = std::snprintf(path, sizeof path, "%s/control", folder);
  if (n <= 0 || static_cast<std::size_t>(n) >= sizeof path) return nullptr;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return nullptr;
  void* map = MAP_FAILED;
  if (posix_fallocate(fd, 0, control_page_bytes) == 0)
    map = mmap(nullptr, control_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return nullptr;
  auto* control = static_cast<ControlPage*>(map);
  // Several processes may do this at once: they all write the same bytes, and the counters of a new
  // file are zero already.
  control->version = journal_version;
  std::memcpy(control->magic, control_magic, sizeof control_magic);
  return control;
}

int make_allocated_file(const char* path, std::size_t bytes) noexcept {
  // Beyond this limit the kernel sends SIGXFSZ, which would end the host program.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < bytes) {
    errno = EFBIG;
    return -1;
  }
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return -1;
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (error != 0) {
    close(fd);
    unlink(path);
    errno = error;
    return -1;
  }
  return fd;
}

} // namespace hitproof::schema
