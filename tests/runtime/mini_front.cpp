#include "tests/runtime/mini_front.h"

#include "engine/runtime/collectives.h"
#include "engine/runtime/keys.h"
#include "engine/runtime/rank_process.h"
#include "engine/sim/cudart_subset.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {

struct MiniFront::Sequence {
  uint64_t request = 0;
  std::vector<int32_t> tokens; // prompt and what was generated
  size_t prompt = 0;
  int32_t computed = 0;
  int32_t draft = -1;
  std::vector<BlockRef> attention; // of all positions to come
  BlockRef tail;
  std::array<BlockRef, state_groups> running;
  bool loaded = false;
};

MiniFront::MiniFront(const Options& options, const ServerProcess* server)
    : options_(options), geometry_(find_preset("micro"), ranks, 1) {
  const Fd collectives(create_collectives_memory(ranks));
  for (int r = 0; r < ranks; ++r) {
    auto [mine, theirs] = socket_pair();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      inherit(theirs.get());
      inherit(collectives.get());
      ::execl("/proc/self/exe", "rank", "--rank", std::to_string(r).c_str(),
              std::to_string(theirs.get()).c_str(), std::to_string(collectives.get()).c_str(),
              options.device_kernels ? "device" : "host", nullptr);
      ::_exit(127);
    }
    pids_.push_back(pid);
    channels_.emplace_back(std::move(mine), "rank " + std::to_string(r));
    RankStart start;
    start.preset = "micro";
    start.weight_seed = options.seed;
    start.tp = ranks;
    start.num_blocks = options.num_blocks;
    start.profile = options.profile;
    start.break_name = options.break_name;
    start.cache_server = server != nullptr ? server->address() : "";
    start.collectives = options.collectives;
    start.instance = static_cast<uint64_t>(::getpid());
    channels_.back().send(start);
  }
  for (Channel& c : channels_)
    ready_.push_back(c.expect<RankReady>());
  if (server != nullptr) {
    server_ = server->connect();
    server_.send(Hello{static_cast<uint64_t>(::getpid())});
    server_.expect<Done>();
  }
}

