// What rules boundary, keys and tails have to look at among the digests of pages and states.
#pragma once

#include "audit/screen/pages.h"

namespace hitproof::audit::screen {

class Digests {
 public:
  Digests(const Small& known, Pages& pages) : known_(known), pages_(pages) {}

  // In this order, after the announced pages.
  void read_states(const schema::TableMap& map, Sequences& sequences);
  void read_digests(const schema::TableMap& map, Sequences& sequences);

  // Rows that the query still needs. `resumed`: loads whose requests were credited with the tokens
  // of their label and no others, by transfer.
  Kept boundary(const std::vector<bool>& resumed) const;
  Kept keys() const;
  Rowids tails() const; // of page_digest
  // What the states that were loaded can stand for, by request and tokens. Null where a digest
  // names another rank than its transfer.
  std::optional<std::vector<StandsFor>> loaded_states() const;

  std::int64_t states(std::int64_t direction) const { return states_[direction != 0]; }
  // Different pairs of key and entry among the saved contents.
  std::int64_t contents() const { return static_cast<std::int64_t>(contents_.size()); }

 private:
  struct Bytes {
    std::uint8_t at[32];
  };
  struct State {
    Bytes content;
    std::int64_t rank, entry, tokens, rowid;
  };
  // A row of page_digest that belongs to a group: all rows of a group are needed, or none.
  struct Member {
    std::uint32_t group;
    std::int64_t rowid;
  };
  // Rows that must all have one value; `conflicts` tells those that have two.
  struct Group {
    Bytes value;
    bool conflicts = false;
  };

  void note_state_page(std::uint32_t index, const DigestRow& row, std::int64_t rowid);
  void note_key(std::uint32_t index, const DigestRow& row, std::int64_t rowid);
  void note_tail(std::uint32_t index, const DigestRow& row, std::int64_t rowid);
  template <class Use>
  void each_state(const Bytes& content, std::int64_t rank, std::int64_t entry,
                  const Use& use) const;
  bool is_tail(std::int64_t entry) const {
    return entry >= 0 && static_cast<std::size_t>(entry) < known_.tail_entries.size() &&
           known_.tail_entries[static_cast<std::size_t>(entry)];
  }

  const Small& known_;
  Pages& pages_;
  Pieces<State> state_rows_;
  FlatIndex state_index_;
  std::int64_t states_[2] = {0, 0};

  struct StatePage {
    std::uint32_t transfer;
    std::int64_t rowid;
    Bytes content;
    std::int64_t entry;
  };
  std::vector<StatePage> loaded_states_;
  bool other_rank_ = false;          // one of them names another rank than its transfer
  std::vector<Member> saved_states_; // by transfer
  std::vector<bool> odd_states_;     // by transfer

  FlatMap contents_;
  FlatMap key_groups_; // key and, where it matters, next token; entry
  Pieces<Group> key_contents_;
  std::vector<Member> key_members_;

  struct Tail {
    Bytes content;
    std::int64_t rank, entry;
    std::uint32_t key;
    bool conflicts = false;
  };
  Pieces<Tail> tails_;
  FlatIndex tail_index_;
  std::vector<Member> tail_members_;
  Rowids landed_tails_;
};

} // namespace hitproof::audit::screen
