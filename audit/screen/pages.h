// The announced pages and what every other table says about them, matched once: copies, digests,
// poison. What rules pages and poison then have to look at, and the figures that count page moves.
#pragma once

#include "audit/screen/screen.h"

#include <array>

namespace hitproof::audit::screen {

struct Page {
  std::uint32_t transfer = 0; // index
  std::uint32_t block = 0, generation = 0, token_begin = 0, token_end = 0;
  std::uint16_t entry = 0, process = 0;
  std::int16_t rank = 0; // as announced; the transfer has its own
  bool held = false;
  // By the digests. `one` holds what came first of left and landed; the other equals it or
  // `digests_differ`.
  bool left = false, landed = false, digests_differ = false, digests_odd = false;
  // By the poison. Rows of the transfer's rank, and whether one of them is not as it should be.
  std::uint8_t poisons = 0;
  bool poison_odd = false;
  // By the copies of its process.
  bool copy_refused = false;
  std::uint32_t copies = 0; // not refused
  std::int64_t right_bytes = 0, all_bytes = 0;
  std::int64_t device = 0, host = 0, object = 0, offset = 0, bytes = 0, t_ns = 0, rowid = 0;
  std::array<std::uint8_t, 64> one{};
};

// A copy of the table's row, as far as it matters here.
struct CopyRow {
  std::int64_t process, transfer, entry, block, src, dst, bytes, direction, result;
};
struct DigestRow {
  std::uint32_t transfer; // index
  std::int64_t entry, block, token_end, place, moment, nonzero, bytes, rank;
  const std::uint8_t *content, *page;
};

class Pages {
 public:
  explicit Pages(const Small& known) : known_(known) {}

  // In this order; the copies may come from another thread than digests and poison.
  void read_announced(const schema::TableMap& map, Sequences& sequences);
  void note_copy(const CopyRow& row);
  void note_digest(const DigestRow& row);
  void read_poison(const schema::TableMap& map, Sequences& sequences, Rowids& of_tails);
  // After all of them: pages by transfer.
  void gather();

  const Pieces<Page>& all() const { return pages_; }
  // Indexes of the pages of a transfer.
  std::pair<const std::uint32_t*, const std::uint32_t*> of(std::uint32_t transfer) const {
    return {by_transfer_.data() + begins_[transfer], by_transfer_.data() + begins_[transfer + 1]};
  }

  // Figures of rule poison, over all rows that belong to an announced page.
  struct PoisonSums {
    std::int64_t destinations = 0, residue = 0, residue_content = 0, verified = 0, rows = 0;
  };
  const PoisonSums& poison_sums() const { return poison_sums_; }
  std::int64_t held() const { return held_; }
  // (rank, entry) of announcements, whether or not their transfer is known.
  const std::set<std::pair<std::int64_t, std::int64_t>>& named() const { return named_; }
  std::int64_t process(std::uint16_t number) const { return processes_.all()[number]; }

 private:
  std::uint64_t hash(std::uint32_t transfer, std::int64_t entry, std::int64_t block) const {
    return mixed(std::uint64_t{transfer} << 16 | static_cast<std::uint64_t>(entry),
                 static_cast<std::uint64_t>(block));
  }
  // Null where no such page is announced. `hint` is where the search before it ended.
  Page* find(std::uint32_t transfer, std::int64_t entry, std::int64_t block, std::uint32_t& hint);

  const Small& known_;
  Pieces<Page> pages_;
  FlatIndex index_;
  Processes processes_;
  std::uint32_t copy_hint_ = 0, digest_hint_ = 0, poison_hint_ = 0;
  PoisonSums poison_sums_;
  std::int64_t held_ = 0;
  std::set<std::pair<std::int64_t, std::int64_t>> named_;
  std::vector<std::uint32_t> begins_, by_transfer_;
};

// Transfers about which rule pages, and loads about which rule poison, may have something to say.
struct PageSuspects {
  std::vector<std::uint32_t> pages, poison; // indexes of transfers, ascending
};
// `owner` is the request that a block of a generation was given out to, `never` where nobody knows.
PageSuspects suspects_of(const Pages& pages, const Small& known,
                         const std::function<std::int64_t(std::int64_t, std::int64_t)>& owner);

// What pages_moved.sql gives.
std::vector<Moved> moved(const Pages& pages, const Small& known);
std::vector<Loaded> loaded(const Pages& pages, const Small& known);

} // namespace hitproof::audit::screen
