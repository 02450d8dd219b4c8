// The kernel profile: seven named choices a rank, each of which changes the order in which numbers
// are summed, so that two processes agree bit for bit only if they agree on all seven.
//
// Promises: a profile is a list of (name, value) texts in a fixed order. An empty value means
// "free": the model then chooses by timing when it is built, which is what an unpinned tuner does.
// What was really used is read back from RankModel::profile_used().
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace hitproof::engine {

inline constexpr int profile_choices = 7;

struct KernelChoice {
  std::string name;
  std::string value; ///< empty: free
};

struct KernelProfile {
  std::array<KernelChoice, profile_choices> choices;

  /// The pinned profile that the studies use.
  static KernelProfile recorded();
  /// All seven free.
  static KernelProfile unpinned();

  const std::string& value(std::string_view name) const;
  /// Throws std::invalid_argument for an unknown name or a value that no kernel has.
  void set(std::string_view name, std::string_view value);
  /// True where all seven have a value.
  bool pinned() const;
  /// Values a choice may take, comma separated; for messages.
  static std::string allowed(std::string_view name);
};

} // namespace hitproof::engine
