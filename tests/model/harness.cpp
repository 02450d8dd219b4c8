#include "tests/model/harness.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <thread>

namespace hitproof::engine::testing {

const kernels::ModelKernels* kernels_of_environment() {
  const char* library = std::getenv("HITPROOF_MODEL_KERNELS");
  if (library == nullptr) return nullptr;
  void* opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* table = opened == nullptr ? nullptr : ::dlsym(opened, kernels::cuda_model_kernels_symbol);
  if (table == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<kernels::CudaModelKernels>(table)();
}

RankMemory::RankMemory(const CacheGeometry& g, int blocks, const kernels::ModelKernels& kernels,
                       void* stream)
    : kernels_(kernels), stream_(stream) {
  for (int kind = 0; kind < 2; ++kind) {
    for (int r = 0; r < num_regions; ++r) {
      const uint64_t page = kind == 0 ? g.mla_page : g.index_page;
      // Never zero: a read of what was not written shows.
      const std::vector<std::byte> unwritten(page * static_cast<uint64_t>(blocks), std::byte{0x5a});
      regions_.emplace_back(kernels, SideMemory::Place::side, unwritten.size());
      auto* region = static_cast<std::byte*>(regions_.back().data());
      kernels.to_device(stream, region, unwritten.data(), unwritten.size());
      kernels.synchronize(stream);
      (kind == 0 ? view_.mla : view_.indexer)[static_cast<size_t>(r)] = region;
    }
  }
}

std::vector<std::byte> RankMemory::content() const {
  size_t bytes = 0;
  for (const SideMemory& region : regions_)
    bytes += region.bytes();
  std::vector<std::byte> all(bytes);
  std::byte* to = all.data();
  for (const SideMemory& region : regions_) {
    kernels_.to_host(stream_, to, region.data(), region.bytes());
    to += region.bytes();
  }
  kernels_.synchronize(stream_);
  return all;
}

namespace {

class StagedCollectives final : public Collectives {
 public:
  StagedCollectives(Collectives& host, const kernels::ModelKernels& kernels, void* stream)
      : host_(host), kernels_(kernels), stream_(stream) {}
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }

  void all_gather_rows(const float* own, int rows, int cols, float* all) override {
    const auto [begin, end] = row_range(rows, rank(), size());
    const std::vector<float> mine = fetch(own, cells(end - begin, cols));
    std::vector<float> result(cells(rows, cols));
    host_.all_gather_rows(mine.data(), rows, cols, result.data());
    store(all, result);
  }
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override {
    const auto [begin, end] = row_range(rows, rank(), size());
    const std::vector<float> mine = fetch(partial, cells(rows, cols));
    std::vector<float> result(cells(end - begin, cols));
    host_.reduce_scatter_rows(mine.data(), rows, cols, result.data());
    store(own, result);
  }
  void all_reduce(float* data, int n) override {
    std::vector<float> values = fetch(data, static_cast<size_t>(n));
    host_.all_reduce(values.data(), n);
    store(data, values);
  }
  void all_gather(const void* mine, size_t bytes, void* all) override {
    const auto own = fetch(static_cast<const std::byte*>(mine), bytes);
    std::vector<std::byte> result(bytes * static_cast<size_t>(size()));
    host_.all_gather(own.data(), bytes, result.data());
    store(static_cast<std::byte*>(all), result);
  }
  void barrier() override { host_.barrier(); }

 private:
  static size_t cells(int rows, int cols) {
    return static_cast<size_t>(rows) * static_cast<size_t>(cols);
  }
  template <class T> std::vector<T> fetch(const T* from, size_t n) {
    std::vector<T> values(n);
    kernels_.to_host(stream_, values.data(), from, n * sizeof(T));
    kernels_.synchronize(stream_);
    return values;
  }
  template <class T> void store(T* to, const std::vector<T>& values) {
    kernels_.to_device(stream_, to, values.data(), values.size() * sizeof(T));
    kernels_.synchronize(stream_);
  }

  Collectives& host_;
  const kernels::ModelKernels& kernels_;
  void* stream_;
};

} // namespace

std::unique_ptr<Collectives>
staged_collectives(Collectives& host, const kernels::ModelKernels& kernels, void* stream) {
  return std::make_unique<StagedCollectives>(host, kernels, stream);
}

class ThreadGroup::Member final : public Collectives {
 public:
  Member(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_.posted_.size()); }

