#include "schema/drain_state.h"

#include "schema/journal_format.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace hitproof::schema {

Status DrainState::load(Recording& recording) {
  *this = DrainState();
  stated_dropped_ = static_cast<std::uint64_t>(recording.get_int("dropped", 0));
  Result<Query> rows = recording.query("SELECT pid, tid, segment, start_ns, slots, records, gaps, "
                                       "damaged, last_seq, dropped FROM journal_file");
  if (!rows.ok()) return rows.status();
  while (rows->next()) {
    const auto u32 = [&](int column) { return static_cast<std::uint32_t>(rows->integer(column)); };
    const auto u64 = [&](int column) { return static_cast<std::uint64_t>(rows->integer(column)); };
    note({u32(0), u32(1), u32(2), u64(3)}, {u32(4), u32(8), u64(5), u64(6), u64(7), u64(9)});
  }
  // As they were given out: an earlier life of a process wrote before a later one.
  std::vector<Thread> threads;
  for (const auto& [thread, progress] : threads_)
    threads.push_back(thread);
  std::sort(threads.begin(), threads.end(), [](const Thread& a, const Thread& b) {
    return std::tie(a.start_ns, a.pid, a.tid) < std::tie(b.start_ns, b.pid, b.tid);
  });
  for (const Thread& thread : threads)
    number_of(thread);
  return rows->status();
}

std::uint32_t DrainState::number_of(const Thread& thread) {
  const auto [it, added] = numbers_.try_emplace(thread, thread.tid);
  while (added && !taken_.emplace(thread.pid, it->second).second)
    it->second += thread_number_step;
  return it->second;
}

std::uint32_t DrainState::thread_number(const Key& key) {
  return number_of({key.pid, key.tid, key.start_ns});
}

DrainState::Progress DrainState::progress(const Key& key) const {
  if (const auto it = segments_.find(key); it != segments_.end()) return it->second;
  Progress fresh;
  const auto thread = threads_.find({key.pid, key.tid, key.start_ns});
  if (thread != threads_.end()) fresh.last_seq = thread->second.last_seq;
  return fresh;
}

void DrainState::note(const Key& key, const Progress& progress) {
  Progress& segment = segments_[key];
  records_ += progress.records - segment.records;
  gaps_ += progress.gaps - segment.gaps;
  damaged_ += progress.damaged - segment.damaged;
  segment = progress;
  Progress& thread = threads_[{key.pid, key.tid, key.start_ns}];
  thread.last_seq = std::max(thread.last_seq, progress.last_seq);
  thread.dropped = std::max(thread.dropped, progress.dropped);
}

Status DrainState::store(Recording& recording, const Key& key, const Progress& progress) {
  Result<Query> upsert = recording.query(
      "INSERT OR REPLACE INTO journal_file (pid, tid, segment, start_ns, slots, records, gaps, "
      "damaged, last_seq, dropped) VALUES (?,?,?,?,?,?,?,?,?,?)");
  if (!upsert.ok()) return upsert.status();
  int column = 0;
  for (const std::uint64_t value :
       {std::uint64_t{key.pid}, std::uint64_t{key.tid}, std::uint64_t{key.segment}, key.start_ns,
        std::uint64_t{progress.slots}, progress.records, progress.gaps, progress.damaged,
        std::uint64_t{progress.last_seq}, progress.dropped})
    upsert->bind(++column, static_cast<std::int64_t>(value));
  upsert->next();
  if (upsert->status().ok()) note(key, progress);
  return upsert->status();
}

std::uint64_t DrainState::dropped() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [thread, progress] : threads_)
    sum += progress.dropped;
  return std::max(sum, stated_dropped_);
}

} // namespace hitproof::schema
