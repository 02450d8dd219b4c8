#include "engine/sim/driver/settings.h"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace hitproof::sim {
namespace {

struct Settings {
  std::atomic<uint64_t> seed{0};
  std::atomic<uint64_t> drawn{0};
  std::atomic<Break> break_kind{Break::none};
  std::atomic<uint64_t> every{1};
  std::atomic<uint64_t> occasions{0};
};

bool parse_number(std::string_view text, uint64_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool apply_break(Settings& settings, std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  uint64_t every = 1;
  if (colon != std::string_view::npos &&
      (!parse_number(text.substr(colon + 1), every) || every == 0))
    return false;
  Break kind;
  if (name.empty())
    kind = Break::none;
  else if (name == "short_copy")
    kind = Break::short_copy;
  else if (name == "lost_entry")
    kind = Break::lost_entry;
  else if (name == "ignore_event")
    kind = Break::ignore_event;
  else if (name == "no_ipc")
    kind = Break::no_ipc;
  else
    return false;
  settings.every = every;
  settings.occasions = 0;
  settings.break_kind = kind;
  return true;
}

// Never destroyed: stream workers may still look while the process exits.
Settings& settings() {
  static Settings& instance = *[] {
    auto* made = new Settings;
    if (const char* text = std::getenv("HITPROOF_SIM_SEED")) {
      uint64_t value = 0;
      if (parse_number(text, value)) made->seed = value;
    }
    if (const char* text = std::getenv("HITPROOF_SIM_BREAK"); text && !apply_break(*made, text))
      std::fprintf(stderr, "hitproof sim: HITPROOF_SIM_BREAK=%s is no known break; none is made\n",
                   text);
    return made;
  }();
  return instance;
}

} // namespace

uint64_t seed() { return settings().seed.load(std::memory_order_relaxed); }

void set_seed(uint64_t value) {
  settings().drawn = 0;
  settings().seed = value;
}

bool set_break(std::string_view text) { return apply_break(settings(), text); }

bool broken(Break which) {
  Settings& s = settings();
  if (s.break_kind.load(std::memory_order_relaxed) != which) return false;
  return (s.occasions.fetch_add(1) + 1) % s.every.load() == 0;
}

uint64_t draw() {
  Settings& s = settings();
  const uint64_t start = s.seed.load(std::memory_order_relaxed);
  if (start == 0) return 0;
  // splitmix64: a counter through a mixing function, so that threads need no shared state but it.
  uint64_t x = start + (s.drawn.fetch_add(1) + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

void shuffle(uint32_t* order, size_t count) {
  for (size_t i = 0; i < count; ++i)
    order[i] = static_cast<uint32_t>(i);
  if (seed() == 0) return;
  for (size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[draw() % i]);
}

uint64_t memory_limit() {
  static const uint64_t limit = [] {
    constexpr uint64_t otherwise = uint64_t{8} << 30;
    const char* text = std::getenv("HITPROOF_SIM_MEMORY");
    if (!text || !*text) return otherwise;
    std::string_view digits(text);
    unsigned shift = 0;
    switch (digits.back()) {
    case 'K':
      shift = 10;
      break;
    case 'M':
      shift = 20;
      break;
    case 'G':
      shift = 30;
      break;
    default:
      break;
    }
    if (shift) digits.remove_suffix(1);
    uint64_t value = 0;
    return parse_number(digits, value) && value != 0 ? value << shift : otherwise;
  }();
  return limit;
}

} // namespace hitproof::sim
