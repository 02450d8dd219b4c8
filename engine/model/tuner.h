// From a profile of texts to the numbers that the kernels take; free choices are made by timing.
#pragma once

#include "engine/model/preset.h"
#include "engine/model/profile.h"
#include "kernels/model/profile.h"
#include "kernels/model/table.h"

namespace hitproof::engine {

/// Every pinned choice as it stands; for every free one the candidate that ran fastest just now
/// with these kernels at these dimensions, so that two processes may well differ. On a device the
/// chunk of the recurrence is 0 whatever was asked for: its tokens go one by one. Throws
/// std::invalid_argument for a bad value.
kernels::KernelProfile choose_kernels(const ModelConfig& config, int tp,
                                      const KernelProfile& profile,
                                      const kernels::ModelKernels& kernels, void* stream);

} // namespace hitproof::engine
