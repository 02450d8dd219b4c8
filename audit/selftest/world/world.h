// The processes of a synthetic study: what stands still while requests pass (addresses, events, the
// external cache's contents), and the clock.
#pragma once

#include "audit/selftest/world/study.h"

#include <set>

namespace hitproof::audit::selftest {

inline constexpr std::uint32_t copy_hook = 1; // id of the hooked call that makes the copies

class World {
 public:
  World(schema::Recording& recording, const StudySpec& study)
      : spec(study), rows(recording), now(study.clock_ns) {}

  const StudySpec& spec;
  RowWriter rows;
  std::uint64_t now;

  std::uint64_t tick(std::uint64_t ns = 1000) { return now += ns; }
  bool control() const { return spec.arm == "control"; }

  std::uint32_t front() const { return spec.first_pid; }
  std::uint32_t rank(int r) const { return spec.first_pid + 10 + static_cast<std::uint32_t>(r); }
  std::uint32_t server() const { return spec.first_pid + 50; }
  // The simulated device's worker thread of a rank's stream in the server.
  std::uint32_t stream_thread(int r) const { return 9000 + static_cast<std::uint32_t>(r); }
  std::uint64_t stream(int r) const { return 0x7000 + static_cast<std::uint64_t>(r) * 0x100; }
  std::uint64_t rank_stream() const { return 0x5000; }

  // Page addresses: regions are shared by entries as in the model (MLA with state, indexer with
  // tail).
  std::uint64_t base(bool in_server, int r, int entry) const;
  std::uint64_t page(bool in_server, int r, int entry, std::uint32_t block) const {
    return base(in_server, r, entry) + block * spec.entries.page_stride_of(entry);
  }

  std::uint32_t new_block() { return next_block_++; }
  std::uint64_t new_object() { return next_object_++; }
  std::uint64_t new_transfer(int r) {
    return (static_cast<std::uint64_t>(r) + 1) << 48 | next_transfer_++;
  }

  // An event of a process; its address and its handle's bytes come back when it is gone.
  struct Event {
    std::uint32_t pid = 0;
    std::uint64_t address = 0;
    schema::Digest handle{};
  };
  Event create_event(std::uint32_t pid);
  void record_and_export(const Event& event, std::uint64_t stream);
  // Opens it in `pid`; the address there.
  std::uint64_t open_event(const Event& event, std::uint32_t pid);
  void order_op(std::uint32_t pid, std::uint8_t op, std::uint64_t stream, std::uint64_t event,
                std::uint64_t lasts = 500, const schema::Digest& handle = {});

  void announce_processes();
  void announce_entries();
  void announce_end();

  // Objects of the external cache: (rank, key name) -> object of each entry.
  std::map<std::pair<int, std::string>, std::map<int, std::uint64_t>> objects;

 private:
  std::uint32_t next_block_ = 1;
  std::uint64_t next_object_ = 1, next_transfer_ = 1, next_event_ = 0;
};

// One request through scheduler, ranks and cache server.
class RequestRun {
 public:
  RequestRun(World& world, std::uint64_t request, std::string prompt, std::uint32_t n)
      : w_(world), request_(request), prompt_(std::move(prompt)), n_(n) {}
  // `cached`: an earlier run of the same prompt left its checkpoints in the external cache.
  void run(bool cached);
  // True where the engine resumed from another state than it needed.
  bool wrong_state() const { return boundary_ != computed_; }

 private:
  void admit(bool cached);
  void load(int rank);
  void save(int rank, std::uint32_t boundary, std::uint64_t step_began);
  void step(std::uint32_t start, std::uint32_t tokens, std::uint64_t reads);
  void page_of_load(int rank, std::uint64_t transfer, int entry, std::uint32_t block,
                    std::uint32_t token_end);
  void digests(int rank, std::uint64_t transfer, int direction, int entry, std::uint32_t block,
               std::uint32_t token_end);
  schema::Digest content(int rank, int entry, std::uint32_t token_end, bool whole) const;
  std::string key_name(std::uint32_t boundary) const {
    return prompt_ + "@" + std::to_string(boundary);
  }
  std::uint32_t block_for(int entry, std::uint32_t boundary);

  World& w_;
  std::uint64_t request_;
  std::string prompt_;
  std::uint32_t n_;
  std::uint32_t boundary_ = 0, computed_ = 0;
  std::uint64_t step_number_ = 0;
  std::map<std::pair<int, std::uint32_t>, std::uint32_t>
      blocks_;                         // (engine group, boundary) -> block
  std::map<int, std::uint64_t> loads_; // rank -> transfer
};

} // namespace hitproof::audit::selftest