MiniFront::~MiniFront() {
  channels_.clear();
  for (const pid_t pid : pids_) {
    if (pid == 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void MiniFront::kill_rank(int r) {
  const pid_t pid = pids_[static_cast<size_t>(r)];
  ::kill(pid, SIGKILL);
  siginfo_t dead{};
  ::waitid(P_PID, static_cast<id_t>(pid), &dead, WEXITED | WNOWAIT);
}

std::vector<int> MiniFront::shut_down() {
  for (Channel& c : channels_) {
    try {
      c.send(Shutdown{});
    } catch (const PeerGone&) {
    }
  }
  std::vector<int> statuses;
  for (pid_t& pid : pids_) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = 0;
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return statuses;
}

uint32_t MiniFront::lookup(const std::vector<int32_t>& prompt, bool full) {
  Lookup question{++lookups_, requests_ + 1, static_cast<uint32_t>(prompt.size()),
                  chunk(),    full,          {}};
  for (size_t end = chunk(); end <= prompt.size(); end += chunk())
    question.chunks.push_back(
        {prefix_digest(std::span(prompt).first(end)),
         end < prompt.size() ? static_cast<uint32_t>(prompt[end]) : unknown_token});
  server_.send(question);
  return server_.expect<LookupReply>().answer;
}

Step MiniFront::plan(Sequence& s, uint32_t restore) {
  const auto c = static_cast<int32_t>(chunk());
  Step step;
  step.step = ++steps_;
  if (restore > 0 && !s.loaded) {
    s.loaded = true;
    LoadOrder load;
    load.transfer = ++transfers_;
    load.request = s.request;
    load.boundary = restore;
    for (size_t end = chunk(); end <= restore; end += chunk()) {
      load.chunks.push_back(
          {prefix_digest(std::span(s.tokens).first(end)),
           end < s.prompt ? static_cast<uint32_t>(s.tokens[end]) : unknown_token});
      load.attention.push_back(s.attention[load.attention.size()]);
    }
    load.tail = s.tail;
    for (BlockRef& state : s.running)
      state = block();
    load.state = s.running;
    step.loads.push_back(load);
    s.computed = std::min(static_cast<int32_t>(restore), static_cast<int32_t>(s.prompt) - 1);
  }
  SeqOrder order;
  order.request = s.request;
  order.start = s.computed;
  order.prefill = static_cast<size_t>(s.computed) < s.prompt;
  order.prompt_tokens = static_cast<uint32_t>(s.prompt);
  const int32_t limit = (s.computed / c + 1) * c;
  int32_t end = order.prefill ? std::min(limit, static_cast<int32_t>(s.prompt)) : s.computed + 1;
  order.tokens.assign(s.tokens.begin() + s.computed, s.tokens.begin() + end);
  if (order.prefill && static_cast<size_t>(end) < s.prompt)
    order.next_token = s.tokens[static_cast<size_t>(end)];
  if (!order.prefill && options_.drafts && s.draft >= 0 && s.computed + 2 <= limit) {
    order.tokens.push_back(s.draft);
    order.last_is_draft = true;
    ++end;
  }
  order.attention.assign(s.attention.begin(), s.attention.begin() + (end + c - 1) / c);
  order.tail = s.tail;
  for (size_t g = 0; g < state_groups; ++g) {
    order.state[g].in = s.running[g];
    order.state[g].out[0] = block();
    if (order.last_is_draft) order.state[g].out[1] = block();
  }
  if (end % c == 0 && server_.open()) {
    SaveOrder save;
    save.transfer = ++transfers_;
    save.request = s.request;
    save.boundary = static_cast<uint32_t>(end);
    std::vector<int32_t> prefix(s.tokens.begin(), s.tokens.begin() + s.computed);
    prefix.insert(prefix.end(), order.tokens.begin(), order.tokens.end());
    save.prefix = prefix_digest(prefix);
    save.attention = s.attention[static_cast<size_t>(end / c - 1)];
    save.tail = s.tail;
    for (size_t g = 0; g < state_groups; ++g)
      save.state[g] = order.state[g].out[order.last_is_draft ? 1 : 0];
    step.saves.push_back(save);
  }
  step.seqs.push_back(std::move(order));
  return step;
}

void MiniFront::take(Sequence& s, const Step& step, const SeqResult& result) {
  const SeqOrder& order = step.seqs[0];
  const size_t last = order.prefill ? 0 : static_cast<size_t>(result.accepted - 1);
  for (size_t g = 0; g < state_groups; ++g)
    s.running[g] = order.state[g].out[last];
  s.computed += result.accepted;
  s.tokens.insert(s.tokens.end(), result.sampled.begin(), result.sampled.end());
  s.draft = result.draft;
}

Generated MiniFront::generate(const std::vector<int32_t>& prompt, int new_tokens,
                              uint32_t restore) {
  next_block_ = 1; // every request starts with an empty pool: pages of the last one are overwritten
  Sequence s;
  s.request = ++requests_;
  s.tokens = prompt;
  s.prompt = prompt.size();
  s.tail = block();
  for (size_t at = 0; at < prompt.size() + static_cast<size_t>(new_tokens); at += chunk())
    s.attention.push_back(block());
  const int32_t first_state = next_block_ + 3 * static_cast<int32_t>(s.attention.size());
  Generated out;
  while (s.tokens.size() < prompt.size() + static_cast<size_t>(new_tokens)) {
    if (next_block_ > options_.num_blocks - 8)
      next_block_ = first_state; // states of decode steps long past
    const Step common = plan(s, restore);
    for (int r = 0; r < ranks; ++r) {
      Step step = common;
      for (SaveOrder& save : step.saves)
        save.transfer += static_cast<uint64_t>(r + 1) << 48;
      for (LoadOrder& load : step.loads)
        load.transfer += static_cast<uint64_t>(r + 1) << 48;
      try {
        rank(r).send(step);
      } catch (const PeerGone&) { // the others work on the step, and find out; so does expect()
      }
    }
    std::vector<StepDone> answers;
    for (Channel& c : channels_)
      answers.push_back(c.expect<StepDone>());
    for (const StepDone& a : answers)
      if (!(a.results == answers[0].results)) throw std::runtime_error("the ranks disagree");
    const SeqResult& result = answers[0].results.at(0);
    out.saves.insert(out.saves.end(), answers[0].saves.begin(), answers[0].saves.end());
    out.loads.insert(out.loads.end(), answers[0].loads.begin(), answers[0].loads.end());
    out.logits.insert(out.logits.end(), result.logits.begin(), result.logits.end());
    if (!common.seqs[0].prefill) out.accepted_drafts += result.accepted - 1;
    take(s, common, result);
  }
  out.tokens.assign(s.tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()),
                    s.tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()) + new_tokens);
  out.logits.resize(static_cast<size_t>(new_tokens));
  return out;
}

int serve_as_rank(int argc, char** argv) {
  if (argc != 6 || std::strcmp(argv[1], "--rank") != 0) return -1;
  RankOptions options{std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
  // On the simulated device the CPU's kernels reach device memory too: all that differs from a GPU
  // is that they are done when the call returns. So the first of a step waits for what the stream
  // brings it, the token ids and block tables.
  kernels::ModelKernels on_device = kernels::cpu_model_kernels();
  on_device.device = true;
  on_device.gather_rows = [](void* stream, const float* table, int64_t table_stride,
                             const int32_t* index, int rows, int cols, float* out,
                             int64_t out_stride) {
    cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
    kernels::cpu_model_kernels().gather_rows(nullptr, table, table_stride, index, rows, cols, out,
                                             out_stride);
  };
  if (std::strcmp(argv[5], "device") == 0) options.kernels = &on_device;
  return run_rank(options);
}

} // namespace hitproof::engine
