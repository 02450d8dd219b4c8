// Time of the model on one core: prefill a token, decode a step, at the study's preset.
//
// One rank of four is timed with collectives that move nothing between ranks, and the figure is
// multiplied by four: core-milliseconds over all ranks, communication excluded. Usage: model_bench
// [preset] [prompt tokens]
#include "engine/model/rank_model.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <time.h>
#include <vector>

namespace {

using namespace hitproof::engine;

// One rank whose peers do not answer. Results are meaningless, costs are not.

class LoneRank final : public Collectives {
 public:
  LoneRank(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_gather_rows(const float* own, int rows, int cols, float* all) override {
    const auto [begin, end] = row_range(rows, rank_, size_);
    for (int r = 0; r < rows; ++r) {
      // Peers' rows as copies of own ones: other values would cost other paths.
      const float* from = own + static_cast<ptrdiff_t>(r % (end - begin)) * cols;
      std::memmove(all + static_cast<ptrdiff_t>(r) * cols, from,
                   static_cast<size_t>(cols) * sizeof(float));
    }
  }
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override {
    const auto [begin, end] = row_range(rows, rank_, size_);
    std::memmove(own, partial + static_cast<ptrdiff_t>(begin) * cols,
                 static_cast<size_t>(end - begin) * static_cast<size_t>(cols) * sizeof(float));
  }
  void all_reduce(float*, int) override {}
  void all_gather(const void* mine, size_t bytes, void* all) override {
    for (int r = 0; r < size_; ++r)
      std::memcpy(static_cast<std::byte*>(all) + static_cast<size_t>(r) * bytes, mine, bytes);
  }
  void barrier() override {}

 private:
  int rank_;
  int size_;
};

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Bench {
  Bench(const ModelConfig& config, int prompt)
      : geometry(config, tp, 1), ranks(1, tp), blocks(8 + prompt / geometry.block_tokens + 2) {
    for (int kind = 0; kind < 2; ++kind) {
      for (int r = 0; r < num_regions; ++r) {
        const uint64_t page = kind == 0 ? geometry.mla_page : geometry.index_page;
        regions.emplace_back(page * static_cast<uint64_t>(blocks));
        (kind == 0 ? memory.mla : memory.indexer)[static_cast<size_t>(r)] = regions.back().data();
      }
    }
    for (int i = 8; i < blocks; ++i)
      attn.push_back(i);
    model = std::make_unique<RankModel>(config, geometry, KernelProfile::recorded(), 1, 1, tp,
                                        ranks, memory);
  }

  SeqOutput step(std::vector<int32_t> tokens, int start, bool prefill, int32_t next) {
    SeqInput in;
    in.start = start;
    in.tokens = tokens;
    in.prefill = prefill;
    in.last_is_draft = !prefill && tokens.size() == 2;
    in.next_token = next;
    in.attn_blocks = attn;
    in.tail_block = 1;
    for (StateSlots& s : in.state) {
      s.in = start == 0 ? 0 : 2 + turn;
      s.out[0] = 2 + (turn + 1) % 3;
      s.out[1] = 2 + (turn + 2) % 3;
    }
    turn = (turn + 1) % 3;
    SeqOutput out;
    model->step(std::span(&in, 1), std::span(&out, 1));
    return out;
  }

  static constexpr int tp = 4;
  CacheGeometry geometry;
  LoneRank ranks;
  int blocks;
  std::vector<std::vector<std::byte>> regions;
  CacheMemory memory;
  std::vector<int32_t> attn;
  std::unique_ptr<RankModel> model;
  int turn = 0;
};

} // namespace

int main(int argc, char** argv) {
  const ModelConfig config = find_preset(argc > 1 ? argv[1] : "tiny");
  const int prompt = argc > 2 ? std::atoi(argv[2]) : 5376;
  double begin = thread_seconds();
  Bench bench(config, prompt + 64);
  std::printf("%s, one rank of %d: built in %.2f s\n", config.name.c_str(), Bench::tp,
              thread_seconds() - begin);
  double total = 0.0;
  for (int start = 0; start < prompt;) {
    const int end = std::min(prompt, start + bench.geometry.block_tokens);
    std::vector<int32_t> tokens;
    for (int t = start; t < end; ++t)
      tokens.push_back((t * 7919 + 13) % config.vocab);
    begin = thread_seconds();
    bench.step(tokens, start, true, end < prompt ? 1 : -1);
    const double took = thread_seconds() - begin;
    total += took;
    std::printf("prefill %5d..%5d: %.3f core-ms a token over %d ranks\n", start, end,
                1e3 * Bench::tp * took / (end - start), Bench::tp);
    start = end;
  }
  std::printf("prefill %d tokens: %.3f core-ms a token over %d ranks\n", prompt,
              1e3 * Bench::tp * total / prompt, Bench::tp);
  constexpr int steps = 20;
  for (const int rows : {1, 2}) {
    begin = thread_seconds();
    for (int i = 0; i < steps; ++i) {
      bench.step(std::vector<int32_t>(static_cast<size_t>(rows), 5 + i), prompt + i, false, -1);
    }
    std::printf("decode %d row%s: %.3f core-ms a step over %d ranks\n", rows, rows == 1 ? "" : "s",
                1e3 * Bench::tp * (thread_seconds() - begin) / steps, Bench::tp);
  }
  return 0;
}
