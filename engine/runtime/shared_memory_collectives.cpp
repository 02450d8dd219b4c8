// Collectives over memory that all ranks have mapped.
//
// Every operation is: write into the own slot, one barrier, read the others' slots. Slots are
// double: an operation uses the half that its predecessor did not. When a rank writes into a half
// again, two operations later, all ranks have arrived at the barrier between, hence finished
// reading it: one barrier an operation is enough.
#include "engine/runtime/collectives.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace hitproof::engine {
namespace {

constexpr uint64_t memory_magic = 0x48504343'30303031;
constexpr int max_ranks = 64;
constexpr int looks_before_sleep = 20;
// From this size on, summing a share each and gathering costs less than every rank summing
// everything.
constexpr int two_phase_floats = 8192;

struct alignas(64) Header {
  uint64_t magic;
  uint64_t slot_bytes;
  int32_t size;
  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> generation; // futex: raised when all have arrived
  alignas(64) std::atomic<uint32_t> sleepers;   // ranks in (or on their way into) the futex
  alignas(64) std::atomic<int32_t> aborted;     // rank + 1 that gave up, 0: none
  std::atomic<int32_t> pid[max_ranks];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

size_t header_bytes() { return (sizeof(Header) + 4095) / 4096 * 4096; }

size_t memory_bytes(const Header& h) {
  return header_bytes() + 2 * static_cast<size_t>(h.size) * h.slot_bytes;
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Gone, or dead and not yet collected by its parent.
bool process_dead(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  char text[256];
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n <= 0) return true;
  text[n] = '\0';
  const char* paren = std::strrchr(text, ')'); // the name before it may hold anything
  return paren != nullptr && (paren[2] == 'Z' || paren[2] == 'X');
}

class SharedMemory final : public Collectives {
 public:
  SharedMemory(int fd, int rank, const CollectiveOptions& options);
  ~SharedMemory() override { ::munmap(base_, bytes_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_gather_rows(const float* own, int rows, int cols, float* all) override;
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override;
  void all_reduce(float* data, int n) override;
  void all_gather(const void* mine, size_t bytes_each, void* all) override;
  void barrier() override { meet(); }
  std::string missing_peer() const override;
  void abort() {
    header_->aborted.store(rank_ + 1);
    wake();
  }

 private:
  std::byte* slot(int rank) {
    return base_ + header_bytes() +
           (static_cast<size_t>(half_) * static_cast<size_t>(size_) + static_cast<size_t>(rank)) *
               slot_bytes_;
  }
  const float* floats(int rank) { return reinterpret_cast<const float*>(slot(rank)); }
  int slot_floats() const { return static_cast<int>(slot_bytes_ / sizeof(float)); }

  void meet();
  void sleep_until_changed(uint32_t generation);
  void wake();
  void look_at_peers(std::chrono::steady_clock::time_point end);
  void gather_pieces(const std::byte* mine, size_t bytes, std::byte* all);
  void sum_small(float* data, int n);
  void sum_large(float* data, int n);

  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
  Header* header_ = nullptr;
  size_t slot_bytes_ = 0;
  int rank_;
  int size_ = 0;
  int half_ = 0;
  CollectiveOptions options_;
};

SharedMemory::SharedMemory(int fd, int rank, const CollectiveOptions& options)
    : rank_(rank), options_(options) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) fail("cannot look at the collectives' memory");
  bytes_ = static_cast<size_t>(st.st_size);
  if (bytes_ < header_bytes()) throw CollectiveError("the collectives' memory is too small");
  void* p = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) fail("cannot map the collectives' memory");
  base_ = static_cast<std::byte*>(p);
  header_ = reinterpret_cast<Header*>(base_);
  if (header_->magic != memory_magic || memory_bytes(*header_) > bytes_ || rank < 0 ||
      rank >= header_->size) {
    ::munmap(base_, bytes_);
    throw CollectiveError("the descriptor is not this group's collectives memory");
  }
  size_ = header_->size;
  slot_bytes_ = header_->slot_bytes;
  header_->pid[rank_].store(::getpid());
}

void SharedMemory::wake() {
  ::syscall(SYS_futex, &header_->generation, FUTEX_WAKE, max_ranks, nullptr, nullptr, 0);
}

void SharedMemory::sleep_until_changed(uint32_t generation) {
  const timespec slice{0, 50'000'000};
  header_->sleepers.fetch_add(1);
  if (header_->generation.load() == generation)
    ::syscall(SYS_futex, &header_->generation, FUTEX_WAIT, generation, &slice, nullptr, 0);
  header_->sleepers.fetch_sub(1);
}

std::string SharedMemory::missing_peer() const {
  if (const int who = header_->aborted.load(); who != 0)
    return "rank " + std::to_string(who - 1) + " gave up a collective operation";
  for (int r = 0; r < size_; ++r) {
    const int pid = header_->pid[r].load();
    if (r != rank_ && pid != 0 && process_dead(pid))
      return "rank " + std::to_string(r) + " died during a collective operation";
  }
  if (options_.parent != 0 && ::getppid() != options_.parent)
    return "the front process died during a collective operation";
  return {};
}

void SharedMemory::look_at_peers(std::chrono::steady_clock::time_point end) {
  if (const std::string missing = missing_peer(); !missing.empty()) throw CollectiveError(missing);
  if (std::chrono::steady_clock::now() >= end)
    throw CollectiveError("a collective operation took longer than " +
                          std::to_string(options_.timeout.count()) + " ms");
}

void SharedMemory::meet() {
  const uint32_t generation = header_->generation.load();
  if (header_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(size_)) {
    header_->arrived.store(0);
    header_->generation.store(generation + 1);
    if (header_->sleepers.load() != 0) wake();
  } else {
    // More ranks than cores is the normal case here: a moment's look, then sleep. Giving the core
    // away by sched_yield instead puts the rank behind every other process of the machine: measured
    // under load, an all-reduce took 6 ms with yields and 0.4 ms with sleeping at once.
    for (int i = 0; i < looks_before_sleep && header_->generation.load() == generation; ++i)
      _mm_pause();
    std::chrono::steady_clock::time_point end{};
    while (header_->generation.load() == generation) {
      sleep_until_changed(generation);
      if (header_->generation.load() != generation) break;
      if (end == std::chrono::steady_clock::time_point{})
        end = std::chrono::steady_clock::now() + options_.timeout;
      look_at_peers(end);
    }
  }
}

void SharedMemory::gather_pieces(const std::byte* mine, size_t bytes, std::byte* all) {
  for (size_t at = 0; at < bytes; at += slot_bytes_) {
    const size_t piece = std::min(slot_bytes_, bytes - at);
    std::memcpy(slot(rank_), mine + at, piece);
    meet();
    for (int r = 0; r < size_; ++r) {
      std::byte* to = all + static_cast<size_t>(r) * bytes + at;
      if (r != rank_ || to != mine + at) std::memmove(to, r == rank_ ? mine + at : slot(r), piece);
    }
    half_ ^= 1;
  }
}

void SharedMemory::all_gather(const void* mine, size_t bytes_each, void* all) {
  gather_pieces(static_cast<const std::byte*>(mine), bytes_each, static_cast<std::byte*>(all));
}

void SharedMemory::all_gather_rows(const float* own, int rows, int cols, float* all) {
  if (rows <= 0 || cols <= 0) return;
  const int most = row_range(rows, 0, size_).second; // rank 0 never has fewer rows than another
  const int piece_rows = std::max(1, slot_floats() / cols);
  const auto [first, last] = row_range(rows, rank_, size_);
  const auto width = static_cast<size_t>(cols);
  for (int at = 0; at < most; at += piece_rows) {
    const int mine = std::clamp(last - first - at, 0, piece_rows);
    const float* from = own + static_cast<size_t>(at) * width;
    std::memcpy(slot(rank_), from, static_cast<size_t>(mine) * width * sizeof(float));
    meet();
    for (int r = 0; r < size_; ++r) {
      const auto [a, b] = row_range(rows, r, size_);
      const int n = std::clamp(b - a - at, 0, piece_rows);
      float* to = all + static_cast<size_t>(a + at) * width;
      const float* source = r == rank_ ? from : floats(r);
      if (n > 0 && source != to)
        std::memmove(to, source, static_cast<size_t>(n) * width * sizeof(float));
    }
    half_ ^= 1;
  }
}

void SharedMemory::reduce_scatter_rows(const float* partial, int rows, int cols, float* own) {
  if (rows <= 0 || cols <= 0) return;
  const auto width = static_cast<size_t>(cols);
  const int piece_rows = std::max(1, slot_floats() / cols);
  const auto [first, last] = row_range(rows, rank_, size_);
  for (int at = 0; at < rows; at += piece_rows) {
    const int n = std::min(piece_rows, rows - at);
    const float* from = partial + static_cast<size_t>(at) * width;
    auto* mine = reinterpret_cast<float*>(slot(rank_));
    // The own rows are not needed by anyone else.
    const int a = std::clamp(first - at, 0, n);
    const int b = std::clamp(last - at, 0, n);
    std::memcpy(mine, from, static_cast<size_t>(a) * width * sizeof(float));
    std::memcpy(mine + static_cast<size_t>(b) * width, from + static_cast<size_t>(b) * width,
                static_cast<size_t>(n - b) * width * sizeof(float));
    meet();
    const size_t begin = static_cast<size_t>(a) * width;
    const size_t count = static_cast<size_t>(b - a) * width;
    float* to = own + static_cast<size_t>(std::max(0, at + a - first)) * width;
    if (count > 0) {
      const float* s0 = rank_ == 0 ? from + begin : floats(0) + begin;
      if (size_ == 4) { // one pass, still ((0 + 1) + 2) + 3
        const float* s1 = rank_ == 1 ? from + begin : floats(1) + begin;
        const float* s2 = rank_ == 2 ? from + begin : floats(2) + begin;
        const float* s3 = rank_ == 3 ? from + begin : floats(3) + begin;
        for (size_t i = 0; i < count; ++i)
          to[i] = ((s0[i] + s1[i]) + s2[i]) + s3[i];
      } else {
        for (size_t i = 0; i < count; ++i) {
          float sum = s0[i];
          for (int r = 1; r < size_; ++r)
            sum += (r == rank_ ? from : floats(r))[begin + i];
          to[i] = sum;
        }
      }
    }
    half_ ^= 1;
  }
}

void SharedMemory::sum_small(float* data, int n) {
  const auto bytes = static_cast<size_t>(n) * sizeof(float);
  std::memcpy(slot(rank_), data, bytes);
  meet();
  const float* first = floats(0);
  for (int i = 0; i < n; ++i)
    data[i] = first[i];
  for (int r = 1; r < size_; ++r) {
    const float* term = floats(r);
    for (int i = 0; i < n; ++i)
      data[i] += term[i];
  }
  half_ ^= 1;
}

void SharedMemory::sum_large(float* data, int n) {
  const int first = row_range(n, rank_, size_).first;
  reduce_scatter_rows(data, n, 1, data + first);
  all_gather_rows(data + first, n, 1, data);
}

void SharedMemory::all_reduce(float* data, int n) {
  for (int at = 0; at < n;) {
    const int piece = std::min(n - at, slot_floats());
    if (piece < two_phase_floats) {
      sum_small(data + at, piece);
    } else {
      sum_large(data + at, piece);
    }
    at += piece;
  }
}

} // namespace

