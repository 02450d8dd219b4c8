// The recorder: turns what the probes of running processes write into a recording, while they run.
//
// Used by `hitproof run` around any program and by the studies around the reference runtime. One
// thread drains the journals into SQLite; the program's own facts (operations, tokens) go into the
// same recording through with_recording(), one writer at a time.
#pragma once

#include "schema/drain.h"
#include "schema/recording.h"
#include "schema/status.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace hitproof::cli {

struct ProbeOptions {
  std::string probes = "all"; // all, metadata, off
  int save_delay_ms = 0;      // injected into every announced save
  std::string tail_effect;    // empty, effective or naive (diagnostic run)
  int force_drop = 0;         // test aid: the probe loses every n-th page record and counts it
};

class Recorder {
 public:
  // Makes `dir` and its recording. Errors: the folder holds something already, cannot be written,
  // or the disk is full; the message says what to do.
  static schema::Result<std::unique_ptr<Recorder>> create(const std::string& dir);
  // Without finish(): stops draining; the recording stays marked as not closed.
  ~Recorder();

  // What a watched process needs in its environment. Empty for probes "off".
  std::map<std::string, std::string> environment(const ProbeOptions& options) const;
  // LD_PRELOAD for a program that is not the reference runtime (which preloads by itself).
  std::string preload() const;

  // Starts the draining thread.
  void start();

  // Runs `work` on the recording while the drain waits.
  schema::Status with_recording(const std::function<schema::Status(schema::Recording&)>& work);

  // After the watched processes have ended: drains the rest, closes the recording with `reason`.
  schema::Status finish(const std::string& reason);

  // When the run failed: drains what there is and leaves the recording marked as not closed, with
  // the reason.
  schema::Status abandon(const std::string& reason);

  const std::string& dir() const { return dir_; }
  // First error of the drain (a full disk, for example); ok while all is well.
  schema::Status health();

 private:
  Recorder(std::string dir, schema::Recording recording);
  void drain_loop();
  void stop_thread();

  std::string dir_;
  schema::Recording recording_;
  std::unique_ptr<schema::Drain> drain_;
  std::mutex mutex_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::size_t deepest_ = 0; // most records that one poll found waiting
};

} // namespace hitproof::cli
