// A correct study as records, made without engine, probe or kernels: what a sound run of the
// reference runtime would have written, at any prompt lengths. Tests break it with SQL and demand
// the verdict.
#pragma once

#include "schema/recording.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hitproof::audit::selftest {

// How many cache entries a rank has of each kind, in this order; the preset `tiny` has these.
struct Entries {
  int mla = 12, indexer = 12, state = 34, tail = 12;

  int first_indexer() const { return mla; }
  int first_state() const { return mla + indexer; }
  int first_tail() const { return first_state() + state; }
  int count() const { return first_tail() + tail; }
  // 0 mla, 1 indexer, 2 state, 3 tail.
  int kind_of(int entry) const;
  std::uint64_t page_bytes_of(int entry) const;
  std::uint64_t page_stride_of(int entry) const;
  std::uint64_t content_bytes_of(int entry) const;
};

struct StudySpec {
  std::string arm = "candidate"; // control: no connector, no transfers
  bool full_lookup = false;      // the faulty lookup: B = p + 1 at exact multiples of the chunk
  bool content_probes = true;    // digests, poison, tails; false: metadata observers alone
  bool delays = true;
  std::uint32_t delay_ms = 500;
  int ranks = 4;
  Entries entries;
  std::uint32_t chunk = 1792;
  std::vector<std::uint32_t> lengths = {3584};
  std::uint32_t tokens = 64;
  std::string plan_sha256;
  std::uint64_t clock_ns = 1'000'000'000;
  std::uint32_t first_pid = 100;
};

inline const std::vector<std::uint32_t> nine_lengths = {3583, 3584, 3585, 3587, 3588,
                                                        3589, 5375, 5376, 5377};

// Sizes of the synthetic pages: those of the preset `tiny`, docs/model.md 4.2.
inline constexpr std::uint64_t mla_page = 57'344, index_page = 16'128, state_content = 53'760,
                               tail_bytes = 512;

schema::Digest digest_of(const std::string& text);

// Inserts rows with the sequence number of their thread.
class RowWriter {
 public:
  explicit RowWriter(schema::Recording& recording) : recording_(recording) {}
  template <class R>
  void add(const R& row, std::uint32_t pid, std::uint32_t tid, std::uint64_t t_ns) {
    insert(R::type, &row, pid, tid, t_ns);
  }

 private:
  void insert(std::uint16_t type, const void* row, std::uint32_t pid, std::uint32_t tid,
              std::uint64_t t_ns);
  schema::Recording& recording_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> seq_;
};

// Writes a closed recording below `dir` (data/recording.sqlite).
void write_study(const std::string& dir, const StudySpec& spec);

} // namespace hitproof::audit::selftest
