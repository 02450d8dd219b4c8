#include "schema/plan_rules.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace hitproof::schema {
namespace {

using Complaint = std::optional<PlanComplaint>;

constexpr std::uint32_t longest_prompt = 1u << 20;
constexpr std::uint32_t most_tokens = 1u << 16;
constexpr std::uint32_t longest_delay_ms = 600'000;
constexpr std::uint32_t most_ranks = 64;
constexpr std::uint32_t most_trials = 1000;
// Cases of a study that multiplies lengths: whoever counts its operations has them in memory.
constexpr std::uint64_t most_cases = 100'000;

Complaint wrong(const char* key, std::string message, Code code = Code::invalid_argument) {
  return PlanComplaint{key, code, std::move(message)};
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

Complaint one_of(const char* key, const std::string& value,
                 const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return {};
  std::string list;
  for (const std::string& a : allowed) {
    if (!list.empty()) list += ", ";
    list += a.empty() ? "\"\"" : a;
  }
  return wrong(key, "\"" + value + "\" is none of: " + list);
}

Complaint within(const char* key, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) return {};
  return wrong(key, std::to_string(value) + " is not between " + std::to_string(low) + " and " +
                        std::to_string(high));
}

template <class T> bool has_twice(std::vector<T> list) {
  std::sort(list.begin(), list.end());
  return std::adjacent_find(list.begin(), list.end()) != list.end();
}

Complaint names(const char* key, const std::vector<std::string>& list) {
  for (const std::string& name : list)
    if (!is_name(name))
      return wrong(key, "\"" + name + "\" is not a name (letters, digits, _ - .)");
  if (has_twice(list)) return wrong(key, "names something twice");
  return {};
}

Complaint check_profile(const Plan& plan) {
  if (plan.profile.empty()) return {};
  std::map<std::uint32_t, std::set<std::string>> by_rank;
  for (const ProfileChoice& choice : plan.profile) {
    if (choice.rank >= plan.tp)
      return wrong("profile.choices", "rank " + std::to_string(choice.rank) +
                                          " is not one of the " + std::to_string(plan.tp) +
                                          " ranks");
    if (!is_name(choice.name) || choice.value.empty())
      return wrong("profile.choices", "a choice of rank " + std::to_string(choice.rank) +
                                          " has no proper name or no value");
    if (!by_rank[choice.rank].insert(choice.name).second)
      return wrong("profile.choices",
                   "rank " + std::to_string(choice.rank) + " names " + choice.name + " twice");
  }
  for (std::uint32_t rank = 0; rank < plan.tp; ++rank)
    if (by_rank[rank].size() != profile_choices_per_rank)
      return wrong("profile.choices", "rank " + std::to_string(rank) + " has " +
                                          std::to_string(by_rank[rank].size()) +
                                          " choices; a profile pins " +
                                          std::to_string(profile_choices_per_rank) + " per rank");
  return {};
}

// Keys that one kind of study has and no other.
Complaint check_kind(const Plan& plan) {
  const bool continuation = plan.study == "continuation", performance = plan.study == "performance";
  if (auto c = one_of("study.kind", plan.study, {"boundary", "continuation", "performance"}))
    return c;
  const auto foreign = [&](const char* key) {
    return wrong(key, "a study of kind " + plan.study + " has no such key");
  };
  if (!continuation && !plan.templates.empty()) return foreign("study.templates");
  if (!continuation && plan.bridge_length != 0) return foreign("study.bridge_length");
  if (!continuation && plan.bridge_tokens != 0) return foreign("study.bridge_tokens");
  if (!performance && plan.trials != 0) return foreign("study.trials");
  if (!performance && plan.warmups != 0) return foreign("study.warmups");
  if (continuation) {
    if (plan.templates.empty()) return wrong("study.templates", "names no template");
    for (const std::string& name : plan.templates)
      if (auto c = one_of("study.templates", name, {"ledger", "rules", "code"})) return c;
    if (has_twice(plan.templates)) return wrong("study.templates", "names a template twice");
    if (auto c = within("study.bridge_length", plan.bridge_length, 0, longest_prompt)) return c;
    if (auto c = within("study.bridge_tokens", plan.bridge_tokens, 0, most_tokens)) return c;
    if ((plan.bridge_length == 0) != (plan.bridge_tokens == 0))
      return wrong("study.bridge_tokens", "length and tokens of the bridge come together");
  }
  if (performance) {
    if (auto c = within("study.trials", plan.trials, 1, most_trials)) return c;
    if (auto c = within("study.warmups", plan.warmups, 0, most_trials)) return c;
  }
  const std::uint64_t of_a_length = continuation  ? plan.templates.size()
                                    : performance ? plan.trials + plan.warmups
                                                  : 0;
  if (of_a_length * plan.lengths.size() > most_cases)
    return wrong("study.lengths",
                 "with them the study has more than " + std::to_string(most_cases) + " cases");
  return {};
}

Complaint check_study(const Plan& plan) {
  if (plan.format < 1) return wrong("format", "there is no plan format below 1");
  if (plan.format > 1)
    return wrong("format",
                 "plan format " + std::to_string(plan.format) +
                     " is newer than this program reads (1); use a newer hitproof",
                 Code::newer_format);
  for (const auto& [key, value] :
       {std::pair{"study.preset", &plan.preset}, std::pair{"study.device", &plan.device}})
    if (!is_name(*value)) return wrong(key, "\"" + *value + "\" is not a name");
  if (auto c = check_kind(plan)) return c;
  if (plan.lengths.empty()) return wrong("study.lengths", "names no prompt length");
  for (const std::uint32_t length : plan.lengths)
    if (auto c = within("study.lengths", length, 1, longest_prompt)) return c;
  if (has_twice(plan.lengths)) return wrong("study.lengths", "names a length twice");
  if (auto c = within("study.tokens", plan.tokens, 1, most_tokens)) return c;
  if (plan.arms.empty()) return wrong("study.arms", "names no arm");
  for (const std::string& arm : plan.arms)
    if (auto c = one_of("study.arms", arm, {"control", "candidate"})) return c;
  if (has_twice(plan.arms)) return wrong("study.arms", "names an arm twice");
  if (auto c = one_of("study.lookup", plan.lookup, {"strict", "full"})) return c;
  if (auto c = one_of("study.probes", plan.probes, {"all", "digests", "metadata", "off"})) return c;
  if (auto c = within("study.save_delay_ms", plan.save_delay_ms, 0, longest_delay_ms)) return c;
  if (!plan.break_name.empty() && !is_name(plan.break_name))
    return wrong("study.break", "\"" + plan.break_name + "\" is not a name");
  if (auto c = one_of("study.tail_effect", plan.tail_effect, {"", "observe", "effective", "naive"}))
    return c;
  if (auto c = one_of("study.collectives", plan.collectives, {"", "nccl"})) return c;
  return within("study.tp", plan.tp, 1, most_ranks);
}

} // namespace

