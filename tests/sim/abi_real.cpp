// Only where a toolkit's headers are. The internal switch makes them declare every form of a call.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tests/sim/abi_facts.h"

std::vector<hitproof::sim::tests::Fact> hitproof::sim::tests::real_facts() {
#include "tests/sim/abi_collect.inc"
}
