// What orders work: stream memory operations, host functions, events of another process.
#include "tests/gpu/routes/ledger.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace hitproof::routes {
namespace {

void values(Ledger& ledger, int, char**) {
  using Value = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  const Buffers b(ledger, 64 * 1024);
  auto* write = reinterpret_cast<Value*>(driver_symbol("cuStreamWriteValue32_v2"));
  auto* wait = reinterpret_cast<Value*>(driver_symbol("cuStreamWaitValue32_v2"));
  const cudaStream_t first = make_stream(ledger, "stream1"),
                     second = make_stream(ledger, "stream2");
  const CUdeviceptr flag = reinterpret_cast<CUdeviceptr>(b.other_device);
  check(wait(second, flag, 7, CU_STREAM_WAIT_VALUE_EQ), "wait");
  ledger.ordered({.call = "cuStreamWaitValue32_v2",
                  .op = wait_value,
                  .stream = second,
                  .event = b.other_device,
                  .value = 7});
  copy_async(ledger, b.pinned, b.device, 9000, device_to_host, second);
  check(write(first, flag, 7, 0), "write");
  ledger.ordered({.call = "cuStreamWriteValue32_v2",
                  .op = write_value,
                  .stream = first,
                  .event = b.other_device,
                  .value = 7});
  synchronize(ledger, second);

  // Half of all values are negative where a recording keeps them.
  using Value64 = CUresult(CUstream, CUdeviceptr, cuuint64_t, unsigned);
  constexpr cuuint64_t large = 0xfedcba9876543210;
  auto* write_64 = reinterpret_cast<Value64*>(driver_symbol("cuStreamWriteValue64_v2"));
  check(write_64(first, flag + 8, large, 0), "write of 64 bits");
  ledger.ordered({.call = "cuStreamWriteValue64_v2",
                  .op = write_value,
                  .stream = first,
                  .event = b.other_device + 8,
                  .value = large});
  synchronize(ledger, first);
}

void count_one(void* p) { ++*static_cast<int*>(p); }

void function(Ledger& ledger, int, char**) {
  static int seen = 0;
  const auto* address = reinterpret_cast<const void*>(&count_one);
  ledger.name("function", address);
  const cudaStream_t own = make_stream(ledger, "stream1");
  for (const cudaStream_t stream : {static_cast<cudaStream_t>(nullptr), own, own}) {
    check(cudaLaunchHostFunc(stream, count_one, &seen), "host function");
    ledger.ordered(
        {.call = "cudaLaunchHostFunc", .op = host_function, .stream = stream, .function = address});
  }
  synchronize(ledger, nullptr);
  synchronize(ledger, own);
  check(seen != 3, "host functions that ran");
}

// One stream waits for two others; what asks, and what is given back.
void events(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  const cudaStream_t streams[3] = {make_stream(ledger, "stream1"), make_stream(ledger, "stream2"),
                                   make_stream(ledger, "stream3")};
  const cudaEvent_t marks[2] = {make_event(ledger, "event1", cudaEventDisableTiming),
                                make_event(ledger, "event2", cudaEventDisableTiming)};
  for (int i : {0, 1}) {
    copy_async(ledger, b.device + 16384 * i, b.pinned, 9200, host_to_device, streams[i]);
    check(cudaEventRecord(marks[i], streams[i]), "record");
    ledger.ordered(
        {.call = "cudaEventRecord", .op = event_record, .stream = streams[i], .event = marks[i]});
  }
  for (int i : {1, 0}) {
    check(cudaStreamWaitEvent(streams[2], marks[i]), "wait");
    ledger.ordered({.call = "cudaStreamWaitEvent",
                    .op = stream_wait_event,
                    .stream = streams[2],
                    .event = marks[i]});
  }
  copy_async(ledger, b.pinned + 32768, b.device, 9201, device_to_host, streams[2]);
  synchronize(ledger, streams[2]);
  for (const cudaEvent_t mark : marks) {
    check(cudaEventQuery(mark), "query");
    ledger.ordered({.call = "cudaEventQuery", .op = event_query, .event = mark});
    check(cudaEventDestroy(mark), "destroy");
    ledger.ordered({.call = "cudaEventDestroy", .op = event_destroy, .event = mark});
  }
  check(cudaStreamQuery(streams[2]), "query");
  ledger.ordered({.call = "cudaStreamQuery", .op = stream_query, .stream = streams[2]});
  check(cudaStreamDestroy(streams[2]), "destroy");
  ledger.ordered({.call = "cudaStreamDestroy", .op = stream_destroy, .stream = streams[2]});
}

void ipc_events(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  const cudaStream_t stream = make_stream(ledger, "stream1");
  const cudaEvent_t event =
      make_event(ledger, "event1", cudaEventInterprocess | cudaEventDisableTiming);
  cudaIpcEventHandle_t handle;
  check(cudaIpcGetEventHandle(&handle, event), "export");
  ledger.name_handle("handle1", &handle, sizeof handle);
  ledger.ordered(
      {.call = "cudaIpcGetEventHandle", .op = event_export, .event = event, .handle = "handle1"});
  copy_async(ledger, b.device, b.pinned, 9100, host_to_device, stream);
  check(cudaEventRecord(event, stream), "record");
  ledger.ordered({.call = "cudaEventRecord", .op = event_record, .stream = stream, .event = event});
  check(run_self({"_event_child", hex(&handle, sizeof handle)}), "the other process");
}

void event_child(Ledger& ledger, int argc, char** argv) {
  check(argc != 1, "handle");
  cudaIpcEventHandle_t handle;
  from_hex(argv[0], &handle, sizeof handle);
  ledger.name_handle("handle1", &handle, sizeof handle);
  cudaEvent_t event = nullptr;
  check(cudaIpcOpenEventHandle(&event, handle), "open");
  ledger.name("event1", event);
  ledger.ordered(
      {.call = "cudaIpcOpenEventHandle", .op = event_open, .event = event, .handle = "handle1"});
  const cudaStream_t stream = make_stream(ledger, "stream1");
  check(cudaStreamWaitEvent(stream, event), "wait");
  ledger.ordered(
      {.call = "cudaStreamWaitEvent", .op = stream_wait_event, .stream = stream, .event = event});
  check(cudaEventSynchronize(event), "synchronize");
  ledger.ordered({.call = "cudaEventSynchronize", .op = event_synchronize, .event = event});
}

const Routes added({{"stream_values", values},
                    {"host_function", function},
                    {"events", events},
                    {"ipc_event", ipc_events},
                    {"_event_child", event_child}});

} // namespace
} // namespace hitproof::routes
