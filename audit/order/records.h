// The calls of a recording that order work, and the questions about order that are asked of it, in
// the form that the graph walks over (graph.h).
#pragma once

#include "audit/context.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace hitproof::audit::order {

// Up to stream_destroy the numbers of order_op.op.
enum class What : std::uint8_t {
  event_create,
  event_destroy,
  event_record,
  event_query,
  event_synchronise,
  stream_wait,
  stream_synchronise,
  stream_query,
  device_synchronise,
  host_function,
  write_value,
  wait_value,
  event_export,
  event_open,
  stream_create,
  stream_destroy,
  copy,
  wait, // announced
  step,
  complete, // the stream had reached the end of a transfer's copies
};

// Handle of the stream that every thread has of its own (cudaStreamPerThread).
inline constexpr std::int64_t per_thread_stream = 2;

// A call that succeeded, or a fact. Entries of one batch are one record.
struct Record {
  What what = What::host_function;
  bool by_host = false;     // a copy: the source may be read before what the stream waits for
  bool synchronous = false; // a copy: done when its call returned
  bool by_graph = false;    // of an event: by a node of a graph that the call launched
  std::int32_t device = -1;
  std::int64_t process = 0, thread = 0, seq = 0;
  std::int64_t began = 0, ended = 0; // ns; equal for a fact
  std::int64_t stream = 0, event = 0;
  std::int64_t transfer = 0; // 0 where none
  std::uint32_t handle = 0;  // number of the bytes of an IPC handle
};

inline constexpr std::uint32_t no_record = UINT32_MAX;

// One load as one process first reads it: is every copy done when that step begins? One save: is
// the work of the step that wrote its pages done before any of its copies?
struct Asked {
  bool load = false;
  std::int64_t transfer = 0, rank = 0, request = 0;
  std::uint32_t step = no_record; // of a save no_record where no step is known
};

struct Records {
  std::vector<Record> records; // by begin, then by end
  std::vector<Asked> asked;    // loads, then saves; by the transfer's number
};

// What the graph needs: as the look at all records gathered it, else by statements. Loads that no
// step reads and saves that copied nothing are not asked about. Throws AuditError.
std::shared_ptr<const Records> records_of(Context& context);

} // namespace hitproof::audit::order