int create_collectives_memory(int size, size_t slot_bytes) {
  if (size < 1 || size > max_ranks || slot_bytes < 4096)
    throw CollectiveError("bad size of a collectives group");
  const int fd = ::memfd_create("hitproof-collectives", MFD_CLOEXEC);
  if (fd < 0) fail("cannot make the collectives' memory");
  Header h{};
  h.size = size;
  h.slot_bytes = (slot_bytes + 4095) / 4096 * 4096;
  const auto fail_and_close = [fd] {
    const int error = errno;
    ::close(fd);
    errno = error;
    fail("no room for the collectives' memory");
  };
  if (::ftruncate(fd, static_cast<off_t>(memory_bytes(h))) != 0) fail_and_close();
  void* p = ::mmap(nullptr, header_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) fail_and_close();
  auto* header = new (p) Header{};
  header->size = h.size;
  header->slot_bytes = h.slot_bytes;
  header->magic = memory_magic;
  ::munmap(p, header_bytes());
  return fd;
}

std::unique_ptr<Collectives> open_collectives(int fd, int rank, const CollectiveOptions& options) {
  return std::make_unique<SharedMemory>(fd, rank, options);
}

void abort_collectives(Collectives& collectives) {
  if (auto* shared = dynamic_cast<SharedMemory*>(&collectives)) shared->abort();
}

} // namespace hitproof::engine
