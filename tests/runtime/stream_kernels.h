// A table of kernels that works as a GPU's does: every call is enqueued on the stream and done
// later, by the stream's worker, with the CPU's kernels. For tests on the simulated device, whose
// memory the host can read.
#pragma once

#include "kernels/model/table.h"

namespace hitproof::engine {

// What the collectives use: copy, copy_rows, add_rows. Every operation dawdles for up to
// `dawdle_us` microseconds, so that what is not ordered comes in another order.
const kernels::ModelKernels& stream_kernels(int dawdle_us);

} // namespace hitproof::engine