  void all_gather_rows(const float* own, int rows, int cols, float* all) override {
    post(own);
    for (int r = 0; r < size(); ++r) {
      const auto [begin, end] = row_range(rows, r, size());
      float* to = all + static_cast<ptrdiff_t>(begin) * cols;
      const auto* from = static_cast<const float*>(group_.posted_[static_cast<size_t>(r)]);
      if (from != to)
        std::memcpy(to, from,
                    static_cast<size_t>(end - begin) * static_cast<size_t>(cols) * sizeof(float));
    }
    barrier();
  }
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override {
    post(partial);
    const auto [begin, end] = row_range(rows, rank_, size());
    const std::vector<float> sum =
        sum_of(static_cast<ptrdiff_t>(begin) * cols, static_cast<size_t>((end - begin) * cols));
    barrier();
    std::copy(sum.begin(), sum.end(), own);
    barrier();
  }
  void all_reduce(float* data, int n) override {
    post(data);
    const std::vector<float> sum = sum_of(0, static_cast<size_t>(n));
    barrier();
    std::copy(sum.begin(), sum.end(), data);
    barrier();
  }
  void all_gather(const void* mine, size_t bytes, void* all) override {
    post(mine);
    for (int r = 0; r < size(); ++r) {
      std::memcpy(static_cast<std::byte*>(all) + static_cast<size_t>(r) * bytes,
                  group_.posted_[static_cast<size_t>(r)], bytes);
    }
    barrier();
  }
  void barrier() override { group_.barrier_.arrive_and_wait(); }

 private:
  void post(const void* data) {
    group_.posted_[static_cast<size_t>(rank_)] = data;
    barrier();
  }
  std::vector<float> sum_of(ptrdiff_t offset, size_t n) {
    const auto* first = static_cast<const float*>(group_.posted_[0]) + offset;
    std::vector<float> sum(first, first + n);
    for (int r = 1; r < size(); ++r) {
      const auto* part = static_cast<const float*>(group_.posted_[static_cast<size_t>(r)]) + offset;
      for (size_t i = 0; i < n; ++i)
        sum[i] += part[i];
    }
    return sum;
  }

  ThreadGroup& group_;
  int rank_;
};

ThreadGroup::ThreadGroup(int size) : posted_(static_cast<size_t>(size)), barrier_(size) {
  for (int r = 0; r < size; ++r)
    members_.push_back(std::make_unique<Member>(*this, r));
}

// The inputs with their spans' values in memory of the kernels' side. A step may return before the
// copies have run.
class TestEngine::SideInputs {
 public:
  SideInputs(std::span<const SeqInput> inputs, const kernels::ModelKernels& kernels, void* stream)
      : kernels_(kernels), stream_(stream), inputs_(inputs.begin(), inputs.end()) {
    for (SeqInput& in : inputs_) {
      in.tokens_device = upload(in.tokens);
      in.attn_blocks_device = upload(in.attn_blocks);
    }
  }
  std::span<const SeqInput> inputs() const { return inputs_; }

 private:
  const int32_t* upload(std::span<const int32_t> values) {
    const auto& kept = sources_.emplace_back(values.begin(), values.end());
    held_.emplace_back(kernels_, SideMemory::Place::side, values.size_bytes());
    auto* to = static_cast<int32_t*>(held_.back().data());
    kernels_.to_device(stream_, to, kept.data(), values.size_bytes());
    return to;
  }

  const kernels::ModelKernels& kernels_;
  void* stream_;
  std::vector<SeqInput> inputs_;
  std::vector<std::vector<int32_t>> sources_;
  std::vector<SideMemory> held_;
};

TestEngine::~TestEngine() = default;

TestEngine::TestEngine(const ModelConfig& config, int tp, uint64_t seed, int blocks,
                       const KernelProfile& profile, const TestSide& side)
    : config_(config), geometry_(config, tp, 1), side_(side), group_(tp),
      inputs_(static_cast<size_t>(tp)) {
  const kernels::ModelKernels& kernels = *side.kernels;
  kernels.bind(0);
  for (int r = 0; r < tp; ++r) {
    void* const stream = side.stream(r);
    Collectives* collectives = &group_.rank(r);
    if (kernels.device) {
      staged_.push_back(staged_collectives(*collectives, kernels, stream));
      collectives = staged_.back().get();
    }
    memories_.push_back(std::make_unique<RankMemory>(geometry_, blocks, kernels, stream));
    models_.push_back(std::make_unique<RankModel>(config, geometry_, profile, seed, r, tp,
                                                  *collectives, memories_.back()->view(), kernels,
                                                  stream));
  }
}

void TestEngine::step_rank(int rank, std::span<const SeqInput> inputs,
                           std::span<SeqOutput> outputs) {
  RankModel& model = *models_[static_cast<size_t>(rank)];
  if (!side_.kernels->device) {
    model.step(inputs, outputs);
    return;
  }
  side_.kernels->bind(0);
  auto there = std::make_unique<SideInputs>(inputs, *side_.kernels, side_.stream(rank));
  model.step(there->inputs(), outputs);
  inputs_[static_cast<size_t>(rank)] = std::move(there);
}

