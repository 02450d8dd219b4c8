// What rules order and waits have to look at among order operations, steps, copies and blocks; and
// what rule crosscheck adds up.
#pragma once

#include "audit/order/gathering.h"
#include "audit/screen/lives.h"
#include "audit/screen/pages.h"

#include <array>

namespace hitproof::audit::screen {

class Orders {
 public:
  // What rule order walks over goes to `calls` as well.
  Orders(Small& known, order::Gathering& calls) : known_(known), calls_(calls) {}

  // Marks and waits come first: they fill in the transfers' times, which others read.
  void read_marks(const schema::TableMap& map, Sequences& sequences);
  void read_operations(const schema::TableMap& map, Sequences& sequences);
  void read_blocks(const schema::TableMap& map, Sequences& sequences);
  void read_steps(const schema::TableMap& map, Sequences& sequences);
  void read_reuse(const schema::TableMap& map, Sequences& sequences);
  // After the announced pages.
  void read_copies(const schema::TableMap& map, Sequences& sequences, Pages& pages);

  // The request that a block of a generation was given out to, `never` where nobody knows.
  std::int64_t owner(std::int64_t block, std::int64_t generation) const;
  // Rows of table block about any of these blocks.
  Rowids rows_of_blocks(const std::set<std::uint32_t>& blocks) const;

  Kept order(const Pages& pages) const;
  Kept waits(const Pages& pages) const;
  const Rowids& first_reads() const { return reading_steps_; } // of step_request

  // Copies of rule pages that touch no announced page but a registered region.
  const Rowids& strays() const { return strays_; }
  // Copies that rule tails looks for.
  const Rowids& unannounced_loads() const { return unannounced_loads_; }

  std::int64_t operations() const { return operations_; }
  std::int64_t saves_that_copied() const;
  // Loads that a step of their rank names as read for the first time.
  std::int64_t loads_read() const { return static_cast<std::int64_t>(first_reads_.size()); }
  // Rows of step_request whose request loaded nothing.
  std::int64_t steps_without_load() const { return steps_without_load_; }
  // Rows for crosscheck.sql: the first order operation of each process, and (process, direction) ->
  // bytes of the copies that were not refused. Processes that only have refused ones have an entry
  // of direction -1.
  const std::map<std::int64_t, std::int64_t>& first_operations() const { return first_rows_; }
  const std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>& copied() const {
    return copied_;
  }

 private:
  struct Operation {
    std::uint32_t event; // number of (process, event)
    std::uint16_t process;
    std::uint8_t op;
    std::uint32_t handle;
    std::int64_t thread, stream, began, ended, rowid;
  };
  // A row that belongs to a transfer.
  struct OfTransfer {
    std::uint32_t transfer;
    std::int64_t rowid;
  };
  // Who first reads a load, on its rank.
  struct Reader {
    bool any = false, several = false;
    std::int64_t request = 0, process = 0, t_ns = 0;
  };
  struct Block {
    std::int64_t block, generation, op, request, t_ns, rowid;
  };
  struct StepOf {
    std::int64_t rank, request, t_ns, rowid, step_rowid;
  };
  // Of one transfer and process, what rule order takes from its copies.
  struct FirstCopy {
    std::uint32_t transfer;
    std::int64_t process, thread, stream, t_ns, access_order;
    std::int64_t of_thread, of_stream, of_t_ns, of_access_order; // rowids
  };
  // A region of registered pages, as rule pages knows them.
  struct Region {
    std::int64_t base, bytes;
  };

  std::uint32_t event_number(std::int64_t process, std::int64_t event);
  std::uint32_t root(std::uint32_t event) const;
  void join(std::uint32_t a, std::uint32_t b);
  void note_first(std::uint32_t transfer, std::int64_t process, const std::int64_t (&values)[4],
                  std::int64_t rowid);
  bool in_a_region(std::int64_t process, std::int64_t address);
  Rowids operations_needed(bool any) const;
  const StepOf* newest_step(const Transfer& t) const;
  void keep_of(const std::vector<bool>& transfers, Kept& kept) const;
  // For each block the times of operations that `which` admits, ascending.
  using Times = std::map<std::int64_t, std::vector<std::int64_t>>;
  template <class Which> Times block_times(const Which& which) const;
  Rowids busy_pages(const Pages& pages, std::vector<bool>& transfers) const;
  const Lives& lives() const;

  Small& known_;
  order::Gathering& calls_;
  Processes processes_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> events_;
  mutable std::vector<std::uint32_t> parents_; // of the events: those that handles join
  std::map<std::array<std::uint8_t, 32>, std::uint32_t> handles_; // an event of each
  std::vector<Named> named_;                                      // marks and waits
  std::vector<OfTransfer> marks_, waits_;
  mutable std::unique_ptr<Lives> lives_;
  std::vector<std::uint32_t> announced_events_;
  Pieces<Operation> kept_operations_;
  std::int64_t operations_ = 0;
  std::map<std::int64_t, std::int64_t> first_rows_;

  std::vector<Block> blocks_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> owners_;
  std::vector<StepOf> steps_;
  std::vector<Reader> readers_; // by transfer
  Rowids reading_steps_, reading_step_rows_;
  std::set<std::uint32_t> first_reads_; // indexes of transfers
  std::int64_t steps_without_load_ = 0;
  Rowids reuse_;
  std::vector<std::uint32_t> reused_; // transfers of these rows

  FlatMap first_index_;
  std::vector<FirstCopy> firsts_;
  std::set<std::pair<std::int64_t, std::int64_t>> copy_threads_, copy_streams_; // with the process
  std::map<std::int64_t, std::vector<Region>> regions_;
  Rowids strays_, unannounced_loads_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> copied_;
};

} // namespace hitproof::audit::screen
