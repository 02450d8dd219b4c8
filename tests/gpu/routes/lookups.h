// Driver calls by the pointers that a look-up gave.
#pragma once

#include "tests/gpu/routes/ledger.h"

#include <cuda.h>

namespace hitproof::routes {

using Up = CUresult(CUdeviceptr, const void*, std::size_t, CUstream);
using Down = CUresult(void*, CUdeviceptr, std::size_t, CUstream);
using Proc = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

struct Calls {
  Up* up;
  Down* down;
  int version; // by which they were asked for
};

template <class F> F* asked(Proc* proc, const char* name, int version) {
  void* found = nullptr;
  check(proc(name, &found, version, 0, nullptr), name);
  return reinterpret_cast<F*>(found);
}
inline Calls asked_pair(Proc* proc, int version) {
  return {asked<Up>(proc, "cuMemcpyHtoDAsync", version),
          asked<Down>(proc, "cuMemcpyDtoHAsync", version), version};
}

// `bytes` to the device, one more back.
inline void up_and_down(Ledger& ledger, const Buffers& b, const Calls& calls, std::size_t bytes) {
  const auto device = reinterpret_cast<CUdeviceptr>(b.device);
  check(calls.up(device, b.pinned, bytes, nullptr), "H2D");
  ledger.copied({.call = "cuMemcpyHtoDAsync_v2",
                 .dst = b.device,
                 .src = b.pinned,
                 .bytes = bytes,
                 .direction = host_to_device,
                 .version = calls.version});
  check(calls.down(b.pinned, device, bytes + 1, nullptr), "D2H");
  ledger.copied({.call = "cuMemcpyDtoHAsync_v2",
                 .dst = b.pinned,
                 .src = b.device,
                 .bytes = bytes + 1,
                 .direction = device_to_host,
                 .version = calls.version});
}

} // namespace hitproof::routes
