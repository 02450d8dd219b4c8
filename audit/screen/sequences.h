// Which sequence numbers of each thread are there, over all tables: rule evidence counts them.
#pragma once

#include "audit/screen/flat.h"
#include "schema/table_pages.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hitproof::audit::screen {

struct Numbered {
  std::int64_t process = 0, thread = 0;
  std::int64_t rows = 0, different = 0, last = 0;
};

class Sequences {
 public:
  // Numbers above `most` are beyond what a recording of its size holds, and so are far numbers in
  // many threads, whose bits would take more than the file: not countable here.
  explicit Sequences(std::int64_t most) : most_(most) {}

  // Rows of one page; columns 0, 1, 2 are process, thread, seq.
  void note(const schema::PageRows& page);
  void add(const Sequences& other);
  // False where a number was no sequence number; then nothing here is of use.
  bool countable() const { return countable_; }
  // Threads with numbers missing or doubled.
  std::vector<Numbered> irregular() const;

 private:
  struct Thread {
    std::int64_t rows = 0, last = 0;
    std::vector<std::uint64_t> seen; // a bit each
  };
  Thread& thread(std::int64_t process, std::int64_t thread);
  // Makes room for `words` of a thread; false, and no longer countable, where all would be too
  // many.
  bool reserve(Thread& thread, std::size_t words);
  std::int64_t most_;
  std::size_t words_ = 0; // of all threads
  bool countable_ = true;
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads_;
};

} // namespace hitproof::audit::screen
