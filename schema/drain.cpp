#include "schema/drain.h"

#include "schema/drain_state.h"
#include "schema/journal_reader.h"
#include "schema/process_life.h"
#include "schema/record_table.h"
#include "schema/segment_pool.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <sys/file.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace hitproof::schema {
namespace fs = std::filesystem;

namespace {
// One transaction's worth: large enough to spread its cost, small enough that a reader of the
// recording and the pool do not wait long.
constexpr std::size_t records_per_poll = 65536;

struct OpenSegment {
  JournalReader reader;
  std::string path;
  bool numbered = false; // by number_threads()
};
} // namespace

struct Drain::Impl {
  Impl(std::string directory, Recording& target) : dir(std::move(directory)), recording(target) {}
  ~Impl() {
    if (lock_fd >= 0) ::close(lock_fd);
  }

  Status start(std::size_t pool_segments);
  Status lock();
  Status scan();
  Result<bool> scan_once();
  void number_threads();
  Status move(std::size_t* moved);
  Status move_segment(const DrainState::Key& key, JournalReader& reader, std::size_t* moved,
                      bool* open);
  void forget_all();
  void forget_exhausted();
  Status settle();
  Status settle_unreadable(const std::string& path, const Status& why);
  Status write_counts();
  std::uint64_t dropped() const { return std::max(state.dropped(), pool.dropped()); }

  std::string dir;
  Recording& recording;
  SegmentPool pool;
  DrainState state;
  // In the order of a thread's segments, so that its sequence numbers rise.
  std::map<DrainState::Key, OpenSegment> segments;
  std::set<std::string> known; // their paths
  std::uint64_t live = 0;
  std::uint64_t unreadable = 0;
  int lock_fd = -1;
  Status status;
};

