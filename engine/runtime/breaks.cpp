#include "engine/runtime/breaks.h"

#include <stdexcept>

namespace hitproof::engine {
namespace {

constexpr const char* names[] = {
    "save-no-wait",        "load-skip-entry",        "copy-short-row",
    "load-wrong-block",    "state-wrong-boundary",   "tail-contiguous-write",
    "tail-wrong-announce", "rank-resumes-elsewhere", "save-no-producer-wait",
    "load-read-early",     "key-omits-weights",      "prefill-split"};
static_assert(std::size(names) == static_cast<size_t>(Break::prefill_split));

} // namespace

Break find_break(const std::string& name) {
  if (name.empty()) return Break::none;
  std::string known;
  for (size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Break>(i + 1);
    known += std::string(" ") + names[i];
  }
  throw std::invalid_argument("unknown break '" + name + "'; known breaks:" + known);
}

std::vector<std::string> break_names() { return {std::begin(names), std::end(names)}; }

} // namespace hitproof::engine
