// Linked calls of the runtime: plain, batch, pitched, wrong kinds, from several threads, per-thread
// streams, between two GPUs.
#include "tests/gpu/routes/ledger.h"

#include <barrier>
#include <cuda_runtime_api.h>
#include <thread>

namespace hitproof::routes {
namespace {

constexpr std::size_t kib = 1024;

void runtime(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * kib);
  const cudaStream_t own = make_stream(ledger, "stream1");
  copy_async(ledger, b.device, b.pinned, 40 * kib, host_to_device);
  copy_async(ledger, b.other_device, b.device, 3000, device_to_device);
  copy_async(ledger, b.pinned + 50 * kib, b.device, 777, device_to_host, own);
  synchronize(ledger, own);
  check(cudaMemcpy(b.pinned, b.other_device, 2 * kib, cudaMemcpyDeviceToHost), "cudaMemcpy");
  ledger.copied({.call = "cudaMemcpy",
                 .dst = b.pinned,
                 .src = b.other_device,
                 .bytes = 2 * kib,
                 .direction = device_to_host});
}

// Two attributes, each for a part of the entries: the access order belongs to the entry.
void batch(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * kib);
  const cudaStream_t stream = make_stream(ledger, "stream1");
  constexpr std::size_t count = 5, second = 3;
  void* dsts[count];
  const void* srcs[count];
  std::size_t sizes[count];
  cudaMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
  std::size_t starts[2] = {0, second};
  for (std::size_t i = 0; i < count; ++i) {
    const bool up = i % 2 == 0;
    dsts[i] = (up ? b.device : b.pinned) + i * 8 * kib;
    srcs[i] = (up ? b.pinned : b.device) + i * 8 * kib;
    sizes[i] = kib + i;
    ledger.copied({.call = "cudaMemcpyBatchAsync",
                   .dst = dsts[i],
                   .src = srcs[i],
                   .bytes = sizes[i],
                   .direction = up ? host_to_device : device_to_host,
                   .stream = stream,
                   .batch_index = static_cast<int>(i),
                   .batch_count = count,
                   .access_order = attributes[i < second ? 0 : 1].srcAccessOrder});
  }
  check(cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attributes, starts, 2, stream), "batch");
  synchronize(ledger, stream);
}

void pitched_2d(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * kib);
  check(cudaMemcpy2DAsync(b.device + 16, 512, b.pinned + 32, 256, 200, 7, cudaMemcpyHostToDevice,
                          nullptr),
        "2D");
  ledger.copied({.call = "cudaMemcpy2DAsync",
                 .dst = b.device + 16,
                 .src = b.pinned + 32,
                 .bytes = 200 * 7,
                 .direction = host_to_device});
}

void pitched_3d(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * kib);
  cudaMemcpy3DParms p = {};
  p.srcPtr = cudaPitchedPtr{b.device, 512, 512, 8};
  p.dstPtr = cudaPitchedPtr{b.pinned, 256, 256, 8};
  p.dstPos = cudaPos{8, 2, 1};
  p.extent = cudaExtent{100, 5, 3};
  p.kind = cudaMemcpyDeviceToHost;
  check(cudaMemcpy3DAsync(&p, nullptr), "3D");
  ledger.copied({.call = "cudaMemcpy3DAsync",
                 .dst = b.pinned + (1 * 8 + 2) * 256 + 8,
                 .src = b.device,
                 .bytes = 100 * 5 * 3,
                 .direction = device_to_host});
}

void kinds(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * kib);
  const auto copy = [&](void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind,
                        Direction direction) {
    const int result = cudaMemcpyAsync(dst, src, bytes, kind);
    ledger.copied({.call = "cudaMemcpyAsync",
                   .dst = dst,
                   .src = src,
                   .bytes = bytes,
                   .direction = direction,
                   .result = result});
    return result;
  };
  check(copy(b.device, b.pinned, 5000, cudaMemcpyDefault, host_to_device), "default");
  check(copy(b.pinned, b.device, 5001, cudaMemcpyDefault, device_to_host), "default");
  // Pinned memory has one address on both sides: the wrong kind may be taken, or refused.
  if (copy(b.device, b.pinned, 5002, cudaMemcpyDeviceToDevice, host_to_device) != 0)
    cudaGetLastError();
}

