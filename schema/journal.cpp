#include "schema/journal.h"

#include "schema/journal_runtime.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hitproof::schema {
namespace {

// Set while the calling thread's writer is made or begins anew: a signal handler that wants it in
// the middle of that must not.
__attribute__((tls_model("initial-exec"))) thread_local std::atomic<bool> starting{false};

// A hook must leave no trace in its caller: neither errno, nor a cancellation inside an open().
class QuietSection {
 public:
  QuietSection() noexcept : errno_(errno) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  }
  ~QuietSection() {
    pthread_setcancelstate(cancel_, nullptr);
    errno = errno_;
  }

 private:
  int errno_;
  int cancel_ = 0;
};

// Moves a prefaulted segment from the pool to `path`; -1 where none is left.
int take_from_pool(const JournalPlace& place, const char* path, char (&pooled)[4096]) noexcept {
  ControlPage* control = place.control;
  if (control == nullptr) return -1;
  std::uint64_t head = __atomic_load_n(&control->pool_head, __ATOMIC_ACQUIRE);
  while (head < __atomic_load_n(&control->pool_tail, __ATOMIC_ACQUIRE)) {
    if (!__atomic_compare_exchange_n(&control->pool_head, &head, head + 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
      continue;
    std::snprintf(pooled, sizeof pooled, "%s/pool/%llu.hpj", place.folder,
                  static_cast<unsigned long long>(head));
    const int fd = open(pooled, O_RDWR | O_CLOEXEC);
    // link() and not rename(): it refuses to replace the journal of an earlier process that had
    // the same numbers.
    const bool taken = fd >= 0 && link(pooled, path) == 0;
    const int error = errno;
    unlink(pooled);
    if (taken) return fd;
    if (fd >= 0) close(fd);
    if (fd >= 0 && error == EEXIST) return -1;
    head = __atomic_load_n(&control->pool_head, __ATOMIC_ACQUIRE);
  }
  return -1;
}

int open_segment(const JournalPlace& place, const char* path, char (&pooled)[4096],
                 std::size_t* bytes) noexcept {
  // A process that replaces itself again and again would use up what others are to find there.
  if (access(path, F_OK) == 0) {
    errno = EEXIST;
    return -1;
  }
  int fd = take_from_pool(place, path, pooled);
  if (fd >= 0) {
    *bytes = journal_segment_bytes;
    return fd;
  }
  // On a disk that is nearly full a small segment still holds the end of the story.
  for (const std::size_t size : {journal_segment_bytes, journal_segment_bytes / 16}) {
    fd = make_allocated_file(path, size);
    if (fd >= 0) {
      *bytes = size;
      return fd;
    }
    if (errno == EEXIST) return -1;
  }
  return -1;
}

std::atomic<JournalWriter*> last_words{nullptr};
std::atomic<bool> last_words_lent{false};

} // namespace

thread_local constinit JournalWriter* JournalWriter::self_ = nullptr;

void JournalRuntime::end_of_thread(void* pointer) noexcept {
  auto* writer = static_cast<JournalWriter*>(pointer);
  // A signal handler that wants a writer now would wait for the lock that its own thread holds.
  starting.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  JournalWriter::self_ = nullptr;
  if (writer->busy_.load(std::memory_order_relaxed)) {
    // The thread was ended by a signal handler in the middle of a record: that one is lost.
    writer->count_loss();
    if (writer->generation_ == generation()) writer->leave_segment();
    writer->busy_.store(false, std::memory_order_relaxed);
  }
  give_idle(*writer);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  starting.store(false, std::memory_order_relaxed);
}

JournalWriter* JournalWriter::make_or_restart() noexcept {
  JournalWriter* writer = self_;
  const QuietSection quiet;
  if (!JournalRuntime::place()->usable && writer == nullptr) return nullptr;
  if (starting.load(std::memory_order_relaxed)) {
    JournalRuntime::count_loss();
    return nullptr;
  }
  starting.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  writer = self_; // a handler may have done all this in the meantime
  if (writer == nullptr) writer = JournalRuntime::make_writer();
  if (writer != nullptr && writer->generation_ != JournalRuntime::generation())
    JournalRuntime::restart(*writer);
  self_ = writer;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  starting.store(false, std::memory_order_relaxed);
  if (writer == nullptr) JournalRuntime::count_loss();
  return writer != nullptr && writer->usable_ ? writer : nullptr;
}

void JournalWriter::prepare_last_words() noexcept {
  const QuietSection quiet;
  if (!JournalRuntime::place()->usable) return;
  JournalWriter* writer = last_words.load(std::memory_order_acquire);
  if (writer == nullptr) writer = new (std::nothrow) JournalWriter;
  if (writer == nullptr) return;
  if (writer->generation_ != JournalRuntime::generation()) JournalRuntime::restart(*writer);
  last_words.store(writer, std::memory_order_release);
  last_words_lent.store(false); // in a forked child
}

LastWords::LastWords() noexcept : own_(JournalWriter::self_) {
  const std::uint64_t now = JournalRuntime::generation();
  if (own_ != nullptr && own_->generation_ == now && !own_->busy_.load(std::memory_order_relaxed))
    return;
  JournalWriter* const writer = last_words.load(std::memory_order_acquire);
  if (writer == nullptr || writer->generation_ != now || last_words_lent.exchange(true)) return;
  lent_ = true;
  JournalWriter::self_ = writer;
}

LastWords::~LastWords() {
  if (!lent_) return;
  JournalWriter::self_ = own_;
  last_words_lent.store(false);
}

bool JournalWriter::refuse_nested() noexcept {
  nested_.fetch_add(1, std::memory_order_relaxed);
  dropped_.fetch_add(1, std::memory_order_relaxed);
  JournalRuntime::count_loss();
  return false;
}

void JournalWriter::lose() noexcept {
  if (!enter()) return;
  count_loss();
  leave();
}

void JournalWriter::count_loss() noexcept {
  ++seq_;
  const std::uint64_t lost = dropped_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (header_ != nullptr) __atomic_store_n(&header_->dropped, lost, __ATOMIC_RELAXED);
  JournalRuntime::count_loss();
}

std::uint64_t JournalWriter::dropped_in_process() noexcept { return JournalRuntime::losses(); }

void JournalWriter::use_directory(const char* dir) noexcept {
  const QuietSection quiet;
  JournalRuntime::use_directory(dir);
}

void JournalWriter::leave_segment() noexcept {
  if (header_ != nullptr) {
    __atomic_store_n(&header_->finished, 1u, __ATOMIC_RELEASE);
    munmap(header_, journal_header_bytes + std::size_t{count_} * sizeof(Slot));
  }
  header_ = nullptr;
  slots_ = nullptr;
  used_ = count_ = 0;
}

bool JournalWriter::next_segment(std::uint64_t t_ns) noexcept {
  // Trying at every record would turn a full disk into a slow host program.
  constexpr std::uint64_t retry_after_ns = 50'000'000;
  if (t_ns < retry_ns_) return false;
  const JournalPlace* place = JournalRuntime::place();
  if (!usable_ || generation_ != JournalRuntime::generation()) return false;
  const QuietSection quiet;
  leave_segment();
  int fd = -1;
  std::size_t bytes = 0;
  // Numbers that an earlier process with the same ids used are skipped.
  for (int attempt = 0; fd < 0 && attempt < 1000; ++attempt) {
    std::snprintf(path_, sizeof path_, "%s/%u-%u-%u.hpj", place->folder, pid_, tid_, segment_++);
    fd = open_segment(*place, path_, pooled_, &bytes);
    if (fd < 0 && errno != EEXIST) {
      --segment_;
      break;
    }
  }
  void* map = MAP_FAILED;
  if (fd >= 0) {
    map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    // MAP_POPULATE would map the pages for reading only, and every page's first record would pay a
    // fault. Where the kernel is older than this advice, it does.
    if (map != MAP_FAILED) madvise(map, bytes, MADV_POPULATE_WRITE);
    if (map == MAP_FAILED) unlink(path_);
  }
  if (map == MAP_FAILED) {
    retry_ns_ = t_ns + retry_after_ns;
    return false;
  }
  header_ = static_cast<SegmentHeader*>(map);
  slots_ = reinterpret_cast<Slot*>(static_cast<char*>(map) + journal_header_bytes);
  count_ = static_cast<std::uint32_t>((bytes - journal_header_bytes) / sizeof(Slot));
  header_->version = journal_version;
  header_->slots = count_;
  header_->pid = pid_;
  header_->tid = tid_;
  header_->start_ns = start_ns_;
  header_->segment = segment_ - 1;
  header_->before = seq_;
  header_->dropped = dropped_.load(std::memory_order_relaxed);
  std::uint64_t magic;
  std::memcpy(&magic, journal_magic, sizeof magic);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(header_->magic), magic, __ATOMIC_RELEASE);
  return true;
}

} // namespace hitproof::schema
