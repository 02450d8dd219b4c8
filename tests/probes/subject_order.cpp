#include "probes/hitproof.h"
#include "tests/probes/subject.h"

#include <sys/wait.h>
#include <unistd.h>

namespace subject {
namespace {

// As in probes/observers.h and schema/records.def.
enum Op {
  create = 0,
  destroy = 1,
  record = 2,
  query = 3,
  synchronise = 4,
  wait_event = 5,
  stream_sync = 6,
  stream_query = 7,
  device_sync = 8,
  host_fn = 9,
  write_value = 10,
  wait_value = 11,
  exported = 12,
  opened = 13,
  stream_create = 14,
  stream_destroy = 15
};

void held(void* flag) {
  while (!__atomic_load_n(static_cast<bool*>(flag), __ATOMIC_ACQUIRE))
    usleep(200);
}
void nothing(void*) {}

int runtime_order(int, char**) {
  cudaStream_t a = nullptr, b = nullptr;
  cudaEvent_t e = nullptr;
  SUBJECT_OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  says_order("cudaStreamCreateWithFlags", stream_create, a, nullptr);
  SUBJECT_OK(cudaStreamCreate(&b));
  says_order("cudaStreamCreate", stream_create, b, nullptr);
  SUBJECT_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  says_order("cudaEventCreateWithFlags", create, nullptr, e);
  static bool go = false;
  SUBJECT_OK(cudaLaunchHostFunc(a, held, &go));
  says_order("cudaLaunchHostFunc", host_fn, a, nullptr, reinterpret_cast<std::uint64_t>(&held));
  SUBJECT_OK(cudaEventRecord(e, a));
  says_order("cudaEventRecord", record, a, e);
  // The result of a query is what matters: not ready, then ready.
  const int not_ready = cudaEventQuery(e);
  if (not_ready != 600) return 92;
  says_order("cudaEventQuery", query, nullptr, e, 0, 600);
  if (cudaStreamQuery(a) != 600) return 93;
  says_order("cudaStreamQuery", stream_query, a, nullptr, 0, 600);
  SUBJECT_OK(cudaStreamWaitEvent(b, e, 0));
  says_order("cudaStreamWaitEvent", wait_event, b, e);
  __atomic_store_n(&go, true, __ATOMIC_RELEASE);
  SUBJECT_OK(cudaEventSynchronize(e));
  says_order("cudaEventSynchronize", synchronise, nullptr, e);
  SUBJECT_OK(cudaEventQuery(e));
  says_order("cudaEventQuery", query, nullptr, e);
  SUBJECT_OK(cudaStreamSynchronize(b));
  says_order("cudaStreamSynchronize", stream_sync, b, nullptr);
  SUBJECT_OK(cudaDeviceSynchronize());
  says_order("cudaDeviceSynchronize", device_sync, nullptr, nullptr);
  SUBJECT_OK(cudaEventRecord_ptsz(e, nullptr));
  says_order("cudaEventRecord_ptsz", record, reinterpret_cast<void*>(2), e);
  SUBJECT_OK(cudaEventDestroy(e));
  says_order("cudaEventDestroy", destroy, nullptr, e);
  SUBJECT_OK(cudaStreamDestroy(a));
  says_order("cudaStreamDestroy", stream_destroy, a, nullptr);
  SUBJECT_OK(cudaStreamDestroy(b));
  says_order("cudaStreamDestroy", stream_destroy, b, nullptr);
  return 0;
}

// Declared, its records and waits leave no row; the rows of its life do, and a handle that comes
// back after its end is an event like any other.
int internal_event(int, char**) {
  cudaStream_t s = nullptr;
  SUBJECT_OK(cudaStreamCreate(&s));
  says_order("cudaStreamCreate", stream_create, s, nullptr);
  for (const bool declared : {true, false}) {
    cudaEvent_t e = nullptr;
    SUBJECT_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    says_order("cudaEventCreateWithFlags", create, nullptr, e);
    if (declared && hitproof_internal_event) hitproof_internal_event(e);
    SUBJECT_OK(cudaEventRecord(e, s));
    if (!declared) says_order("cudaEventRecord", record, s, e);
    SUBJECT_OK(cudaStreamWaitEvent(s, e, 0));
    if (!declared) says_order("cudaStreamWaitEvent", wait_event, s, e);
    SUBJECT_OK(cudaEventSynchronize(e));
    says_order("cudaEventSynchronize", synchronise, nullptr, e);
    SUBJECT_OK(cudaEventDestroy(e));
    says_order("cudaEventDestroy", destroy, nullptr, e);
  }
  SUBJECT_OK(cudaStreamDestroy(s));
  says_order("cudaStreamDestroy", stream_destroy, s, nullptr);
  return 0;
}

int memory_operations(int, char**) {
  void* p = nullptr;
  SUBJECT_OK(cudaMalloc(&p, 4096));
  CUstream s = nullptr;
  SUBJECT_OK(cuStreamCreate(&s, 0));
  says_order("cuStreamCreate", stream_create, s, nullptr);
  char* base = static_cast<char*>(p);
  SUBJECT_OK(cuStreamWriteValue64_v2(s, dev(base), 1ull << 40, 0));
  says_order("cuStreamWriteValue64_v2", write_value, s, base, 1ull << 40);
  SUBJECT_OK(cuStreamWaitValue64_v2(s, dev(base), 7, CU_STREAM_WAIT_VALUE_GEQ));
  says_order("cuStreamWaitValue64_v2", wait_value, s, base, 7);
  SUBJECT_OK(cuStreamWriteValue32_v2(s, dev(base + 64), 5, 0));
  says_order("cuStreamWriteValue32_v2", write_value, s, base + 64, 5);
  CUstreamBatchMemOpParams ops[2] = {};
  ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[0].writeValue.address = dev(base + 128);
  ops[0].writeValue.value64 = 3;
  ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  ops[1].waitValue.address = dev(base + 128);
  ops[1].waitValue.value64 = 3;
  SUBJECT_OK(cuStreamBatchMemOp_v2(s, 2, ops, 0));
  says_order("cuStreamBatchMemOp_v2", write_value, s, base + 128, 3);
  says_order("cuStreamBatchMemOp_v2", wait_value, s, base + 128, 3);
  SUBJECT_OK(cuLaunchHostFunc(s, nothing, nullptr));
  says_order("cuLaunchHostFunc", host_fn, s, nullptr, reinterpret_cast<std::uint64_t>(&nothing));
  SUBJECT_OK(cuStreamSynchronize(s));
  says_order("cuStreamSynchronize", stream_sync, s, nullptr);
  SUBJECT_OK(cuCtxSynchronize());
  says_order("cuCtxSynchronize", device_sync, nullptr, nullptr);
  return 0;
}

// Events and memory across processes: the child opens what the parent exports.
int two_processes(int argc, char** argv) {
  if (argc > 2) {
    cudaIpcEventHandle_t event_handle;
    cudaIpcMemHandle_t memory_handle;
    if (read(0, &event_handle, sizeof event_handle) != sizeof event_handle) return 92;
    if (read(0, &memory_handle, sizeof memory_handle) != sizeof memory_handle) return 92;
    cudaEvent_t e = nullptr;
    SUBJECT_OK(cudaIpcOpenEventHandle(&e, event_handle));
    void* p = nullptr;
    SUBJECT_OK(cudaIpcOpenMemHandle(&p, memory_handle, cudaIpcMemLazyEnablePeerAccess));
    SUBJECT_OK(cudaEventSynchronize(e));
    char byte = 0;
    SUBJECT_OK(cudaMemcpy(&byte, static_cast<char*>(p) + 100, 1, cudaMemcpyDefault));
    SUBJECT_OK(cudaIpcCloseMemHandle(p));
    return byte == 77 ? 0 : 93;
  }
  Memory m;
  cudaEvent_t e = nullptr;
  SUBJECT_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventInterprocess));
  SUBJECT_OK(cudaMemset(m.device, 77, 4096));
  SUBJECT_OK(cudaEventRecord(e, m.stream));
  cudaIpcEventHandle_t event_handle;
  cudaIpcMemHandle_t memory_handle;
  SUBJECT_OK(cudaIpcGetEventHandle(&event_handle, e));
  SUBJECT_OK(cudaIpcGetMemHandle(&memory_handle, m.device));
  int ends[2];
  if (pipe(ends) != 0) return 94;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0);
    close(ends[1]);
    execl("/proc/self/exe", argv[0], argv[1], "child", static_cast<char*>(nullptr));
    _exit(95);
  }
  if (write(ends[1], &event_handle, sizeof event_handle) < 0) return 94;
  if (write(ends[1], &memory_handle, sizeof memory_handle) < 0) return 94;
  int status = 0;
  waitpid(child, &status, 0);
  says_fact("child", static_cast<std::uint64_t>(child));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

} // namespace

const Scenario order_scenarios[] = {{"runtime_order", runtime_order},
                                    {"memory_operations", memory_operations},
                                    {"internal_event", internal_event},
                                    {"two_processes", two_processes},
                                    {nullptr, nullptr}};

} // namespace subject
