// One look at every record of a recording, and what the rules then need not look at again.
//
// A rule is its query. Over millions of records most of a query's work is on records about which it
// has nothing to say; the look finds those by plain comparisons, and leaves to the query the rest,
// in temporary tables of the tables' own names. What is left out must provably change no row that
// the query gives: wherever the look is not certain, records stay in, and a recording of another
// form than a recorder writes is left to the statements whole (Unsuited).
#pragma once

#include "audit/context.h"
#include "audit/screen/flat.h"
#include "audit/screen/sequences.h"
#include "schema/table_pages.h"

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace hitproof::audit::screen {

// The statements are the way.
class Unsuited : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Rowids = std::vector<std::int64_t>;
// By table: the rows that a query still needs. Tables that are not named are needed whole.
using Kept = std::map<std::string, Rowids>;

inline constexpr std::int64_t never = INT64_MIN;

// A row of `transfer` and what belongs to it.
struct Transfer {
  std::int64_t id = 0, rowid = 0, request = 0, rank = 0, direction = 0, t_ns = 0, stream = 0;
  std::int64_t token_begin = 0, token_end = 0, boundary = 0, next_token = 0, pages = 0;
  std::uint32_t key = 0;            // number of its key
  std::uint32_t key_token = 0;      // number of its key and next token
  std::int64_t complete_ns = never; // newest mark that its copies were complete
  std::int64_t waited_ns = never;   // newest end of a wait for it as a save
  std::int64_t delay_began = never, delay_ended = never, delay_ns = never;
};

struct Entry {
  std::int64_t process, rank, entry, base, page_stride, page_bytes, num_pages, origin, kind,
      transferred, transfer_group, key_scope;
};

// Small tables, read by statements before the look.
struct Small {
  explicit Small(Context& context);

  std::uint32_t transfer_of(std::int64_t id) const {
    return transfer_index.find(static_cast<std::uint64_t>(id));
  }

  std::vector<Transfer> transfers;
  std::vector<std::string> keys; // bytes, by the key's number
  bool delay_asked = false;      // some process was to delay its saves
  FlatMap transfer_index;
  std::vector<Entry> entries;
  std::set<std::pair<std::int64_t, std::int64_t>> state_entries; // rank, entry; of the model
  std::vector<bool> tail_entries;       // by entry: any registration of kind 3
  std::vector<std::int64_t> key_scopes; // by entry, of the model; -1: not registered
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>>
      declared; // rank, entry -> kind, transferred
};

// Processes as small numbers; used by one thread each.
class Processes {
 public:
  std::uint16_t number(std::int64_t process);
  const std::vector<std::int64_t>& all() const { return all_; }

 private:
  std::vector<std::int64_t> all_;
  std::map<std::int64_t, std::uint16_t> numbers_;
  std::int64_t last_ = 0;
  std::uint16_t last_number_ = 0;
};

// Reads a whole table. `use` gets each page; columns count from `first_column`, before which stand
// process, thread and seq. Every row counts in `sequences`. Throws Unsuited.
inline constexpr std::size_t first_column = 3;
void scan(const schema::TableMap& map, const char* table, std::vector<std::string> columns,
          Sequences& sequences, const std::function<void(const schema::PageRows&)>& use);

// `value` as a number from 0 to `most`, else Unsuited.
inline std::uint32_t small(std::int64_t value, std::int64_t most = UINT32_MAX - 1) {
  if (value < 0 || value > most) throw Unsuited("a number out of its range");
  return static_cast<std::uint32_t>(value);
}

} // namespace hitproof::audit::screen
