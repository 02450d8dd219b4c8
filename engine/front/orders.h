// From a plan to what each rank is told: sequences with their blocks, saves, loads.
//
// Promises: every rank of a step gets the same orders except for the transfer ids, which are (rank
// + 1) << 48 plus a counter that all ranks share; ids are never used twice by one maker. Every
// block goes with its generation. A rank that is to resume elsewhere (breaks.h) is told so here,
// after the plan: the scheduler's records stay right.
#pragma once

#include "engine/front/scheduler.h"
#include "engine/runtime/breaks.h"
#include "engine/runtime/protocol.h"

#include <cstdint>
#include <vector>

namespace hitproof::engine {

class OrderMaker {
 public:
  struct Options {
    int ranks = 1;
    int block_tokens = 0;
    bool connector = true;      // off: no saves; loads cannot come about
    Break broken = Break::none; // breaks of other processes change nothing here
    uint64_t first_id = 0; // ids count on from here: engines that share a cache server differ in it
  };
  OrderMaker(const Options& options, const BlockPool& pool)
      : options_(options), pool_(pool), transfers_(options.first_id) {}

  /// One step per rank, in rank order.
  std::vector<Step> make(const StepPlan& plan);

 private:
  BlockRef ref(int32_t block) const;
  SeqOrder sequence_order(const SequenceStep& step) const;
  LoadOrder load_order(const SequenceStep& step) const;
  SaveOrder save_order(const SequenceStep& step) const;

  Options options_;
  const BlockPool& pool_;
  uint64_t transfers_ = 0;
};

/// What all ranks answered to one step: throws std::runtime_error, naming rank, step and request,
/// where they differ or answered another step.
std::vector<SeqResult> agreed_results(uint64_t step, const std::vector<StepDone>& answers);

} // namespace hitproof::engine
