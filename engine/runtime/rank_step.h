// One step on one rank: loads, inputs to the device, the model, results back, saves.
//
// On the simulated device the model is one piece of device work, a closure on the stream. A model
// with device kernels is called on this thread and enqueues its own work.
#pragma once

#include "engine/model/rank_model.h"
#include "engine/runtime/connector.h"
#include "engine/runtime/device.h"
#include "engine/runtime/protocol.h"
#include "engine/runtime/rank_memory.h"
#include "kernels/model/table.h"

#include <memory>
#include <vector>

namespace hitproof::engine {

class StepExecutor {
 public:
  // connector: nullptr where it is off. compute, kernels: those that the model was made with.
  // Everything outlives the executor.
  StepExecutor(int rank, const CacheGeometry& geometry, const RankMemory& memory, RankModel& model,
               Connector* connector, const device::Stream& compute,
               const kernels::ModelKernels& kernels, Break broken);
  ~StepExecutor();

  // Throws what the model threw (CollectiveError among others), DeviceError, PeerGone.
  StepDone run(const Step& step);
  // Everything enqueued has finished, what the probe put there included.
  void drain() { compute_.synchronize(); }

 private:
  // A staging buffer in pinned memory and its twin on the device.
  struct Mirror {
    int32_t* host = nullptr;
    int32_t* device = nullptr;
    size_t capacity = 0;
    void reserve(size_t count);
    void release();
  };
  void stage_inputs(const Step& step);
  void run_model();
  void enqueue_model();
  void fetch_results(const Step& step, StepDone& done);
  void announce_tail_reads(const Step& step);
  void announce_tail_steps(const Step& step);
  void announce_pooled_keys(const Step& step);
  void announce_step(const Step& step, uint64_t begin_ns, uint64_t end_ns);
  void announce_states(const Step& step);
  void save(const Step& step, StepDone& done);
  std::vector<WrittenBlock> written_blocks(const Step& step) const;

  const int rank_;
  const CacheGeometry& geometry_;
  const RankMemory& memory_;
  RankModel& model_;
  Connector* connector_;
  const Break broken_;
  const device::Stream& compute_;
  const bool device_kernels_;
  Mirror tokens_, tables_, sampled_;
  std::vector<SeqInput> inputs_;
  std::vector<SeqOutput> outputs_;
  std::exception_ptr failure_; // what the closure threw; read after the stream was synchronised
};

} // namespace hitproof::engine
