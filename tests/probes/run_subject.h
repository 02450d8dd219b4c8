// Runs a program under the probe in a directory of its own and reads what was recorded.
#pragma once

#include "schema/journal_format.h"
#include "schema/records.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hitproof::probes_test {

struct Row {
  std::uint32_t pid = 0, tid = 0, seq = 0;
  std::uint64_t start_ns = 0, t_ns = 0;
  std::uint16_t type = 0;
  std::uint8_t payload[schema::max_payload_bytes] = {};
};

template <class R> struct Typed : R {
  std::uint32_t pid = 0, tid = 0, seq = 0;
  std::uint64_t t_ns = 0;
};

struct Recorded {
  int exit_code = -1; // 128 + signal where it was killed
  std::string out, err;
  std::uint32_t pid = 0;
  std::vector<Row> rows; // by process, thread, sequence number
  std::uint64_t gaps = 0;

  template <class R> std::vector<Typed<R>> all(std::uint32_t of_pid = 0) const {
    std::vector<Typed<R>> result;
    for (const Row& row : rows) {
      if (row.type != R::type || (of_pid != 0 && row.pid != of_pid)) continue;
      Typed<R> typed;
      std::memcpy(static_cast<R*>(&typed), row.payload, sizeof(R));
      typed.pid = row.pid;
      typed.tid = row.tid;
      typed.seq = row.seq;
      typed.t_ns = row.t_ns;
      result.push_back(typed);
    }
    return result;
  }
  // Names of hook ids, from the `hook` records.
  std::map<std::uint32_t, std::string> hooks() const;
  // Lines of the subject's output that begin with this word.
  std::vector<std::string> lines(const std::string& word) const;
  std::uint64_t fact(const std::string& name) const;
  // The main process's last coverage record of this name; calls 0 and installed 0 where there is
  // none.
  schema::rec::coverage coverage(const std::string& name) const;
};

// Coverage records of these names, in order; of one process, or of all (0).
std::vector<schema::rec::coverage> counters(const Recorded& r,
                                            std::initializer_list<std::string_view> names,
                                            std::uint32_t of_pid = 0);

using Environment = std::map<std::string, std::string>;

struct Options {
  Environment environment = {};
  bool probe = true;
  bool record = true;                    // HITPROOF_DIR is set
  std::vector<std::string> preload = {}; // behind the probe
  std::string program = {};              // default: the subject
};
Recorded run(const std::vector<std::string>& arguments, const Options& options = {});

// The copy and order rows of the main process, in the form in which the subject prints them.
std::vector<std::string> copies_of(const Recorded& r);
std::vector<std::string> orders_of(const Recorded& r);

// The folder with libcudart.so.13 and libcuda.so.1 that subjects use: the simulated device's, or
// the one that HITPROOF_TEST_LIBRARIES names. With a folder of links to NVIDIA's own two, the same
// tests run on a real GPU.
std::string device_libraries();
std::string device_library(const std::string& name);

} // namespace hitproof::probes_test
