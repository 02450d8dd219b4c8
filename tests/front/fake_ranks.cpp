#include "tests/front/fake_ranks.h"

#include <chrono>

namespace hitproof::engine::test {

FakeCluster::FakeCluster(int ranks, int block_tokens, Misbehaviour wrong)
    : c_(block_tokens), wrong_(wrong) {
  for (int rank = 0; rank < ranks; ++rank) {
    auto [ours, theirs] = socket_pair();
    front_ends_.emplace_back(std::move(ours), "rank " + std::to_string(rank));
    threads_.emplace_back([this, rank, channel = Channel(std::move(theirs), "front")]() mutable {
      serve_rank(rank, std::move(channel));
    });
  }
  auto [ours, theirs] = socket_pair();
  server_end_ = Channel(std::move(ours), "cache server");
  threads_.emplace_back([this, channel = Channel(std::move(theirs), "front")]() mutable {
    serve_cache(std::move(channel));
  });
}

FakeCluster::~FakeCluster() {
  front_ends_.clear();
  server_end_.close();
  for (std::thread& thread : threads_)
    thread.join();
}

StepDone FakeCluster::answer(int rank, const Step& step, std::map<int32_t, Tokens>& states) {
  StepDone done;
  done.step = step.step;
  for (const LoadOrder& load : step.loads) {
    const std::lock_guard lock(mutex_);
    states[load.state[0].block] = external_.at(load.chunks.back().prefix);
  }
  std::map<uint64_t, Tokens> reached;
  for (const SeqOrder& s : step.seqs) {
    Tokens prefix = s.state[0].in.block == 0 ? Tokens{} : states[s.state[0].in.block];
    SeqResult result;
    result.request = s.request;
    const auto sample = [&] {
      result.sampled.push_back(next_token(prefix));
      result.logits.emplace_back();
      result.logits.back()[0] = static_cast<uint8_t>(result.sampled.back());
      result.margin.push_back(0.5f);
    };
    if (s.prefill) {
      prefix.insert(prefix.end(), s.tokens.begin(), s.tokens.end());
      result.accepted = static_cast<int32_t>(s.tokens.size());
      states[s.state[0].out[0].block] = prefix;
      if (s.next_token < 0) sample();
    } else {
      prefix.push_back(s.tokens[0]);
      states[s.state[0].out[0].block] = prefix;
      sample();
      result.accepted = 1;
      if (s.last_is_draft && result.sampled[0] == s.tokens[1]) {
        prefix.push_back(s.tokens[1]);
        states[s.state[0].out[1].block] = prefix;
        sample();
        result.accepted = 2;
      }
    }
    reached[s.request] = prefix;
    if (!result.sampled.empty()) {
      Tokens known = prefix;
      known.push_back(result.sampled.back());
      result.draft = known.size() % 2 == 0 ? next_token(known) : 7;
    }
    if (wrong_.differs && wrong_.rank == rank && wrong_.step == step.step &&
        !result.sampled.empty())
      ++result.sampled[0];
    done.results.push_back(std::move(result));
  }
  for (const SaveOrder& save : step.saves) {
    const Tokens& prefix = reached[save.request];
    if (prefix.size() < save.boundary) continue;
    const std::lock_guard lock(mutex_);
    external_[save.prefix] = Tokens(prefix.begin(), prefix.begin() + save.boundary);
  }
  return done;
}

void FakeCluster::serve_rank(int rank, Channel channel) {
  try {
    channel.expect<RankStart>();
    RankReady ready;
    ready.rank = rank;
    ready.device = "threads";
    ready.key_inputs = {{"rank", Digest{static_cast<uint8_t>(rank)}}};
    channel.send(ready);
    std::map<int32_t, Tokens> states;
    for (;;) {
      const auto message = channel.receive();
      if (std::holds_alternative<Shutdown>(*message)) {
        ++shutdowns;
        return;
      }
      const Step& step = std::get<Step>(*message);
      const bool now = wrong_.rank == rank && wrong_.step == step.step;
      if (now && wrong_.dies) return;
      if (now && wrong_.fails) {
        channel.send(Failure{"rank " + std::to_string(rank) + ": out of luck"});
        return;
      }
      if (wrong_.slow_ms > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(wrong_.slow_ms));
      channel.send(answer(rank, step, states));
    }
  } catch (const PeerGone&) {
  }
}

void FakeCluster::serve_cache(Channel channel) {
  try {
    for (;;) {
      const auto message = channel.receive();
      if (std::holds_alternative<Shutdown>(*message)) {
        ++shutdowns;
        return;
      }
      if (const auto* lookup = std::get_if<Lookup>(&*message)) {
        LookupReply reply;
        reply.lookup = lookup->lookup;
        const uint32_t most = lookup->full ? lookup->prompt_tokens : lookup->prompt_tokens - 1;
        const std::lock_guard lock(mutex_);
        for (size_t k = 0; k < lookup->chunks.size(); ++k) {
          const uint32_t end = static_cast<uint32_t>(k + 1) * lookup->chunk_tokens;
          if (end > most || external_.count(lookup->chunks[k].prefix) == 0) break;
          reply.answer = end;
        }
        reply.answers.resize(1);
        reply.answers[0].fill(reply.answer);
        channel.send(reply);
      } else {
        channel.send(Done{});
      }
    }
  } catch (const PeerGone&) {
  }
}

} // namespace hitproof::engine::test
