#define HITPROOF_CUDA_EXPLICIT_NAMES
#include "engine/sim/cuda_subset.h"
#include "engine/sim/cudart_subset.h"
#include "tests/sim/abi_facts.h"

std::vector<hitproof::sim::tests::Fact> hitproof::sim::tests::subset_facts() {
#include "tests/sim/abi_collect.inc"
}
