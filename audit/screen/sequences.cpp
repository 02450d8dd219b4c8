#include "audit/screen/sequences.h"

#include <algorithm>
#include <bit>

namespace hitproof::audit::screen {

Sequences::Thread& Sequences::thread(std::int64_t process, std::int64_t thread) {
  return threads_[{process, thread}];
}

bool Sequences::reserve(Thread& thread, std::size_t words) {
  if (words <= thread.seen.size()) return true;
  // Numbers without gaps take a bit or two a record; this is 64 for every 128 bytes of the file.
  const std::size_t most_words = (std::size_t{1} << 16) + static_cast<std::size_t>(most_ / 16);
  const std::size_t all = words_ + words - thread.seen.size();
  if (all > most_words) return countable_ = false;
  words_ = all;
  thread.seen.resize(words);
  return true;
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
    if (word >= last->seen.size() && !reserve(*last, std::max(word + 1, word * 2))) continue;
    last->seen[word] |= std::uint64_t{1} << (n & 63);
  }
}

void Sequences::add(const Sequences& other) {
  countable_ = countable_ && other.countable_;
  for (const auto& [name, from] : other.threads_) {
    Thread& to = threads_[name];
    to.rows += from.rows;
    to.last = std::max(to.last, from.last);
    if (!reserve(to, from.seen.size())) return;
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
