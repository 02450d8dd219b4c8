#include "schema/segment_pool.h"

#include "schema/journal_runtime.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hitproof::schema {

Status SegmentPool::open(const std::string& dir, std::size_t segments) {
  namespace fs = std::filesystem;
  const std::string journal = dir + "/journal";
  folder_ = journal + "/pool";
  target_ = segments;
  std::error_code error;
  fs::create_directories(segments > 0 ? folder_ : journal, error);
  if (error) return Status::from_errno(error.value(), "make " + folder_);
  control_ = map_control(journal.c_str());
  if (control_ == nullptr) return Status::from_errno(errno, "map " + journal + "/control");
  // What a killed recorder left waiting is as good as new: nobody wrote to it.
  return {};
}

void SegmentPool::fill() {
  if (control_ == nullptr || target_ == 0) return;
  // In pieces of this size: the page cache keeps each as one folio, and the first store to a page
  // costs more the larger its folio is (ext4 visits all blocks of it). Measured on ext4 of Linux
  // 6.18 for the pages of a segment: written at once 2.3 ms, in pieces of 64 KiB 0.2 ms, of 4 KiB
  // 0.7 ms.
  constexpr std::size_t piece = 65536;
  static_assert(journal_segment_bytes % piece == 0);
  static constexpr char zeros[piece] = {};
  // At most the pool's size in one call: writers at full speed take them as fast as they are made,
  // and the caller has rows to move.
  for (std::size_t made = 0; made < target_; ++made) {
    const std::uint64_t tail = __atomic_load_n(&control_->pool_tail, __ATOMIC_ACQUIRE);
    const std::uint64_t head = __atomic_load_n(&control_->pool_head, __ATOMIC_ACQUIRE);
    if (tail - head >= target_) return;
    const std::string path = folder_ + "/" + std::to_string(tail) + ".hpj";
    unlink(path.c_str());
    const int fd = make_allocated_file(path.c_str(), journal_segment_bytes);
    if (fd < 0) return;
    // Written and not only allocated: the pages then lie in memory with their blocks assigned, and
    // the writer's first touch is cheap.
    std::size_t written = 0;
    while (written < journal_segment_bytes &&
           pwrite(fd, zeros, piece, static_cast<off_t>(written)) == static_cast<ssize_t>(piece))
      written += piece;
    close(fd);
    if (written != journal_segment_bytes) {
      unlink(path.c_str());
      return;
    }
    __atomic_store_n(&control_->pool_tail, tail + 1, __ATOMIC_RELEASE);
  }
}

void SegmentPool::remove() {
  if (control_ == nullptr) return;
  // Nobody may take one from now on.
  const std::uint64_t tail = __atomic_load_n(&control_->pool_tail, __ATOMIC_ACQUIRE);
  __atomic_store_n(&control_->pool_head, tail, __ATOMIC_RELEASE);
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

std::uint64_t SegmentPool::dropped() const noexcept {
  return control_ == nullptr ? 0 : __atomic_load_n(&control_->dropped, __ATOMIC_RELAXED);
}

SegmentPool::~SegmentPool() {
  if (control_ != nullptr) munmap(control_, control_page_bytes);
}

} // namespace hitproof::schema
