// The CUDA types that the hooks need, by layout alone (CUDA 12.8 to 13, 64-bit Linux), so that the
// probe builds without a toolkit and without the simulated device. tests/probes/abi_check.cpp holds
// them against the real headers where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hitproof::probes {

using devptr = unsigned long long;
using stream_t = void*;
using event_t = void*;
using context_t = void*;
using graph_t = void*;
using node_t = void*;
using exec_t = void*;
using host_fn = void (*)(void*);

inline constexpr int result_success = 0;
inline constexpr int result_not_found = 500; // CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound

struct IpcHandle {
  char bytes[64];
};
static_assert(sizeof(IpcHandle) == 64);

struct MemLocation {
  int type, id;
};

struct CopyAttributes {
  std::uint32_t src_access_order;
  MemLocation src_hint, dst_hint;
  std::uint32_t flags;
};
static_assert(sizeof(CopyAttributes) == 24);

enum MemoryType : std::uint32_t {
  memory_host = 1,
  memory_device = 2,
  memory_array = 3,
  memory_unified = 4
};

struct Copy2D {
  std::size_t src_x, src_y;
  std::uint32_t src_type;
  const void* src_host;
  devptr src_device;
  void* src_array;
  std::size_t src_pitch;
  std::size_t dst_x, dst_y;
  std::uint32_t dst_type;
  void* dst_host;
  devptr dst_device;
  void* dst_array;
  std::size_t dst_pitch;
  std::size_t width, height;
};
static_assert(sizeof(Copy2D) == 128);

// CUDA_MEMCPY3D; CUDA_MEMCPY3D_PEER has contexts where this has reserved words.
struct Copy3D {
  std::size_t src_x, src_y, src_z, src_lod;
  std::uint32_t src_type;
  const void* src_host;
  devptr src_device;
  void* src_array;
  void* src_context;
  std::size_t src_pitch, src_height;
  std::size_t dst_x, dst_y, dst_z, dst_lod;
  std::uint32_t dst_type;
  void* dst_host;
  devptr dst_device;
  void* dst_array;
  void* dst_context;
  std::size_t dst_pitch, dst_height;
  std::size_t width, height, depth;
};
static_assert(sizeof(Copy3D) == 200);

struct Position {
  std::size_t x, y, z;
};
struct Pitched {
  void* ptr;
  std::size_t pitch, x_size, y_size;
};
struct RuntimeCopy3D {
  void* src_array;
  Position src_pos;
  Pitched src;
  void* dst_array;
  Position dst_pos;
  Pitched dst;
  Position extent; // width, height, depth
  int kind;
};
static_assert(sizeof(RuntimeCopy3D) == 160);
struct RuntimeCopy3DPeer {
  void* src_array;
  Position src_pos;
  Pitched src;
  int src_device;
  void* dst_array;
  Position dst_pos;
  Pitched dst;
  int dst_device;
  Position extent;
};
static_assert(sizeof(RuntimeCopy3DPeer) == 168);

struct Operand3D {
  std::uint32_t type; // 1 pointer, 2 array
  union {
    struct {
      std::uint64_t ptr;
      std::size_t row_length, layer_height;
      MemLocation hint;
    } pointer;
    struct {
      void* array;
      Position offset;
    } array;
  };
};
struct BatchOp3D {
  Operand3D src, dst;
  Position extent;
  std::uint32_t src_access_order, flags;
};
static_assert(sizeof(BatchOp3D) == 112);

// CUgraphNodeParams / cudaGraphNodeParams: of these forms alone more than the type is read.
struct GraphNodeParams {
  int type;
  int reserved[3];
  union {
    struct {
      int flags, reserved;
      context_t context;
      Copy3D copy;
    } driver_copy;
    struct {
      int flags;
      int reserved[3];
      RuntimeCopy3D copy;
    } runtime_copy;
    event_t event; // waited for, or recorded
    long long room[29];
  };
};
inline constexpr int graph_node_memcpy = 1, graph_node_wait_event = 6, graph_node_event_record = 7;

struct BatchMemOp {
  std::uint32_t operation; // 1/4 wait 32/64, 2/5 write 32/64, 3 flush, 6 barrier
  devptr address;
  std::uint64_t value;
  std::uint32_t flags;
  devptr alias;
  std::uint64_t pad;
};
static_assert(sizeof(BatchMemOp) == 48);

} // namespace hitproof::probes
