#include "tests/front/shadow_engine.h"

#include <algorithm>

namespace hitproof::engine::test {

int32_t next_token(const Tokens& prefix) {
  uint32_t hash = 2166136261u;
  const size_t first = prefix.size() > 8 ? prefix.size() - 8 : 0;
  for (size_t i = first; i < prefix.size(); ++i)
    hash = (hash ^ static_cast<uint32_t>(prefix[i])) * 16777619u;
  hash ^= static_cast<uint32_t>(prefix.size()) * 2654435761u;
  return static_cast<int32_t>(hash % 4000 + 90);
}

Tokens make_prompt(int32_t length, int32_t number) {
  Tokens tokens(static_cast<size_t>(length));
  for (int32_t i = 0; i < length; ++i)
    tokens[static_cast<size_t>(i)] = 100 + (i * 7) % 3000;
  tokens[0] = 100 + length % 3500;
  tokens.resize(std::max<size_t>(tokens.size(), 2));
  tokens[1] = 100 + number;
  tokens.resize(static_cast<size_t>(length));
  return tokens;
}

std::unique_ptr<Sequence> make_sequence(uint64_t id, Tokens prompt, int32_t max_tokens) {
  auto s = std::make_unique<Sequence>();
  s->id = id;
  s->prompt_tokens = static_cast<int32_t>(prompt.size());
  s->tokens = std::move(prompt);
  s->max_tokens = max_tokens;
  s->ignore_eos = true;
  return s;
}

ExternalIndex::Answer ShadowEngine::lookup(const Sequence& s, bool full) {
  const int32_t most = full ? s.length() : s.length() - 1;
  int32_t found = 0;
  for (int32_t end = c_; end <= most; end += c_)
    if (external_.count(Tokens(s.tokens.begin(), s.tokens.begin() + end)) > 0)
      found = end;
    else
      break;
  return {1000 + s.id, found};
}

void ShadowEngine::violate(const SequenceStep& step, const std::string& what) {
  violations.push_back("request " + std::to_string(step.sequence->id) + " at " +
                       std::to_string(step.start) + ": " + what);
}

int32_t& ShadowEngine::slot(const Sequence& s, int32_t position) {
  Tokens& block = attention_[s.attention.at(static_cast<size_t>(position / c_))];
  block.resize(static_cast<size_t>(c_));
  return block[static_cast<size_t>(position % c_)];
}

void ShadowEngine::load(const SequenceStep& step) {
  const Sequence& s = *step.sequence;
  const Tokens prefix(s.tokens.begin(), s.tokens.begin() + step.load.boundary);
  if (external_.count(prefix) == 0) violate(step, "loads what is not held");
  for (int32_t p = step.load.token_begin; p < step.load.boundary; ++p)
    slot(s, p) = s.tokens[static_cast<size_t>(p)];
  for (const int32_t page : step.load.state)
    states_[page] = prefix;
  loads.push_back({s.id, step.load.token_begin, step.load.boundary, false});
}

void ShadowEngine::save(const SequenceStep& step, int32_t reached) {
  if (step.checkpoint == 0 || reached < step.checkpoint || !saving) return;
  const Sequence& s = *step.sequence;
  const size_t last = step.drafts > 0 ? 1 : 0;
  Tokens prefix(s.tokens.begin(), s.tokens.begin() + (step.checkpoint - step.drafts));
  if (step.drafts > 0) prefix.push_back(s.draft);
  for (size_t g = 0; g < num_state_groups; ++g)
    if (states_[step.state_out[g][last]] != prefix)
      violate(step, "files a state under a boundary it does not hold");
  saves.push_back({s.id, step.checkpoint - c_, step.checkpoint, !external_.insert(prefix).second});
}

void ShadowEngine::check_tables(const StepPlan& plan) {
  std::map<int32_t, uint64_t> writers; // block -> sequence that writes it in this step
  for (const SequenceStep& step : plan.sequences) {
    const Sequence& s = *step.sequence;
    std::set<int32_t> written = {s.tail};
    for (int32_t p = step.start; p < step.start + step.count; ++p)
      written.insert(s.attention.at(static_cast<size_t>(p / c_)));
    for (const auto& out : step.state_out)
      for (const int32_t page : out)
        if (page != 0) written.insert(page);
    for (const int32_t block : written) {
      if (block == 0 || pool_.owners(block) != 1)
        violate(step, "writes block " + std::to_string(block) + " that it does not own alone");
      if (!writers.emplace(block, s.id).second)
        violate(step, "writes a block that another sequence writes");
    }
    for (size_t g = 0; g < num_state_groups; ++g) {
      if (step.state_out[g][0] == 0) violate(step, "has no page for its state");
      for (const int32_t page : step.state_out[g])
        if (page != 0 && pool_.group(page) != first_state_group + static_cast<int>(g))
          violate(step, "uses a page of another group");
    }
  }
}

std::vector<SequenceOutcome> ShadowEngine::execute(const StepPlan& plan) {
  check_tables(plan);
  std::vector<SequenceOutcome> outcomes;
  for (const SequenceStep& step : plan.sequences) {
    const Sequence& s = *step.sequence;
    if (step.load.boundary > 0) load(step);
    for (int32_t p = 0; p < step.start; ++p) {
      if (slot(s, p) != s.tokens[static_cast<size_t>(p)]) {
        violate(step, "attention at position " + std::to_string(p) + " is not its own");
        break;
      }
    }
    Tokens input(s.tokens.begin(), s.tokens.begin() + step.start + step.count - step.drafts);
    if (step.drafts > 0) input.push_back(s.draft);
    const Tokens before(s.tokens.begin(), s.tokens.begin() + step.start);
    for (size_t g = 0; g < num_state_groups; ++g) {
      const Tokens held = step.state_in[g] == 0 ? Tokens{} : states_[step.state_in[g]];
      if (held == before) continue;
      const bool later = held.size() > before.size();
      (later ? double_folds : violations)
          .push_back("request " + std::to_string(s.id) + " at " + std::to_string(step.start) +
                     ": state of " + std::to_string(held.size()) + " tokens");
    }
    for (int32_t p = step.start; p < step.start + step.count; ++p)
      slot(s, p) = input[static_cast<size_t>(p)];

    SequenceOutcome outcome;
    if (step.prefill) {
      for (const auto& out : step.state_out)
        states_[out[0]] = input;
      outcome.accepted = step.count;
      if (step.start + step.count == s.prefill_end) outcome.sampled = {next_token(input)};
    } else {
      const Tokens one(input.begin(), input.begin() + step.start + 1);
      for (const auto& out : step.state_out)
        states_[out[0]] = one;
      outcome.accepted = 1;
      outcome.sampled = {next_token(one)};
      if (step.drafts > 0) {
        for (const auto& out : step.state_out)
          states_[out[1]] = input;
        if (outcome.sampled[0] == s.draft) {
          outcome.accepted = 2;
          outcome.sampled.push_back(next_token(input));
        }
      }
    }
    save(step, step.start + outcome.accepted);
    if (!outcome.sampled.empty()) {
      Tokens known(s.tokens);
      known.insert(known.end(), outcome.sampled.begin(), outcome.sampled.end());
      const bool right = std::uniform_real_distribution<>(0, 1)(random_) < accept_;
      outcome.draft = right ? next_token(known) : 7;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

std::vector<std::unique_ptr<Sequence>> run_all(Scheduler& scheduler, ShadowEngine& shadow,
                                               std::vector<StepPlan>* plans) {
  std::vector<std::unique_ptr<Sequence>> finished;
  for (int step = 0; !scheduler.idle() && step < 100000; ++step) {
    const auto plan = scheduler.plan();
    if (!plan) {
      shadow.violations.push_back("nothing planned although requests wait");
      break;
    }
    if (plans) plans->push_back(*plan);
    auto outcomes = shadow.execute(*plan);
    scheduler.complete(*plan, outcomes);
    for (auto& s : scheduler.take_finished())
      finished.push_back(std::move(s));
  }
  return finished;
}

} // namespace hitproof::engine::test
