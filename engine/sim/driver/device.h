// The one simulated device: start-up, contexts, what a call needs before it may go on.
#pragma once

#include "engine/sim/cuda_subset_types.h"

#include <cerrno>
#include <new>
#include <system_error>

namespace hitproof::sim {

inline constexpr const char* device_name = "Hitproof simulated device (sim)";
inline constexpr const char* device_bus_id = "0000:51:4D:00"; // "SIM" needs a place on a bus, too
inline constexpr int driver_version = HITPROOF_SIM_CUDA_VERSION;

/// True in a child that was forked after cuInit: the workers did not come along, so, as with the
/// real driver, nothing works there until another program is executed.
bool forked();

/// cuInit was called, and not in a parent process only.
CUresult ready();
void initialize();

/// ready(), a context is current on this thread, and this is not a host function on a stream.
CUresult ready_for_work();

CUcontext primary_context();
CUcontext current_context();
void set_current_context(CUcontext context);
bool push_context(CUcontext context);
CUcontext pop_context();

/// Retain count of the primary context.
void retain_primary();
bool release_primary(); // false: it was not retained
void reset_primary();
bool primary_active();
unsigned primary_flags();
void set_primary_flags(unsigned flags);

/// Runs `body` if `state` is success; no exception leaves the library.
template <class Body> CUresult guarded(CUresult state, Body&& body) noexcept {
  if (state != CUDA_SUCCESS) return state;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::system_error& e) { // a stream's thread that could not be started
    const int code = e.code().value();
    return code == EAGAIN || code == ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}
/// For calls that reach streams or memory.
template <class Body> CUresult work_call(Body&& body) noexcept {
  return guarded(ready_for_work(), body);
}
/// For calls that only look.
template <class Body> CUresult query_call(Body&& body) noexcept { return guarded(ready(), body); }

} // namespace hitproof::sim
