// Events by their lives: what was recorded, waited for, exported and opened under one handle
// between two creations, and which saves and loads are plainly ordered by it. The words are those
// of waits.sql and order.sql.
#pragma once

#include "audit/screen/look.h"

namespace hitproof::audit::screen {

// A row that names an event; `what` is order_op.op, 100 a completion announced, 101 a wait.
struct Named {
  std::uint32_t event = 0, handle = 0, transfer = FlatMap::none;
  std::uint8_t what = 0;
  std::int64_t process = 0, thread = 0, stream = 0, began = 0, ended = 0;
  std::int64_t rank = 0, kind = 0; // of a wait
};

// What a transfer's first copy by a process says.
struct Copied {
  std::int64_t process = 0, thread = 0, stream = 0, t_ns = 0, access_order = 0;
  std::int64_t step_ns = never; // begin of the newest step of its request before it was announced
};

class Lives {
 public:
  Lives(const Small& known, std::vector<Named> rows);

  // Whether rule waits plainly has nothing to say of a save, but for pages used again.
  bool save_is_waited_for(std::uint32_t transfer) const;
  // Whether a load was plainly waited for by `process` before `read_ns`.
  bool load_is_waited_for(std::uint32_t transfer, std::int64_t process, std::int64_t read_ns) const;
  // Whether a save's copies plainly come after a record of its rank that was made after the step.
  bool save_is_behind(std::uint32_t transfer, const Copied& copied) const;

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;
  using Rows = std::vector<std::uint32_t>; // indexes into rows_

  void join_handles();
  // The life that a life stands for where it was made; nowhere where that is not plain.
  std::uint32_t made(std::uint32_t life) const;
  template <class Use> void each(std::uint32_t life, const Use& use) const;
  bool synchronised(const Named& wait, std::uint32_t life, std::int64_t& when) const;
  bool any_edge(const Rows& edges, std::uint32_t transfer, const Copied& copied) const;
  bool of_rank(std::int64_t process, std::int64_t rank) const {
    return rank_processes_.contains({rank, process});
  }

  const Small& known_;
  std::vector<Named> rows_;               // by event, in the order of lives
  std::vector<std::uint32_t> lives_;      // of each row
  std::vector<std::uint32_t> begins_;     // first row of each life, and the end
  std::vector<bool> odd_;                 // lives whose begin is not plain
  std::vector<std::uint32_t> made_;       // of each life
  std::vector<Rows> completions_, waits_; // by transfer
  std::map<std::pair<std::int64_t, std::int64_t>, Rows> on_streams_,
      on_threads_; // with the process
  std::set<std::pair<std::int64_t, std::int64_t>> rank_processes_;
};

} // namespace hitproof::audit::screen
