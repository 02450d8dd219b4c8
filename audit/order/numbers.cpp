#include "audit/order/numbers.h"

#include <unordered_map>

namespace hitproof::audit::order {
namespace {

struct Key {
  std::int64_t a, b, c;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = 0;
    for (const std::int64_t part : {k.a, k.b, k.c})
      h = (h ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
    return h;
  }
};

class Numbering {
 public:
  std::uint32_t of(std::int64_t a, std::int64_t b = 0, std::int64_t c = 0) {
    return numbers_.try_emplace({a, b, c}, static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(numbers_.size()); }

 private:
  std::unordered_map<Key, std::uint32_t, KeyHash> numbers_;
};

bool names_a_stream(What what) {
  switch (what) {
  case What::event_record:
  case What::stream_wait:
  case What::stream_synchronise:
  case What::stream_query:
  case What::host_function:
  case What::stream_create:
  case What::stream_destroy:
  case What::copy:
    return true;
  default:
    return false;
  }
}

} // namespace

Numbered numbered(const std::vector<Record>& records) {
  Numbered out;
  Numbering processes, threads, streams, events;
  std::vector<bool> several;
  out.of.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    Numbers& n = out.of[i];
    n.process = processes.of(r.process);
    n.thread = threads.of(r.process, r.thread);
    if (r.event != 0) n.event = events.of(r.process, r.event);
    out.only_device.resize(processes.size(), -1);
    several.resize(processes.size());
    std::int32_t& device = out.only_device[n.process];
    if (r.device >= 0) {
      if (device >= 0 && device != r.device) several[n.process] = true;
      device = r.device;
    }
  }
  for (std::size_t p = 0; p < several.size(); ++p)
    if (several[p]) out.only_device[p] = -1;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    const bool of_a_device = r.stream == 0 || r.stream == per_thread_stream;
    if (!names_a_stream(r.what) || (of_a_device && several[out.of[i].process])) continue;
    out.of[i].stream =
        streams.of(r.process, r.stream, r.stream == per_thread_stream ? r.thread : -1);
  }
  out.processes = processes.size();
  out.threads = threads.size();
  out.streams = streams.size();
  out.events = events.size();
  return out;
}

} // namespace hitproof::audit::order
