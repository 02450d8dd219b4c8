#include "engine/model/profile.h"

#include "kernels/model/profile.h"

#include <charconv>
#include <stdexcept>

namespace hitproof::engine {
namespace {

size_t index_of(std::string_view name) {
  for (size_t i = 0; i < kernels::profile_fields.size(); ++i) {
    if (name == kernels::profile_fields[i].name) return i;
  }
  std::string message = "unknown kernel choice '" + std::string(name) + "'; the choices are:";
  for (const auto& field : kernels::profile_fields)
    message += " " + std::string(field.name);
  throw std::invalid_argument(message);
}

} // namespace

KernelProfile KernelProfile::recorded() {
  KernelProfile p = unpinned();
  const kernels::KernelProfile defaults;
  for (size_t i = 0; i < p.choices.size(); ++i) {
    p.choices[i].value = std::to_string(defaults.*kernels::profile_fields[i].member);
  }
  return p;
}

KernelProfile KernelProfile::unpinned() {
  KernelProfile p;
  static_assert(profile_choices == kernels::profile_fields.size());
  for (size_t i = 0; i < p.choices.size(); ++i)
    p.choices[i].name = kernels::profile_fields[i].name;
  return p;
}

const std::string& KernelProfile::value(std::string_view name) const {
  return choices[index_of(name)].value;
}

void KernelProfile::set(std::string_view name, std::string_view value) {
  const size_t i = index_of(name);
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  kernels::KernelProfile trial;
  trial.*kernels::profile_fields[i].member = number;
  if (error != std::errc() || end != value.data() + value.size() ||
      kernels::profile_bad_field(trial)) {
    throw std::invalid_argument("kernel choice " + std::string(name) + " cannot be '" +
                                std::string(value) + "'; allowed: " + allowed(name));
  }
  choices[i].value = std::string(value);
}

bool KernelProfile::pinned() const {
  for (const KernelChoice& c : choices) {
    if (c.value.empty()) return false;
  }
  return true;
}

std::string KernelProfile::allowed(std::string_view name) {
  return index_of(name) == 0 ? "0 (token by token), 16, 32, 64" : "positive multiples of 8";
}

} // namespace hitproof::engine
