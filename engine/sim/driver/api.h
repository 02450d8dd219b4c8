// How exported calls are written: one body for a call and its twin for the per-thread stream.
#pragma once

#include "engine/sim/cuda_subset.h"
#include "engine/sim/driver/device.h"
#include "engine/sim/driver/stream.h"

#define HITPROOF_SIM_API extern "C" __attribute__((visibility("default")))
#define HITPROOF_SIM_EXPAND(...) __VA_ARGS__

// Opens the body of `symbol` and `symbol##suffix`; inside, `form` says which of them was called.
#define HITPROOF_SIM_CALL(symbol, suffix, params, args)                                            \
  static CUresult symbol##_body(DefaultStream form, HITPROOF_SIM_EXPAND params) noexcept;          \
  HITPROOF_SIM_API CUresult symbol params {                                                        \
    return symbol##_body(DefaultStream::legacy, HITPROOF_SIM_EXPAND args);                         \
  }                                                                                                \
  HITPROOF_SIM_API CUresult symbol##suffix params {                                                \
    return symbol##_body(DefaultStream::per_thread, HITPROOF_SIM_EXPAND args);                     \
  }                                                                                                \
  static CUresult symbol##_body(DefaultStream form, HITPROOF_SIM_EXPAND params) noexcept
