#include "engine/runtime/rank_step.h"

#include "schema/clock.h"

#include <algorithm>
#include <cstring>

namespace hitproof::engine {
namespace {

constexpr size_t sampled_per_sequence = 2; // one token and one accepted draft

} // namespace

StepExecutor::StepExecutor(int rank, const CacheGeometry& geometry, const RankMemory& memory,
                           RankModel& model, Connector* connector, const device::Stream& compute,
                           const kernels::ModelKernels& kernels, Break broken)
    : rank_(rank), geometry_(geometry), memory_(memory), model_(model), connector_(connector),
      broken_(broken), compute_(compute), device_kernels_(kernels.device) {
  if (broken_ == Break::tail_contiguous_write) model_.break_tail_writes(true);
}

StepExecutor::~StepExecutor() {
  tokens_.release();
  tables_.release();
  sampled_.release();
}

void StepExecutor::Mirror::reserve(size_t count) {
  if (count <= capacity) return;
  release();
  capacity = std::max<size_t>(count, 2048);
  host = static_cast<int32_t*>(device::allocate_pinned(capacity * sizeof(int32_t)));
  device = static_cast<int32_t*>(device::allocate(capacity * sizeof(int32_t)));
}

void StepExecutor::Mirror::release() {
  try {
    if (host != nullptr) device::release_pinned(host);
    if (device != nullptr) device::release(device);
  } catch (const device::DeviceError&) {
    // The process ends; the driver takes the memory back.
  }
  host = device = nullptr;
  capacity = 0;
}

// Token ids and block tables go to the device in two small copies, as a serving engine's do: copies
// that carry no cache bytes, which an observer must tell apart.
void StepExecutor::stage_inputs(const Step& step) {
  size_t tokens = 0;
  size_t tables = 0;
  for (const SeqOrder& seq : step.seqs) {
    tokens += seq.tokens.size();
    tables += seq.attention.size();
  }
  tokens_.reserve(tokens);
  tables_.reserve(tables);
  sampled_.reserve(step.seqs.size() * sampled_per_sequence);
  inputs_.clear();
  outputs_.assign(step.seqs.size(), {});
  size_t token = 0;
  size_t entry = 0;
  for (const SeqOrder& seq : step.seqs) {
    SeqInput in;
    in.request = seq.request;
    in.start = seq.start;
    in.tokens = {tokens_.host + token, seq.tokens.size()};
    in.tokens_device = tokens_.device + token;
    in.last_is_draft = seq.last_is_draft;
    in.next_token = seq.next_token;
    in.prefill = seq.prefill;
    in.attn_blocks = {tables_.host + entry, seq.attention.size()};
    in.attn_blocks_device = tables_.device + entry;
    in.tail_block = seq.tail.block;
    for (size_t g = 0; g < seq.state.size(); ++g)
      in.state[g] = {seq.state[g].in.block, {seq.state[g].out[0].block, seq.state[g].out[1].block}};
    inputs_.push_back(in);
    std::copy(seq.tokens.begin(), seq.tokens.end(), tokens_.host + token);
    token += seq.tokens.size();
    for (const BlockRef& b : seq.attention)
      tables_.host[entry++] = b.block;
  }
  if (tokens > 0)
    device::copy_to_device({tokens_.device, tokens_.host, tokens * sizeof(int32_t)}, compute_);
  if (tables > 0)
    device::copy_to_device({tables_.device, tables_.host, tables * sizeof(int32_t)}, compute_);
}

void StepExecutor::run_model() {
  if (!device_kernels_) return enqueue_model();
  model_.step(inputs_, outputs_);
  for (size_t i = 0; i < outputs_.size(); ++i)
    std::copy_n(outputs_[i].sampled.begin(),
                std::min(outputs_[i].sampled.size(), sampled_per_sequence),
                sampled_.host + i * sampled_per_sequence);
}

void StepExecutor::enqueue_model() {
  failure_ = nullptr;
  device::enqueue(compute_, [this] {
    try {
      model_.step(inputs_, outputs_);
      for (size_t i = 0; i < outputs_.size(); ++i)
        std::copy_n(outputs_[i].sampled.begin(),
                    std::min(outputs_[i].sampled.size(), sampled_per_sequence),
                    sampled_.device + i * sampled_per_sequence);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
  if (!outputs_.empty())
    device::copy_to_host(
        {sampled_.host, sampled_.device, outputs_.size() * sampled_per_sequence * sizeof(int32_t)},
        compute_);
}

void StepExecutor::fetch_results(const Step& step, StepDone& done) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    SeqOutput& out = outputs_[i];
    SeqResult result;
    result.request = step.seqs[i].request;
    result.accepted = out.accepted;
    const int32_t* ids = sampled_.host + i * sampled_per_sequence;
    result.sampled.assign(ids, ids + std::min(out.sampled.size(), sampled_per_sequence));
    result.logits = out.logits_sha256;
    result.margin = out.margin;
    result.draft = out.draft;
    done.results.push_back(std::move(result));
  }
}

std::vector<WrittenBlock> StepExecutor::written_blocks(const Step& step) const {
  std::vector<WrittenBlock> written;
  for (const SeqOrder& seq : step.seqs) {
    const int first = seq.start / geometry_.block_tokens;
    const int end = seq.start + static_cast<int>(seq.tokens.size());
    for (int i = first; i * geometry_.block_tokens < end; ++i)
      written.push_back({0, seq.attention.at(static_cast<size_t>(i)).block});
    written.push_back({1, seq.tail.block});
    for (int g = 0; g < num_state_groups; ++g)
      for (const BlockRef& out : seq.state[static_cast<size_t>(g)].out)
        if (out.block != 0) written.push_back({2 + g, out.block});
  }
  return written;
}

StepDone StepExecutor::run(const Step& step) {
  StepDone done;
  done.step = step.step;
  if (connector_ == nullptr && !(step.loads.empty() && step.saves.empty()))
    throw ProtocolError("a step with transfers, and the connector is off");
  if (connector_ != nullptr) {
    connector_->begin_loads(step.step, step.loads, compute_);
    for (const LoadOrder& load : step.loads)
      for (int g = 0; g < num_state_groups; ++g)
        model_.set_folded_tokens(g, load.state[static_cast<size_t>(g)].block, load.boundary);
    if (broken_ != Break::load_read_early) done.loads = connector_->finish_loads();
    connector_->announce_reuse(step.step, written_blocks(step));
  }
  announce_tail_reads(step);
  announce_tail_steps(step);
  const uint64_t begin = schema::now();
  stage_inputs(step);
  run_model();
  if (connector_ != nullptr && broken_ == Break::load_read_early)
    done.loads = connector_->finish_loads();
  compute_.synchronize();
  const uint64_t end = schema::now();
  if (failure_) std::rethrow_exception(failure_);
  model_.check();
  fetch_results(step, done);
  announce_step(step, begin, end);
  announce_pooled_keys(step);
  announce_states(step);
  if (connector_ != nullptr) save(step, done);
  return done;
}

// Only now, after sampling, is it known which checkpoints the accepted tokens reach.
void StepExecutor::save(const Step& step, StepDone& done) {
  std::vector<SaveOrder> orders;
  std::vector<uint32_t> next_tokens;
  for (const SaveOrder& order : step.saves) {
    const auto of_request = [&](const SeqOrder& s) { return s.request == order.request; };
    const auto at = std::find_if(step.seqs.begin(), step.seqs.end(), of_request);
    if (at == step.seqs.end())
      throw ProtocolError("a save order for a request that is not in the step");
    const SeqOutput& out = outputs_[static_cast<size_t>(at - step.seqs.begin())];
    const auto start = static_cast<uint32_t>(at->start);
    const uint32_t end = start + static_cast<uint32_t>(out.accepted);
    if (order.boundary <= start || order.boundary > end) continue;
    uint32_t next = unknown_token;
    if (at->prefill) {
      if (at->next_token >= 0)
        next = static_cast<uint32_t>(at->next_token);
      else if (!out.sampled.empty())
        next = static_cast<uint32_t>(out.sampled.front());
    } else if (const size_t i = order.boundary - start - 1; i < out.sampled.size()) {
      next = static_cast<uint32_t>(out.sampled[i]);
    }
    orders.push_back(order);
    next_tokens.push_back(next);
    if (broken_ == Break::state_wrong_boundary) {
      for (size_t g = 0; g < at->state.size(); ++g)
        if (at->state[g].in.block != 0) orders.back().state[g] = at->state[g].in;
    }
  }
  connector_->begin_saves(orders, next_tokens, compute_);
  done.saves = connector_->finish_saves();
}

} // namespace hitproof::engine
