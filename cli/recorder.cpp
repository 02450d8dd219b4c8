#include "cli/recorder.h"

#include "cli/process.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <time.h>

namespace hitproof::cli {

namespace fs = std::filesystem;
using schema::Code;
using schema::Status;

schema::Result<std::unique_ptr<Recorder>> Recorder::create(const std::string& dir) {
  std::error_code error;
  fs::path absolute = fs::absolute(dir, error);
  if (fs::exists(absolute, error) && !fs::is_empty(absolute, error))
    return Status(
        Code::invalid_argument,
        dir + " is not empty: a recording never overwrites; name another folder or remove it");
  fs::create_directories(absolute / "data" / "logs", error);
  if (error) return Status::from_errno(error.value(), "create " + absolute.string());
  auto recording = schema::Recording::open_new(absolute.string());
  if (!recording.ok()) return recording.status();
  std::unique_ptr<Recorder> recorder(new Recorder(absolute.string(), std::move(*recording)));
  if (Status s = recorder->health(); !s.ok()) return s;
  return recorder;
}

Recorder::Recorder(std::string dir, schema::Recording recording)
    : dir_(std::move(dir)), recording_(std::move(recording)),
      drain_(std::make_unique<schema::Drain>(dir_, recording_)) {}

Recorder::~Recorder() { stop_thread(); }

std::map<std::string, std::string> Recorder::environment(const ProbeOptions& options) const {
  if (options.probes == "off") return {};
  std::map<std::string, std::string> env = {
      {"HITPROOF_DIR", dir_},
      {"HITPROOF_PROBES", options.probes},
      {"HITPROOF_SAVE_DELAY_MS", std::to_string(options.save_delay_ms)}};
  if (!options.tail_effect.empty()) env["HITPROOF_TAIL_EFFECT"] = options.tail_effect;
  if (options.force_drop > 0) env["HITPROOF_FORCE_DROP"] = std::to_string(options.force_drop);
  return env;
}

std::string Recorder::preload() const { return beside_program("../lib/hitproof/libhitproof.so"); }

void Recorder::start() {
  thread_ = std::thread([this] { drain_loop(); });
}

void Recorder::drain_loop() {
  while (!stop_) {
    size_t moved = 0;
    {
      std::lock_guard lock(mutex_);
      if (drain_->status().ok()) moved = drain_->poll();
      deepest_ = std::max(deepest_, moved);
    }
    if (moved == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void Recorder::stop_thread() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Status Recorder::with_recording(const std::function<Status(schema::Recording&)>& work) {
  std::lock_guard lock(mutex_);
  if (Status s = recording_.begin(); !s.ok()) return s;
  if (Status s = work(recording_); !s.ok()) {
    // The first error is the one to report; what it leaves half written is rolled back.
    (void)recording_.rollback().ok();
    return s;
  }
  return recording_.commit();
}

Status Recorder::health() {
  std::lock_guard lock(mutex_);
  return drain_->status();
}

Status Recorder::finish(const std::string& reason) {
  stop_thread();
  std::lock_guard lock(mutex_);
  if (Status s = drain_->finish(); !s.ok()) return s;
  drain_.reset();
  if (Status s = recording_.put("queue_depth_max", std::to_string(deepest_)); !s.ok()) return s;
  return recording_.close(reason);
}

Status Recorder::abandon(const std::string& reason) {
  stop_thread();
  std::lock_guard lock(mutex_);
  Status drained = drain_->finish();
  drain_.reset();
  if (Status s = recording_.put("closed_reason", reason); !s.ok()) return s;
  if (Status s = recording_.checkpoint(); !s.ok()) return s;
  return drained;
}

} // namespace hitproof::cli
