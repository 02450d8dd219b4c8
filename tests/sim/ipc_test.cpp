// Memory and events between processes, and what is left when one of them is killed.
#include "tests/sim/peer.h"
#include "tests/sim/sim_test.h"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace hitproof::sim::tests {
namespace {

std::string peer_program() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string own(path, n > 0 ? static_cast<size_t>(n) : 0);
  return own.substr(0, own.rfind('/')) + "/sim_peer";
}

class Peer {
 public:
  Peer() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const std::string program = peer_program();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 3); // dup2 takes the close-on-exec flag off
      execl(program.c_str(), program.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  ~Peer() {
    if (socket_ >= 0) close(socket_); // the peer ends at the end of its orders
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void tell(Message message) {
    EXPECT_EQ(write(socket_, &message, sizeof message), static_cast<ssize_t>(sizeof message));
  }
  Message hear() {
    Message message{};
    EXPECT_EQ(read(socket_, &message, sizeof message), static_cast<ssize_t>(sizeof message));
    return message;
  }
  Message ask(Order order, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0,
              const void* handle = nullptr) {
    Message message{order, 0, a, b, c, {}};
    if (handle) std::memcpy(message.handle, handle, sizeof message.handle);
    tell(message);
    return hear();
  }
  CUresult result(Order order, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0,
                  const void* handle = nullptr) {
    return static_cast<CUresult>(ask(order, a, b, c, handle).result);
  }
  void kill_now() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  int socket_ = -1;
  pid_t pid_ = -1;
};
static_assert(sizeof(Message) == 96);

using Ipc = SimTest;

template <class Handle> Handle handle_in(const Message& message) {
  Handle handle;
  std::memcpy(&handle, message.handle, sizeof handle);
  return handle;
}

TEST_F(Ipc, MemoryIsOneMemory) {
  for (const size_t bytes : {size_t{1000}, size_t{3} << 20}) {
    Peer peer;
    Device memory(bytes, 1);
    CUipcMemHandle handle;
    CU_OK(cuIpcGetMemHandle(&handle, memory.at(bytes / 2))); // of the whole allocation
    CU_OK(peer.result(Order::open_memory, 0, 0, 0, &handle));
    EXPECT_EQ(peer.ask(Order::read, 0, bytes - 1).a, 1u);
    CU_OK(peer.result(Order::fill, 9, bytes - 10, 10));
    CU_OK(peer.result(Order::sync_stream));
    EXPECT_EQ(memory.read()[bytes - 11], 1);
    EXPECT_EQ(memory.read()[bytes - 10], 9);
    CU_OK(cuMemsetD8(memory.at(), 4, 1));
    EXPECT_EQ(peer.ask(Order::read, 0, 0).a, 4u);
    EXPECT_EQ(peer.result(Order::fill, 9, bytes - 9, 10), CUDA_ERROR_INVALID_VALUE);
    CU_OK(peer.result(Order::close_memory));
    EXPECT_EQ(peer.result(Order::close_memory), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(Ipc, OpeningTwiceGivesOneMapping) {
  Peer peer;
  const Message made = peer.ask(Order::allocate, 4096, 7);
  const auto handle = handle_in<CUipcMemHandle>(made);
  CUdeviceptr first = 0, second = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&first, handle, 0), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuIpcOpenMemHandle(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CU_OK(cuIpcOpenMemHandle(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_EQ(first, second);
  CU_OK(cuIpcCloseMemHandle(first));
  unsigned char byte = 0;
  CU_OK(cuMemcpyDtoH(&byte, first, 1));
  EXPECT_EQ(byte, 7);
  CUipcMemHandle again;
  EXPECT_EQ(cuIpcGetMemHandle(&again, first), CUDA_ERROR_INVALID_VALUE); // not its owner
  CU_OK(cuIpcCloseMemHandle(first));
  EXPECT_EQ(cuMemcpyDtoH(&byte, first, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Ipc, MemoryOutlivesAKilledExporterAndLeavesNothing) {
  Peer peer;
  const Message made = peer.ask(Order::allocate, 1 << 20, 7);
  const auto handle = handle_in<CUipcMemHandle>(made);
  CUdeviceptr memory = 0;
  CU_OK(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  peer.kill_now();
  unsigned char byte = 0;
  CU_OK(cuMemcpyDtoH(&byte, memory + (1 << 20) - 1, 1));
  EXPECT_EQ(byte, 7);
  CU_OK(cuIpcCloseMemHandle(memory));
  EXPECT_EQ(cuIpcOpenMemHandle(&memory, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_MAP_FAILED);
}

TEST_F(Ipc, BadMemoryHandles) {
  Device memory(64);
  CUipcMemHandle handle;
  CUdeviceptr ptr = 0;
  CU_OK(cuIpcGetMemHandle(&handle, memory.at()));
  EXPECT_EQ(cuIpcOpenMemHandle(&ptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT); // own process
  std::memset(&handle, 0, sizeof handle);
  EXPECT_EQ(cuIpcOpenMemHandle(&ptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_HANDLE);
  Pinned pinned(64);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, reinterpret_cast<CUdeviceptr>(pinned.at())),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Ipc, AnEventOrdersStreamsOfTwoProcesses) {
  Peer peer;
  Device memory(4096);
  OwnStream stream;
  CUipcMemHandle memory_handle;
  CU_OK(cuIpcGetMemHandle(&memory_handle, memory.at()));
  CU_OK(peer.result(Order::open_memory, 0, 0, 0, &memory_handle));
  const auto handle = handle_in<CUipcEventHandle>(peer.ask(Order::make_event));
  CUevent event = nullptr;
  CU_OK(cuIpcOpenEventHandle(&event, handle));
  CU_OK(cuEventQuery(event)); // never recorded
  for (unsigned value = 1; value < 50; ++value) {
    Pinned out(4096);
    CU_OK(peer.result(Order::hold));
    CU_OK(peer.result(Order::fill, value, 0, 4096));
    CU_OK(peer.result(Order::record_event));
    CU_OK(cuStreamWaitEvent(stream, event, 0));
    CU_OK(cuMemcpyDtoHAsync(out.at(), memory.at(), 4096, stream));
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CU_OK(peer.result(Order::release));
    CU_OK(cuStreamSynchronize(stream));
    ASSERT_EQ(out.at()[4095], value);
    CU_OK(cuEventQuery(event));
  }
  CU_OK(cuEventDestroy(event));
}

TEST_F(Ipc, AnImportedEventMayBeRecordedToo) {
  Peer peer;
  OwnStream stream;
  OwnEvent event(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  CUipcEventHandle handle;
  CU_OK(cuIpcGetEventHandle(&handle, event));
  CU_OK(peer.result(Order::open_event, 0, 0, 0, &handle));
  CU_OK(peer.result(Order::hold));
  CU_OK(peer.result(Order::record_event));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  CU_OK(peer.result(Order::release));
  CU_OK(cuEventSynchronize(event));
}

TEST_F(Ipc, AWaitThatWasMadeSurvivesTheExportersDestroy) {
  Peer peer;
  OwnStream stream;
  const auto handle = handle_in<CUipcEventHandle>(peer.ask(Order::make_event));
  CU_OK(peer.result(Order::hold));
  CU_OK(peer.result(Order::record_event));
  CUevent event = nullptr;
  CU_OK(cuIpcOpenEventHandle(&event, handle));
  CU_OK(cuStreamWaitEvent(stream, event, 0));
  CU_OK(peer.result(Order::destroy_event));
  EXPECT_EQ(hitproof_sim_latch_wait(stream, 0, 30), -1);
  CU_OK(peer.result(Order::release));
  CU_OK(cuStreamSynchronize(stream));
  CU_OK(cuEventDestroy(event));
}

TEST_F(Ipc, DestroyedBeforeItIsOpenedIsAnErrorNotAHang) {
  Peer peer;
  const auto handle = handle_in<CUipcEventHandle>(peer.ask(Order::make_event));
  CU_OK(peer.result(Order::record_event));
  CU_OK(peer.result(Order::sync_stream));
  CU_OK(peer.result(Order::destroy_event));
  CUevent event = nullptr;
  EXPECT_EQ(cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_HANDLE);
  // Its place may be given to another event; the old handle does not become that one.
  peer.ask(Order::make_event);
  EXPECT_EQ(cuIpcOpenEventHandle(&event, handle), CUDA_ERROR_INVALID_HANDLE);
}

// A process without room is told that, and not that it was handed a wrong handle: the two call for
// different remedies.
TEST_F(Ipc, AProcessWithoutRoomIsToldSo) {
  Peer peer;
  const auto memory_handle = handle_in<CUipcMemHandle>(peer.ask(Order::allocate, 1 << 20));
  const auto event_handle = handle_in<CUipcEventHandle>(peer.ask(Order::make_event));
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  const auto open_both = [&] {
    return std::pair(
        cuIpcOpenEventHandle(&event, event_handle),
        cuIpcOpenMemHandle(&memory, memory_handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  };
  const std::pair no_room(CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
  for (const auto resource : {RLIMIT_AS, RLIMIT_NOFILE}) {
    rlimit before{};
    ASSERT_EQ(getrlimit(resource, &before), 0);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(resource, &none), 0);
    const auto refused = open_both();
    ASSERT_EQ(setrlimit(resource, &before), 0);
    EXPECT_EQ(refused, no_room) << resource;
  }
  EXPECT_EQ(open_both(), std::pair(CUDA_SUCCESS, CUDA_SUCCESS));
  CU_OK(cuEventDestroy(event));
  CU_OK(cuIpcCloseMemHandle(memory));
}

TEST_F(Ipc, WaitersOfAKilledRecorderFailInsteadOfHanging) {
  Peer peer;
  OwnStream stream;
  const auto handle = handle_in<CUipcEventHandle>(peer.ask(Order::make_event));
  CU_OK(peer.result(Order::hold));
  CU_OK(peer.result(Order::record_event));
  CUevent event = nullptr;
  CU_OK(cuIpcOpenEventHandle(&event, handle));
  CU_OK(cuStreamWaitEvent(stream, event, 0));
  peer.kill_now();
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
  CU_OK(cuEventDestroy(event));
}

TEST_F(Ipc, TheDeviceIsAsLargeAsTheEnvironmentSays) {
  setenv("HITPROOF_SIM_MEMORY", "2M", 1);
  Peer peer;
  unsetenv("HITPROOF_SIM_MEMORY");
  CU_OK(peer.result(Order::allocate, 1 << 20));
  EXPECT_EQ(peer.result(Order::allocate, (1 << 20) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  CU_OK(peer.result(Order::allocate, 1 << 20));
  EXPECT_EQ(peer.result(Order::allocate, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Ipc, AForkedChildWithoutExecIsToldSo) {
  CU_OK(cuStreamSynchronize(nullptr));
  const pid_t pid = fork();
  if (pid == 0) {
    CUdeviceptr ptr = 0;
    const bool refused = cuMemAlloc(&ptr, 64) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace
} // namespace hitproof::sim::tests
