// See peer.h. The socket is file descriptor 3.
#include "tests/sim/peer.h"

#include "engine/sim/cuda_subset.h"
#include "engine/sim/latch.h"

#include <cstring>
#include <unistd.h>

using namespace hitproof::sim::tests;

namespace {

constexpr int socket_fd = 3;

struct State {
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  CUstream stream = nullptr;
};

template <class Handle> Handle handle_of(const Message& message) {
  Handle handle;
  std::memcpy(&handle, message.handle, sizeof handle);
  return handle;
}

CUresult allocate(State& state, Message& m) {
  if (CUresult error = cuMemAlloc(&state.memory, m.a)) return error;
  cuMemsetD8(state.memory, static_cast<unsigned char>(m.b), m.a);
  return cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(m.handle), state.memory);
}

CUresult read_byte(State& state, Message& m) {
  if (CUresult error = cuStreamSynchronize(state.stream)) return error;
  unsigned char byte = 0;
  const CUresult result = cuMemcpyDtoH(&byte, state.memory + m.b, 1);
  m.a = byte;
  return result;
}

CUresult make_event(State& state, Message& m) {
  if (CUresult e = cuEventCreate(&state.event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING))
    return e;
  return cuIpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(m.handle), state.event);
}

CUresult obey(State& state, Message& m) {
  switch (m.order) {
  case Order::allocate:
    return allocate(state, m);
  case Order::open_memory:
    return cuIpcOpenMemHandle(&state.memory, handle_of<CUipcMemHandle>(m),
                              CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  case Order::close_memory:
    return cuIpcCloseMemHandle(state.memory);
  case Order::fill:
    return cuMemsetD8Async(state.memory + m.b, static_cast<unsigned char>(m.a), m.c, state.stream);
  case Order::read:
    return read_byte(state, m);
  case Order::make_event:
    return make_event(state, m);
  case Order::destroy_event:
    return cuEventDestroy(state.event);
  case Order::open_event:
    return cuIpcOpenEventHandle(&state.event, handle_of<CUipcEventHandle>(m));
  case Order::record_event:
    return cuEventRecord(state.event, state.stream);
  case Order::query_event:
    return cuEventQuery(state.event);
  case Order::sync_event:
    return cuEventSynchronize(state.event);
  case Order::wait_event:
    return cuStreamWaitEvent(state.stream, state.event, 0);
  case Order::hold:
    hitproof_sim_latch_hold(state.stream);
    return CUDA_SUCCESS;
  case Order::release:
    hitproof_sim_latch_release(state.stream);
    return CUDA_SUCCESS;
  case Order::sync_stream:
    return cuStreamSynchronize(state.stream);
  case Order::quit:
    break;
  }
  return CUDA_SUCCESS;
}

} // namespace

int main() {
  State state;
  CUcontext context = nullptr;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
      cuStreamCreate(&state.stream, CU_STREAM_NON_BLOCKING))
    return 1;
  Message message;
  while (read(socket_fd, &message, sizeof message) == sizeof message) {
    const bool last = message.order == Order::quit;
    message.result = obey(state, message);
    if (write(socket_fd, &message, sizeof message) != sizeof message) return 1;
    if (last) return 0;
  }
  return 0;
}