// Each thread its own stream, all alive at the same time, so that each writes its own journal.
void threads(Ledger& ledger, int, char**) {
  constexpr int count = 3;
  const Buffers b(ledger, 64 * kib);
  std::barrier together(count);
  std::vector<std::thread> started;
  for (int t = 0; t < count; ++t) {
    const cudaStream_t stream = make_stream(ledger, "stream" + std::to_string(t));
    started.emplace_back([&, t, stream] {
      // One after the other at first, so that the threads get their names in a stable order, and
      // what the others read is there.
      for (int turn = 0; turn < count; ++turn) {
        if (turn == t) {
          copy_async(ledger, b.device + 8 * kib * static_cast<std::size_t>(t), b.pinned,
                     static_cast<std::size_t>(100 + t), host_to_device, stream);
          synchronize(ledger, stream);
        }
        together.arrive_and_wait();
      }
      for (std::size_t i = 0; i < 20; ++i)
        copy_async(ledger, b.pinned + 32 * kib + 8 * kib * static_cast<std::size_t>(t), b.device,
                   1000 + 100 * static_cast<std::size_t>(t) + i, device_to_host, stream);
      synchronize(ledger, stream);
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : started)
    thread.join();
}

// Memory of two devices that reach each other.
struct Pair {
  explicit Pair(Ledger& ledger) {
    int devices = 0, reachable = 0;
    check(cudaGetDeviceCount(&devices), "devices");
    if (devices > 1) check(cudaDeviceCanAccessPeer(&reachable, 0, 1), "peer");
    // Where no second GPU is within reach, the calls are the same from one to itself.
    other = reachable != 0 ? 1 : 0;
    for (const int side : {1, 0}) {
      check(cudaSetDevice(device(side)), "cudaSetDevice");
      check(cudaMalloc(&memory[side], bytes), "cudaMalloc");
      if (other != 0) check(cudaDeviceEnablePeerAccess(1 - side, 0), "cudaDeviceEnablePeerAccess");
    }
    ledger.name("gpu0", memory[0], bytes);
    ledger.name("gpu1", memory[1], bytes);
  }
  int device(int side) const { return side == 0 ? 0 : other; }

  static constexpr std::size_t bytes = 64 * kib;
  void* memory[2] = {};
  int other = 0; // device of the second side
};

void peer(Ledger& ledger, int, char**) {
  const Pair pair(ledger);
  const cudaStream_t stream = make_stream(ledger, "stream1");
  for (const int from : {0, 1}) {
    const auto n = static_cast<std::size_t>(11000 + from);
    check(cudaMemcpyPeerAsync(pair.memory[1 - from], pair.device(1 - from), pair.memory[from],
                              pair.device(from), n, stream),
          "peer");
    ledger.copied({.call = "cudaMemcpyPeerAsync",
                   .dst = pair.memory[1 - from],
                   .src = pair.memory[from],
                   .bytes = n,
                   .direction = device_to_device,
                   .stream = stream});
  }
  synchronize(ledger, stream);
}

void peer_3d(Ledger& ledger, int, char**) {
  const Pair pair(ledger);
  const cudaStream_t stream = make_stream(ledger, "stream1");
  cudaMemcpy3DPeerParms p = {};
  p.srcDevice = pair.device(0);
  p.dstDevice = pair.device(1);
  p.srcPtr = cudaPitchedPtr{pair.memory[0], 512, 512, 8};
  p.dstPtr = cudaPitchedPtr{pair.memory[1], 256, 256, 8};
  p.srcPos = cudaPos{4, 1, 0};
  p.extent = cudaExtent{120, 6, 2};
  check(cudaMemcpy3DPeerAsync(&p, stream), "3D peer");
  ledger.copied({.call = "cudaMemcpy3DPeerAsync",
                 .dst = pair.memory[1],
                 .src = static_cast<char*>(pair.memory[0]) + 512 + 4,
                 .bytes = 120 * 6 * 2,
                 .direction = device_to_device,
                 .stream = stream});
  synchronize(ledger, stream);
}

const Routes added({{"runtime", runtime},
                    {"batch", batch},
                    {"pitched_2d", pitched_2d},
                    {"pitched_3d", pitched_3d},
                    {"kinds", kinds},
                    {"threads", threads},
                    {"peer", peer},
                    {"peer_3d", peer_3d}});

} // namespace
} // namespace hitproof::routes
