// Progress of a long job on stderr: what runs, how fast, how long it will still take.
//
// On a terminal one line is redrawn; elsewhere a plain line is written at most every ten seconds.
// With
// --quiet nothing is written.
#pragma once

#include <cstdint>
#include <string>

namespace hitproof::cli {

class Progress {
 public:
  // `total` is in any unit of work; its name is shown behind the rate.
  Progress(std::string title, uint64_t total, bool quiet, std::string unit = "tokens");
  ~Progress();

  // Work done so far and what runs now.
  void update(uint64_t done, const std::string& now);
  // Ends the line with a summary.
  void finish(const std::string& summary);

 private:
  void show(const std::string& line, bool last);

  std::string title_, unit_;
  uint64_t total_;
  bool quiet_, terminal_, open_ = false;
  uint64_t begin_ns_, last_ns_ = 0;
};

} // namespace hitproof::cli
