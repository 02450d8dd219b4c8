// How the runtime reaches the driver: as the real one does. dlopen of libcuda.so.1, one dlsym for
// cuGetProcAddress_v2, then cuGetProcAddress asked for by that pointer, then everything else by
// name and version from the pointer that came back. A hook at any of these places is passed.
#pragma once

#include "engine/sim/cuda_subset.h"
#include "engine/sim/cudart_subset.h"

namespace hitproof::sim {

/// Every entry of the driver, in one of the two forms of the default stream.
struct DriverCalls {
#define HITPROOF_SIM_ENTRY(base, version, symbol, twin) decltype(&::symbol) symbol = nullptr;
#include "engine/sim/driver_entries.def"
#undef HITPROOF_SIM_ENTRY
};

struct Driver {
  DriverCalls legacy;     // asked for with flag 1
  DriverCalls per_thread; // asked for with flag 2
  decltype(&::cuGetProcAddress_v2) get_proc_address = nullptr;
  cudaError_t state = cudaErrorInsufficientDriver;
};

/// Loads the driver at the first call. `state` says whether it can be used.
const Driver& driver();

/// Remembers an error for cudaGetLastError; gives it back.
cudaError_t remember(cudaError_t error);
inline cudaError_t remember(CUresult result) {
  return remember(static_cast<cudaError_t>(static_cast<unsigned>(result)));
}
cudaError_t last_error(bool clear);

/// Makes the primary context current on this thread if none is.
cudaError_t bind_thread(const Driver& loaded);

/// A call that needs the driver only.
template <class Body> cudaError_t with_driver(Body&& body) noexcept {
  const Driver& loaded = driver();
  if (loaded.state != cudaSuccess) return remember(loaded.state);
  return remember(body(loaded.legacy));
}

/// A call that needs a context. `body` gets the form of the driver that fits.
enum class Form { legacy, per_thread };
template <class Body> cudaError_t with_context(Form form, Body&& body) noexcept {
  const Driver& loaded = driver();
  if (cudaError_t error = bind_thread(loaded); error != cudaSuccess) return remember(error);
  return remember(body(form == Form::legacy ? loaded.legacy : loaded.per_thread));
}
template <class Body> cudaError_t with_context(Body&& body) noexcept {
  return with_context(Form::legacy, body);
}

} // namespace hitproof::sim

#define HITPROOF_SIM_API extern "C" __attribute__((visibility("default")))
#define HITPROOF_SIM_EXPAND(...) __VA_ARGS__

// Opens the body of `symbol` and its twin; inside, `form` says which of them was called.
#define HITPROOF_SIM_CALL(symbol, suffix, params, args)                                            \
  static cudaError_t symbol##_body(hitproof::sim::Form form, HITPROOF_SIM_EXPAND params) noexcept; \
  HITPROOF_SIM_API cudaError_t symbol params {                                                     \
    return symbol##_body(hitproof::sim::Form::legacy, HITPROOF_SIM_EXPAND args);                   \
  }                                                                                                \
  HITPROOF_SIM_API cudaError_t symbol##suffix params {                                             \
    return symbol##_body(hitproof::sim::Form::per_thread, HITPROOF_SIM_EXPAND args);               \
  }                                                                                                \
  static cudaError_t symbol##_body(hitproof::sim::Form form, HITPROOF_SIM_EXPAND params) noexcept
