// Kernel choices from the command line or a file.
#include "engine/front/options.h"
#include "engine/model/profile.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace hitproof::engine {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw std::invalid_argument(
        "--profile " + path +
        ": neither `recorded`, `free`, NAME=VALUE choices nor a file that can be read");
  std::vector<std::string> items;
  for (std::string line; std::getline(file, line);)
    items.push_back(line.substr(0, line.find('#')));
  return items;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> items;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    items.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return items;
}

void set_choice(const std::string& item, std::vector<KernelProfile>& profiles) {
  const size_t equals = item.find('=');
  if (equals == std::string::npos)
    throw std::invalid_argument("kernel choice `" + item + "` is not NAME=VALUE");
  std::string name = trimmed(item.substr(0, equals));
  const std::string value = trimmed(item.substr(equals + 1));
  size_t first = 0, end = profiles.size();
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    const std::string rank = trimmed(name.substr(0, colon));
    if (rank.empty() || rank.size() > 4 ||
        rank.find_first_not_of("0123456789") != std::string::npos ||
        std::stoul(rank) >= profiles.size())
      throw std::invalid_argument("kernel choice `" + item + "`: there is no rank `" + rank +
                                  "`, ranks go from 0 to " + std::to_string(profiles.size() - 1));
    first = std::stoul(rank);
    end = first + 1;
    name = trimmed(name.substr(colon + 1));
  }
  for (size_t rank = first; rank < end; ++rank)
    profiles[rank].set(name, value);
}

} // namespace

std::vector<std::vector<Choice>> profile_of_ranks(const std::string& profile,
                                                  const std::vector<std::string>& choices, int tp) {
  std::vector<KernelProfile> profiles(static_cast<size_t>(tp), profile == "free"
                                                                   ? KernelProfile::unpinned()
                                                                   : KernelProfile::recorded());
  std::vector<std::string> items;
  if (profile != "recorded" && profile != "free")
    items = profile.find('=') != std::string::npos ? split(profile) : read_lines(profile);
  items.insert(items.end(), choices.begin(), choices.end());
  for (const std::string& item : items)
    if (!trimmed(item).empty()) set_choice(trimmed(item), profiles);
  std::vector<std::vector<Choice>> out;
  for (const KernelProfile& p : profiles) {
    auto& list = out.emplace_back();
    for (const KernelChoice& c : p.choices)
      list.emplace_back(c.name, c.value);
  }
  return out;
}

} // namespace hitproof::engine