std::vector<SeqOutput> TestEngine::step(std::span<const SeqInput> inputs) {
  std::vector<std::vector<SeqOutput>> outputs(models_.size(),
                                              std::vector<SeqOutput>(inputs.size()));
  if (models_.size() == 1) {
    step_rank(0, inputs, outputs[0]);
    return outputs[0];
  }
  std::vector<std::thread> threads;
  for (size_t r = 0; r < models_.size(); ++r) {
    threads.emplace_back(
        [this, r, inputs, &outputs] { step_rank(static_cast<int>(r), inputs, outputs[r]); });
  }
  for (std::thread& t : threads)
    t.join();
  for (size_t r = 1; r < models_.size(); ++r) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const SeqOutput& a = outputs[0][i];
      const SeqOutput& b = outputs[r][i];
      if (a.accepted != b.accepted || a.sampled != b.sampled ||
          a.logits_sha256 != b.logits_sha256 || a.draft != b.draft) {
        throw std::runtime_error("ranks disagree on an output");
      }
    }
  }
  return outputs[0];
}

TestRequest::TestRequest(TestEngine& engine, std::vector<int32_t> prompt)
    : engine_(engine), prompt_(std::move(prompt)) {
  tail_block_ = engine.take_block();
  for (auto& group : spare_) {
    for (int& block : group)
      block = engine.take_block();
  }
}

void TestRequest::cover(int tokens) {
  const int block = engine_.geometry().block_tokens;
  while (static_cast<int>(attn_blocks_.size()) * block < tokens)
    attn_blocks_.push_back(engine_.take_block());
}

// The two blocks of three that do not hold the state in force.
void TestRequest::next_state_blocks(SeqInput& in) {
  for (int g = 0; g < num_state_groups; ++g) {
    in.state[g].in = state_[g];
    int filled = 0;
    for (const int block : spare_[g]) {
      if (block != state_[g] && filled < 2) in.state[g].out[filled++] = block;
    }
  }
}

SeqInput TestRequest::prefill_input(int end) {
  cover(end);
  SeqInput in;
  in.start = computed_;
  in.tokens = std::span<const int32_t>(prompt_).subspan(static_cast<size_t>(computed_),
                                                        static_cast<size_t>(end - computed_));
  in.prefill = true;
  in.next_token = end < static_cast<int>(prompt_.size()) ? prompt_[static_cast<size_t>(end)] : -1;
  in.attn_blocks = attn_blocks_;
  in.tail_block = tail_block_;
  next_state_blocks(in);
  return in;
}

SeqInput TestRequest::decode_input(bool with_draft) {
  step_tokens_ = {generated_.back()};
  if (with_draft && draft_ >= 0) step_tokens_.push_back(draft_);
  cover(computed_ + static_cast<int>(step_tokens_.size()));
  SeqInput in;
  in.start = computed_;
  in.tokens = step_tokens_;
  in.last_is_draft = step_tokens_.size() == 2;
  in.attn_blocks = attn_blocks_;
  in.tail_block = tail_block_;
  next_state_blocks(in);
  return in;
}

void TestRequest::absorb(const SeqInput& in, const SeqOutput& out) {
  for (int g = 0; g < num_state_groups; ++g)
    state_[g] = in.state[g].out[in.prefill ? 0 : out.accepted - 1];
  computed_ += out.accepted;
  proposed_ += in.last_is_draft ? 1 : 0;
  accepted_ += in.last_is_draft && out.accepted == 2 ? 1 : 0;
  generated_.insert(generated_.end(), out.sampled.begin(), out.sampled.end());
  digests_.insert(digests_.end(), out.logits_sha256.begin(), out.logits_sha256.end());
  draft_ = out.draft;
}

void TestRequest::prefill(int end) {
  const SeqInput in = prefill_input(end);
  absorb(in, engine_.step(std::span(&in, 1))[0]);
}

void TestRequest::generate(int tokens, int chunk, bool drafts) {
  const int length = static_cast<int>(prompt_.size());
  while (computed_ < length)
    prefill(std::min(length, (computed_ / chunk + 1) * chunk));
  const int block = engine_.geometry().block_tokens;
  while (static_cast<int>(generated_.size()) < tokens) {
    const bool crosses =
        computed_ / block != (computed_ + 2) / block && (computed_ + 2) % block != 0;
    const SeqInput in = decode_input(drafts && !crosses);
    absorb(in, engine_.step(std::span(&in, 1))[0]);
  }
}

void TestRequest::resume(int computed, std::span<const int> attn_blocks, int tail_block,
                         std::span<const int> state_blocks) {
  computed_ = computed;
  attn_blocks_.assign(attn_blocks.begin(), attn_blocks.end());
  tail_block_ = tail_block;
  for (int g = 0; g < num_state_groups; ++g) {
    state_[g] = state_blocks[static_cast<size_t>(g)];
    spare_[g][2] = state_[g];
  }
}

std::vector<int32_t> random_prompt(uint64_t seed, int length, int vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(length));
  uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;
  for (int32_t& id : ids) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    id = static_cast<int32_t>(x % static_cast<uint64_t>(vocab));
  }
  return ids;
}

} // namespace hitproof::engine::testing