Status Drain::Impl::lock() {
  const std::string path = dir + "/journal/recorder.lock";
  lock_fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_fd < 0) return Status::from_errno(errno, "open " + path);
  if (::flock(lock_fd, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return Status::from_errno(errno, "lock " + path);
  return Status(Code::busy, dir + ": a recorder is at work there; wait until it has ended");
}

Status Drain::Impl::start(std::size_t pool_segments) {
  std::error_code error;
  fs::create_directories(dir + "/journal", error);
  if (error) return Status::from_errno(error.value(), "make " + dir + "/journal");
  Status result = lock();
  if (result.ok()) result = pool.open(dir, pool_segments);
  if (result.ok()) result = state.load(recording);
  if (result.ok()) pool.fill();
  return result;
}

// True where there was a segment that was not known.
Result<bool> Drain::Impl::scan_once() {
  Result<std::vector<std::string>> paths = list_segments(dir);
  if (!paths.ok()) return paths.status();
  bool found = false;
  for (const std::string& path : *paths) {
    if (known.contains(path)) continue;
    Result<JournalReader> reader = JournalReader::open(path);
    if (!reader.ok()) continue; // perhaps not ready yet: finish() decides what it was
    const SegmentHeader& header = reader->header();
    const DrainState::Key key{header.pid, header.tid, header.segment, header.start_ns};
    const DrainState::Progress progress = state.progress(key);
    reader->seek(progress.slots, progress.last_seq);
    if (!segments.emplace(key, OpenSegment{std::move(*reader), path}).second) continue;
    known.insert(path);
    found = true;
  }
  return found;
}

// Until nothing new is there: a list that is read while it grows may have a later segment and lack
// an earlier one.
Status Drain::Impl::scan() {
  for (;;) {
    const Result<bool> found = scan_once();
    if (!found.ok()) return found.status();
    if (!*found) return {};
  }
}

// Threads that have written get their numbers, the oldest first: a recorder that goes on after this
// one gives them out anew from the rows, in that order (DrainState::load).
void Drain::Impl::number_threads() {
  std::vector<const DrainState::Key*> fresh;
  for (auto& [key, segment] : segments) {
    if (segment.numbered || (!segment.reader.waiting() && segment.reader.dropped() == 0)) continue;
    segment.numbered = true;
    fresh.push_back(&key);
  }
  std::sort(fresh.begin(), fresh.end(), [](const DrainState::Key* a, const DrainState::Key* b) {
    return std::tie(a->start_ns, *a) < std::tie(b->start_ns, *b);
  });
  for (const DrainState::Key* key : fresh)
    (void)state.thread_number(*key);
}

Status Drain::Impl::move_segment(const DrainState::Key& key, JournalReader& reader,
                                 std::size_t* moved, bool* open) {
  DrainState::Progress progress = state.progress(key);
  if (!reader.waiting() && reader.dropped() == progress.dropped) return {};
  // A thread's next segment continues where this drain left its last one.
  if (reader.position() == 0) reader.seek(0, progress.last_seq);
  const std::uint32_t thread = state.thread_number(key);
  const std::uint64_t gaps = reader.gaps();
  const std::uint64_t damaged = reader.damaged();
  const auto need_transaction = [&]() -> Status {
    if (*open) return {};
    Status begun = recording.begin();
    *open = begun.ok();
    return begun;
  };
  while (*moved < records_per_poll) {
    const Slot* slot = reader.next();
    if (slot == nullptr) break;
    if (record_info(slot->type) == nullptr) {
      ++progress.damaged;
      continue;
    }
    Status inserted = need_transaction();
    if (inserted.ok())
      inserted =
          recording.insert(slot->type, slot->payload, {key.pid, thread, slot->seq, slot->t_ns});
    if (!inserted.ok()) return inserted;
    ++progress.records;
    ++*moved;
  }
  progress.slots = reader.position();
  progress.last_seq = reader.last_seq();
  progress.gaps += reader.gaps() - gaps;
  progress.damaged += reader.damaged() - damaged;
  progress.dropped = reader.dropped();
  Status stored = need_transaction();
  if (stored.ok()) stored = state.store(recording, key, progress);
  return stored;
}

void Drain::Impl::forget_all() {
  segments.clear();
  known.clear();
}

Status Drain::Impl::move(std::size_t* moved) {
  Status result = scan();
  number_threads();
  bool open = false;
  for (auto it = segments.begin(); result.ok() && it != segments.end(); ++it) {
    if (*moved >= records_per_poll) break;
    result = move_segment(it->first, it->second.reader, moved, &open);
  }
  if (result.ok() && open) result = recording.commit();
  if (result.ok()) return result;
  // What was read belongs to a transaction that does not stand: begin again from what does.
  if (open) (void)recording.rollback();
  forget_all();
  *moved = 0;
  (void)state.load(recording);
  return result;
}

void Drain::Impl::forget_exhausted() {
  for (auto it = segments.begin(); it != segments.end();) {
    if (it->second.reader.exhausted()) {
      ::unlink(it->second.path.c_str());
      known.erase(it->second.path);
      it = segments.erase(it);
    } else {
      ++it;
    }
  }
}

Status Drain::Impl::settle_unreadable(const std::string& path, const Status& why) {
  // Without its header a segment holds nothing yet. Anything else that cannot be read is evidence
  // of damage, and goes into the archive as it is.
  if (why.code() == Code::not_found) return {};
  if (why.code() == Code::incomplete) {
    ::unlink(path.c_str());
    return {};
  }
  ++unreadable;
  std::error_code error;
  const fs::path folder = fs::path(dir) / "data" / "damaged";
  fs::create_directories(folder, error);
  fs::rename(path, folder / fs::path(path).filename(), error);
  if (error) return Status::from_errno(error.value(), "move " + path + " to " + folder.string());
  return {};
}

Status Drain::Impl::settle() {
  live = 0;
  for (auto it = segments.begin(); it != segments.end();) {
    if (writer_lives(it->second.reader.header())) {
      ++live;
      ++it;
      continue;
    }
    ::unlink(it->second.path.c_str());
    known.erase(it->second.path);
    it = segments.erase(it);
  }
  Result<std::vector<std::string>> paths = list_segments(dir);
  if (!paths.ok()) return paths.status();
  for (const std::string& path : *paths) {
    if (known.contains(path)) continue;
    Result<JournalReader> reader = JournalReader::open(path);
    if (reader.ok()) { // came after the last scan, so somebody still writes
      ++live;
      continue;
    }
    Status result = settle_unreadable(path, reader.status());
    if (!result.ok()) return result;
  }
  return {};
}

Status Drain::Impl::write_counts() {
  Status result = recording.begin();
  const auto put = [&](const char* key, std::uint64_t value) {
    if (result.ok()) result = recording.put(key, static_cast<std::int64_t>(value));
  };
  put("records", state.records());
  put("dropped", dropped());
  put("gaps", state.gaps());
  put("damaged_slots", state.damaged());
  put("damaged_journals", unreadable);
  put("live_writers", live);
  if (!result.ok()) {
    (void)recording.rollback();
    return result;
  }
  return recording.commit();
}

Drain::Drain(const std::string& dir, Recording& recording, std::size_t pool_segments)
    : impl_(std::make_unique<Impl>(dir, recording)) {
  impl_->status = impl_->start(pool_segments);
}

Drain::~Drain() = default;

std::size_t Drain::poll() {
  if (!impl_->status.ok()) return 0;
  std::size_t moved = 0;
  impl_->status = impl_->move(&moved);
  if (impl_->status.ok()) impl_->forget_exhausted();
  impl_->pool.fill();
  return moved;
}

Status Drain::finish() {
  if (impl_->lock_fd < 0 || impl_->status.code() == Code::busy) return impl_->status;
  // A full disk may have been cleared since poll() gave up, so everything is tried once more.
  Status result;
  for (std::size_t moved = 1; result.ok() && moved > 0;) {
    moved = 0;
    result = impl_->move(&moved);
    if (result.ok()) impl_->forget_exhausted();
  }
  if (result.ok()) result = impl_->settle();
  if (result.ok()) result = impl_->write_counts();
  if (!result.ok()) {
    if (impl_->status.ok()) impl_->status = result;
    return result;
  }
  impl_->pool.remove();
  if (impl_->live == 0) {
    // The folder goes only if it is empty: a writer that came meanwhile keeps what it wrote.
    ::unlink((impl_->dir + "/journal/control").c_str());
    ::unlink((impl_->dir + "/journal/recorder.lock").c_str());
    ::rmdir((impl_->dir + "/journal").c_str());
  }
  return {};
}

const Status& Drain::status() const noexcept { return impl_->status; }
std::uint64_t Drain::records() const noexcept { return impl_->state.records(); }
std::uint64_t Drain::gaps() const noexcept { return impl_->state.gaps(); }
std::uint64_t Drain::dropped() const noexcept { return impl_->dropped(); }
std::uint64_t Drain::live_writers() const noexcept { return impl_->live; }

} // namespace hitproof::schema
