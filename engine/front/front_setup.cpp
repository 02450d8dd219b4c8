#include "engine/front/front_setup.h"

#include "engine/model/geometry.h"
#include "engine/model/preset.h"

#include <filesystem>
#include <stdexcept>
#include <sys/random.h>

namespace hitproof::engine {
namespace {

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return 1;
  return number == 0 ? 1 : number;
}

// Blocks of one request of that many tokens: attention, tail, and in each state group two working
// pages and one page a checkpoint.
int blocks_of_request(int tokens, int block_tokens) {
  return tokens / block_tokens + 2 + num_state_groups * (2 + tokens / block_tokens);
}

void make_log_folder(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw std::invalid_argument("--log-dir " + folder + " cannot be made: " + error.message());
}

} // namespace

FrontSetup make_setup(const FrontOptions& o) {
  const ModelConfig model = find_preset(o.preset);
  if (const std::string wrong = check_config(model, o.tp); !wrong.empty())
    throw std::invalid_argument("preset " + o.preset + " with --tp " + std::to_string(o.tp) + ": " +
                                wrong);
  const CacheGeometry geometry(model, o.tp, 1);
  make_log_folder(o.log_dir);

  FrontSetup setup;
  EngineConfig& e = setup.engine;
  e.connector = o.connector;
  e.shut_server_down = o.cache_server.empty();
  e.instance = o.instance != 0 ? o.instance : random_number();
  // A numbered engine shares its server, and a recording, with others: its ids must not be theirs.
  e.first_id = (o.instance & 0x7f) << 40;
  e.broken = find_break(o.break_name);
  e.scheduler.block_tokens = geometry.block_tokens;
  e.scheduler.token_budget = o.token_budget;
  e.scheduler.max_sequences = o.max_sequences;
  e.scheduler.max_positions = model.max_positions;
  e.scheduler.full_lookup = o.full_lookup;
  if (e.broken == Break::prefill_split) e.scheduler.split = geometry.block_tokens / 2;
  if (const std::string wrong = check_scheduler_config(e.scheduler); !wrong.empty())
    throw std::invalid_argument(wrong);

  // One request of the greatest length always fits, and beside it a usual batch of four chunks
  // each.
  const int usual =
      o.max_sequences * blocks_of_request(4 * geometry.block_tokens, geometry.block_tokens);
  e.num_blocks = o.num_blocks != 0
                     ? o.num_blocks
                     : 1 + blocks_of_request(model.max_positions, geometry.block_tokens) + usual;
  const int least = 1 + blocks_of_request(1, geometry.block_tokens);
  if (e.num_blocks < least)
    throw std::invalid_argument(
        "--blocks " + std::to_string(o.num_blocks) + " is too small: the shortest request needs " +
        std::to_string(least - 1) + " blocks beside the null block; give at least " +
        std::to_string(least));

  const auto profiles = profile_of_ranks(o.profile, o.choices, o.tp);
  for (int rank = 0; rank < o.tp; ++rank) {
    RankStart start;
    start.preset = o.preset;
    start.weight_seed = o.weight_seed;
    start.tp = o.tp;
    start.num_blocks = e.num_blocks;
    start.profile = profiles[static_cast<size_t>(rank)];
    start.break_name = o.break_name;
    start.instance = e.instance;
    start.collectives = o.collectives;
    e.ranks.push_back(std::move(start));
  }
  setup.model_name = "glm5-next-" + o.preset;
  setup.limits = {setup.model_name, model.vocab};
  setup.facts = {{"preset", o.preset},
                 {"tp", std::to_string(o.tp)},
                 {"collectives", o.collectives},
                 {"weight_seed", std::to_string(o.weight_seed)},
                 {"lookup", o.full_lookup ? "full" : "strict"},
                 {"connector", o.connector ? "on" : "off"},
                 {"break", o.break_name},
                 {"block_tokens", std::to_string(geometry.block_tokens)},
                 {"num_blocks", std::to_string(e.num_blocks)},
                 {"token_budget", std::to_string(o.token_budget)},
                 {"max_sequences", std::to_string(o.max_sequences)},
                 {"vocabulary", std::to_string(model.vocab)},
                 {"sim_seed", std::to_string(o.seed)}};
  return setup;
}

} // namespace hitproof::engine
