// All parts of one rank's forward pass, wired together. Internal to this room and its tests; others
// use RankModel.
#pragma once

#include "engine/model/mtp_layer.h"
#include "engine/model/stack.h"
#include "engine/model/step_indices.h"
#include "engine/model/step_layout.h"

namespace hitproof::engine {

class Forward {
 public:
  Forward(const ModelConfig& config_in, const CacheGeometry& geometry_in,
          const kernels::KernelProfile& profile, const WeightRecipe& recipe, uint64_t seed,
          int rank, int tp, Collectives& collectives, CacheMemory memory,
          const kernels::ModelKernels& kernels = kernels::cpu_model_kernels(),
          void* stream = nullptr)
      : config(config_in), geometry(geometry_in),
        context{config, geometry, kernels, stream, memory, collectives, ChoicesInForce(profile),
                false},
        weights(make_weights(config, recipe, seed, rank, tp)), indices(context), kda(context),
        dsa(context), ffn(context), sampler(context), stack(context, kda, dsa, ffn),
        mtp(context, dsa, ffn, sampler) {
    place_weights(weights, kernels, stream);
  }
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  const ModelConfig config;
  const CacheGeometry geometry;
  ModelContext context;
  RankWeights weights;
  StepIndices indices;
  KdaLayer kda;
  DsaLayer dsa;
  FfnLayer ffn;
  Sampler sampler;
  Stack stack;
  MtpLayer mtp;
};

} // namespace hitproof::engine
