// Reading what a killed recorder left behind (declared in drain.h).
#include "schema/drain.h"
#include "schema/journal_reader.h"

namespace hitproof::schema {

bool has_leftovers(const std::string& dir) {
  const Result<std::vector<std::string>> paths = list_segments(dir);
  return paths.ok() && !paths->empty();
}

namespace {
Status recover(const std::string& dir) {
  Result<Recording> recording = Recording::open_existing(dir, Access::read_write);
  if (!recording.ok()) return recording.status();
  Drain drain(dir, *recording, 0);
  Status status = drain.finish();
  if (status.ok()) status = recording->put("closed_reason", "recovered");
  if (!status.ok()) return status;
  return recording->checkpoint();
}
} // namespace

Result<Recording> open_recovered(const std::string& dir) {
  {
    Result<Recording> recording = Recording::open_existing(dir, Access::read_only);
    if (!recording.ok() || recording->closed()) return recording;
  }
  const Status status = recover(dir);
  if (!status.ok()) return Status(status).with_context("recover the unclosed recording of " + dir);
  return Recording::open_existing(dir, Access::read_only);
}

} // namespace hitproof::schema
