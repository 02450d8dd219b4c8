// Which streams exist: the created ones, the legacy one, one per thread that uses its own.
#include "engine/sim/driver/device.h"
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/handle_table.h"
#include "engine/sim/driver/stream.h"

#include <algorithm>

namespace hitproof::sim {
namespace {

// Leaked on purpose, like everything here that a worker may touch while the process exits.
HandleTable<Stream>& live_streams() {
  static auto& instance = *new HandleTable<Stream>;
  return instance;
}

// Per-thread streams, and destroyed ones that may still have work.
struct Unlisted {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;

  void add(std::shared_ptr<Stream> stream) {
    std::lock_guard lock(mutex);
    std::erase_if(streams, [](const auto& s) { return s.use_count() == 1 && s->idle(); });
    streams.push_back(std::move(stream));
  }
};
Unlisted& unlisted() {
  static auto& instance = *new Unlisted;
  return instance;
}

struct ThreadStream {
  std::shared_ptr<Stream> stream;
  ~ThreadStream() {
    if (stream && !forked()) stream->close();
  }
};
thread_local ThreadStream thread_stream;

std::shared_ptr<Stream> per_thread_stream() {
  if (!thread_stream.stream) {
    thread_stream.stream = Stream::create(Stream::Kind::blocking, CU_STREAM_DEFAULT, 0);
    unlisted().add(thread_stream.stream);
  }
  return thread_stream.stream;
}

} // namespace

std::shared_ptr<Stream> legacy_stream() {
  static auto& instance =
      *new std::shared_ptr<Stream>(Stream::create(Stream::Kind::legacy, CU_STREAM_DEFAULT, 0));
  return instance;
}

std::shared_ptr<Stream> find_stream(CUstream handle, DefaultStream form) {
  if (handle == nullptr)
    return form == DefaultStream::legacy ? legacy_stream() : per_thread_stream();
  if (handle == CU_STREAM_LEGACY) return legacy_stream();
  if (handle == CU_STREAM_PER_THREAD) return per_thread_stream();
  return live_streams().find(handle);
}

std::shared_ptr<Stream> create_stream(unsigned flags, int priority) {
  const auto kind =
      flags & CU_STREAM_NON_BLOCKING ? Stream::Kind::non_blocking : Stream::Kind::blocking;
  auto stream = Stream::create(kind, flags, priority);
  live_streams().add(stream);
  return stream;
}

bool destroy_stream(CUstream handle) {
  auto stream = live_streams().find(handle);
  if (!stream) return false;
  // Listed there before it is gone here: a device synchronisation in between must still see it.
  if (!stream->idle()) unlisted().add(stream);
  if (!live_streams().take(handle)) return false;
  abandon_capture(*stream);
  stream->close();
  return true;
}

std::vector<std::shared_ptr<Stream>> every_stream() {
  auto list = live_streams().all();
  {
    std::lock_guard lock(unlisted().mutex);
    list.insert(list.end(), unlisted().streams.begin(), unlisted().streams.end());
  }
  list.push_back(legacy_stream());
  return list;
}

void synchronize_device() {
  for (const auto& stream : every_stream())
    stream->wait_all();
}

CUresult device_fault() {
  for (const auto& stream : every_stream())
    if (stream->fault() != CUDA_SUCCESS) return stream->fault();
  return CUDA_SUCCESS;
}

} // namespace hitproof::sim
