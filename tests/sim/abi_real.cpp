// Only where a toolkit's headers are. The internal switch makes them declare every form of a call.
#define __CUDA_API_VERSION_INTERNAL
#include "tests/sim/abi_facts.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

std::vector<hitproof::sim::tests::Fact> hitproof::sim::tests::real_facts() {
#include "tests/sim/abi_collect.inc"
}
