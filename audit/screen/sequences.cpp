#include "audit/screen/sequences.h"

#include <algorithm>
#include <bit>

namespace hitproof::audit::screen {

Sequences::Thread& Sequences::thread(std::int64_t process, std::int64_t thread) {
  return threads_[{process, thread}];
}

void Sequences::note(const schema::PageRows& page) {
  const std::int64_t *process = page.integers(0), *number = page.integers(1),
                     *seq = page.integers(2);
  Thread* last = nullptr;
  for (std::size_t i = 0; i < page.rows(); ++i) {
    if (last == nullptr || process[i] != process[i - 1] || number[i] != number[i - 1])
      last = &thread(process[i], number[i]);
    const std::int64_t n = seq[i];
    if (n < 1 || n > most_) {
      countable_ = false;
      continue;
    }
    ++last->rows;
    last->last = std::max(last->last, n);
    const auto word = static_cast<std::size_t>(n >> 6);
    if (word >= last->seen.size()) last->seen.resize(std::max(word + 1, word * 2));
    last->seen[word] |= std::uint64_t{1} << (n & 63);
  }
}

void Sequences::add(const Sequences& other) {
  countable_ = countable_ && other.countable_;
  for (const auto& [name, from] : other.threads_) {
    Thread& to = threads_[name];
    to.rows += from.rows;
    to.last = std::max(to.last, from.last);
    if (to.seen.size() < from.seen.size()) to.seen.resize(from.seen.size());
    for (std::size_t i = 0; i < from.seen.size(); ++i)
      to.seen[i] |= from.seen[i];
  }
}

std::vector<Numbered> Sequences::irregular() const {
  std::vector<Numbered> out;
  for (const auto& [name, thread] : threads_) {
    std::int64_t different = 0;
    for (const std::uint64_t word : thread.seen)
      different += std::popcount(word);
    if (thread.last > different || thread.rows > different)
      out.push_back({name.first, name.second, thread.rows, different, thread.last});
  }
  return out;
}

} // namespace hitproof::audit::screen