std::optional<PlanComplaint> find_complaint(const Plan& plan) {
  if (auto c = check_study(plan)) return c;
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (auto c = within("seeds.weights", plan.weight_seed, 0, largest)) return c;
  if (auto c = within("seeds.prompts", plan.prompt_seed, 0, largest)) return c;
  const Acceptance& acceptance = plan.acceptance;
  if (auto c = one_of("acceptance.verdict", acceptance.verdict, {"pass", "fail"})) return c;
  if (auto c = names("acceptance.must_pass", acceptance.must_pass)) return c;
  if (auto c = names("acceptance.must_fail", acceptance.must_fail)) return c;
  for (const std::string& rule : acceptance.must_fail)
    if (std::count(acceptance.must_pass.begin(), acceptance.must_pass.end(), rule) != 0)
      return wrong("acceptance.must_fail", rule + " must both pass and fail");
  for (const std::uint32_t length : acceptance.refuted_lengths)
    if (std::count(plan.lengths.begin(), plan.lengths.end(), length) == 0)
      return wrong("acceptance.refuted_lengths",
                   std::to_string(length) + " is not among study.lengths");
  if (has_twice(acceptance.refuted_lengths))
    return wrong("acceptance.refuted_lengths", "names a length twice");
  return check_profile(plan);
}

} // namespace hitproof::schema
