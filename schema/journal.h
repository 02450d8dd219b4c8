// The crash-proof journal that probes and engine write records to: one memory-mapped file per
// thread and segment, `$HITPROOF_DIR/journal/<pid>-<tid>-<segment>.hpj` (HITPROOF_DIR absolute).
// A thread that begins after another has ended goes on in that one's journal, under its number and
// with the next sequence number: what it does comes after all that is there.
//
// Promises: a record that append() accepted survives SIGKILL of its process; append() takes no
// lock, allocates nothing after the thread's first record and never throws; what cannot be written
// (disk full, no directory, a signal handler inside an append) is counted and leaves a gap in the
// thread's sequence numbers, so that a reader sees it; a forked child writes journals of its own.
// Without HITPROOF_DIR for_this_thread() is null and nothing happens.
#pragma once

#include "schema/clock.h"
#include "schema/journal_format.h"
#include "schema/records.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hitproof::schema {

class JournalWriter {
 public:
  // The calling thread's writer, made at the first call; null where no directory is set or usable.
  // The pointer is valid until the thread ends or forks: do not keep it.
  static JournalWriter* for_this_thread() noexcept {
    JournalWriter* writer = self_;
    if (writer == nullptr ||
        writer->generation_ != writer->current_->load(std::memory_order_relaxed)) [[unlikely]]
      return make_or_restart();
    return writer->usable_ ? writer : nullptr;
  }

  // Appends one record. False: it was lost and counted.
  template <class R> bool append(const R& record, std::uint64_t t_ns = now()) noexcept {
    static_assert(std::is_trivially_copyable_v<R> && sizeof(R) <= max_payload_bytes);
    return append_bytes(R::type, &record, sizeof(R), t_ns);
  }
  // The same for a record known only by its type number. Precondition: bytes <= max_payload_bytes.
  // Inline, so that a record of known size is stored and not handed to memcpy().
  bool append_bytes(std::uint16_t type, const void* payload, std::size_t bytes,
                    std::uint64_t t_ns) noexcept {
    if (!enter()) [[unlikely]]
      return false;
    if (used_ == count_ && !next_segment(t_ns)) [[unlikely]] {
      count_loss();
      leave();
      return false;
    }
    Slot& slot = slots_[used_++];
    slot.t_ns = t_ns;
    slot.type = type;
    std::memcpy(slot.payload, payload, bytes);
    __atomic_store_n(&slot.seq, ++seq_, __ATOMIC_RELEASE);
    // The segment was last touched when it was made: its lines are far away by now.
    __builtin_prefetch(&slot + 2, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(&slot + 2) + 64, 1);
    leave();
    return true;
  }

  // Counts a record as lost without trying to write it; its sequence number stays missing.
  void lose() noexcept;

  // Records lost by this thread.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  // Sequence number of the last record, written or lost.
  std::uint32_t sequence() const noexcept { return seq_; }

  // Records lost by all threads of this process, those that never got a writer included.
  static std::uint64_t dropped_in_process() noexcept;

  // Makes the writer that LastWords lends. For where it may be made: not in a signal handler.
  static void prepare_last_words() noexcept;

  // Writes to `dir` instead of HITPROOF_DIR from now on (null or empty: nowhere); every thread's
  // writer moves over at its next use. For programs that record themselves, and for tests.
  static void use_directory(const char* dir) noexcept;

  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

 private:
  friend struct JournalRuntime;
  friend class LastWords;
  JournalWriter() noexcept = default;
  ~JournalWriter() = default;
  static JournalWriter* make_or_restart() noexcept;
  bool next_segment(std::uint64_t t_ns) noexcept;
  void leave_segment() noexcept;
  // Around everything that changes the writer. False: a signal handler came in the middle of it,
  // and what it wanted is counted as lost.
  bool enter() noexcept {
    if (busy_.load(std::memory_order_relaxed)) [[unlikely]]
      return refuse_nested();
    busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (nested_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      seq_ += nested_.exchange(0);
    return true;
  }
  void leave() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    busy_.store(false, std::memory_order_relaxed);
  }
  bool refuse_nested() noexcept;
  void count_loss() noexcept;

  // Initial-exec: the probe is preloaded, and a lazily allocated thread-local could call malloc in
  // the middle of a hook.
  static thread_local constinit JournalWriter* self_ __attribute__((tls_model("initial-exec")));

  Slot* slots_ = nullptr;
  SegmentHeader* header_ = nullptr;
  std::uint32_t used_ = 0;  // slots of this segment that are written
  std::uint32_t count_ = 0; // slots of this segment
  std::uint32_t seq_ = 0;
  std::uint32_t segment_ = 0;    // number of the next segment
  std::uint64_t generation_ = 0; // of the process and directory it was opened for
  const std::atomic<std::uint64_t>* current_ = nullptr; // the generation as it is now
  std::uint64_t start_ns_ = 0;                          // when this thread's journal began
  std::uint64_t retry_ns_ = 0; // no new attempt at a segment before this time
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint32_t> nested_{0}; // losses inside an append, not yet in seq_
  std::atomic<bool> busy_{false};        // an append is under way: a signal handler must not enter
  std::uint32_t pid_ = 0;
  std::uint32_t tid_ = 0;              // of the thread that began the journal
  JournalWriter* next_ = nullptr;      // in the list of all
  JournalWriter* next_idle_ = nullptr; // in that of those without a thread
  bool usable_ = false;                // there is a directory to write to
  // Paths of a segment that is begun, which may happen on the small stack of a signal handler.
  char path_[4096], pooled_[4096];
};

// While it lives, a thread that has no writer of its own, or is in the middle of a record, has one
// that was made before: a signal handler that ends the program must neither allocate nor wait. One
// thread at a time; others go without.
class LastWords {
 public:
  LastWords() noexcept;
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  JournalWriter* own_ = nullptr;
  bool lent_ = false;
};

// Appends to the calling thread's journal; false where there is none or the record was lost.
template <class R> bool journal(const R& record, std::uint64_t t_ns = now()) noexcept {
  JournalWriter* writer = JournalWriter::for_this_thread();
  return writer != nullptr && writer->append(record, t_ns);
}

} // namespace hitproof::schema
