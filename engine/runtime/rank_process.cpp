#include "engine/runtime/rank_process.h"

#include "engine/model/preset.h"
#include "engine/runtime/breaks.h"
#include "engine/runtime/device_collectives.h"
#include "engine/runtime/kernel_library.h"
#include "engine/runtime/keys.h"
#include "engine/runtime/last_words.h"
#include "engine/runtime/nccl_collectives.h"
#include "engine/runtime/nccl_library.h"
#include "engine/runtime/rank_step.h"
#include "engine/runtime/watchdog.h"
#include "probes/hitproof.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace hitproof::engine {
namespace {

// The channel to the front. The watchdog may have a last word while the main thread waits.
class FrontLink {
 public:
  explicit FrontLink(int fd) : channel_(Fd(fd), "front process") {}
  void send(const Message& message) {
    const std::lock_guard lock(mutex_);
    channel_.send(message);
  }
  Channel& reader() { return channel_; }

 private:
  std::mutex mutex_;
  Channel channel_;
};

std::string profile_text(const KernelProfile& profile) {
  std::string text;
  for (const KernelChoice& c : profile.choices)
    text += c.name + "=" + c.value + ";";
  return text;
}

// The recorded choices; refuses what is unknown, and what is not recorded unless tuners are free.
KernelProfile recorded_profile(const RankStart& start) {
  if (start.profile.empty() && !start.free_tuners) return KernelProfile::recorded();
  KernelProfile profile = KernelProfile::unpinned();
  for (const auto& [name, value] : start.profile)
    if (!value.empty()) profile.set(name, value);
  for (const KernelChoice& c : profile.choices)
    if (c.value.empty() && !start.free_tuners)
      throw std::invalid_argument("kernel choice " + c.name +
                                  " is not recorded in the profile; record it (allowed: " +
                                  KernelProfile::allowed(c.name) + ") or let tuners be free");
  return profile;
}

// `sums`: what decides their order where they do not go in rank order.
std::vector<NamedDigest> key_inputs_of(const RankStart& start, const CacheGeometry& g,
                                       const RankModel& model, const KernelProfile& profile,
                                       const std::vector<NamedText>& sums, int rank) {
  const std::string geometry =
      "preset=" + start.preset + " block=" + std::to_string(g.block_tokens) +
      " record=" + std::to_string(g.record_bytes) + " index_page=" + std::to_string(g.index_page) +
      " state=" + std::to_string(g.state_bytes) + " tail=" + std::to_string(g.tail_bytes) +
      " drafts=" + std::to_string(g.drafts);
  // What free tuners chose is not known here: such an engine shares nothing with another.
  std::string numerics = profile_text(profile) +
                         (profile.pinned() ? "" : "instance=" + std::to_string(start.instance));
  for (const auto& [name, value] : sums)
    numerics += name + "=" + value + ";";
  return {{"weights", model.weights_sha256()},
          {"geometry", text_digest(geometry)},
          {"tp", text_digest(std::to_string(start.tp))},
          {"rank", text_digest(std::to_string(rank))},
          {"numerics", text_digest(numerics)}};
}

class Rank {
 public:
  Rank(const RankOptions& options, FrontLink& front) : options_(options), front_(front) {}

  void run();
  void give_up() {
    if (meeting_) abort_collectives(*meeting_);
  }

 private:
  void start(const RankStart& start);
  std::unique_ptr<RankModel> make_model(const RankStart& start, const ModelConfig& config);
  void open_exchange(const RankStart& start);
  void report_profile(int phase, const KernelProfile& selected);
  void finish();

  const RankOptions& options_;
  FrontLink& front_;
  std::unique_ptr<device::Stream> compute_;
  std::unique_ptr<Collectives> meeting_;  // through the host's memory
  std::unique_ptr<Collectives> exchange_; // of device memory, where the model works there
  std::vector<NamedText> sums_;           // with NCCL: what the order of its sums depends on
  std::unique_ptr<CacheGeometry> geometry_;
  std::unique_ptr<RankMemory> memory_;
  KernelProfile profile_;
  std::unique_ptr<RankModel> model_;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<StepExecutor> executor_;
  std::unique_ptr<Watchdog> watchdog_;
};

void Rank::report_profile(int phase, const KernelProfile& selected) {
  for (int i = 0; i < profile_choices; ++i) {
    const KernelChoice& recorded = profile_.choices[static_cast<size_t>(i)];
    HITPROOF_CALL(profile, (options_.rank, phase, recorded.name.c_str(), recorded.value.c_str(),
                            selected.value(recorded.name).c_str()));
  }
  if (sums_.empty()) return;
  const auto now = nccl::choices(nccl::load());
  for (size_t i = 0; i < sums_.size(); ++i)
    HITPROOF_CALL(profile, (options_.rank, phase, sums_[i].first.c_str(), sums_[i].second.c_str(),
                            now[i].second.c_str()));
}

void Rank::open_exchange(const RankStart& start) {
  if (!options_.kernels->device) return;
  if (start.collectives != "nccl") {
    exchange_ = open_device_collectives(*meeting_, *options_.kernels, *compute_);
    return;
  }
  exchange_ = open_nccl_collectives(*meeting_, *options_.kernels, *compute_, {.gpu = options_.gpu});
  const nccl::Library& library = nccl::load();
  sums_ = nccl::choices(library);
  HITPROOF_CALL(meta, ("nccl_version", library.version().c_str()));
  HITPROOF_CALL(meta, ("nccl_library", library.path.c_str()));
}

std::unique_ptr<RankModel> Rank::make_model(const RankStart& start, const ModelConfig& config) {
  return std::make_unique<RankModel>(config, *geometry_, profile_, start.weight_seed, options_.rank,
                                     start.tp, exchange_ ? *exchange_ : *meeting_,
                                     memory_->regions(), *options_.kernels, compute_->get());
}

void Rank::start(const RankStart& start) {
  const int rank = options_.rank;
  const ModelConfig config = find_preset(start.preset);
  if (start.num_blocks < 2)
    throw std::invalid_argument("a rank needs at least two blocks, the null block included");
  const Break broken = find_break(start.break_name);
  profile_ = recorded_profile(start);
  geometry_ = std::make_unique<CacheGeometry>(config, start.tp, start.drafts);
  meeting_ = start.tp == 1
                 ? single_rank_collectives()
                 : open_collectives(options_.collectives_fd, rank, {.parent = ::getppid()});
  if (meeting_->size() != start.tp)
    throw std::invalid_argument("the collectives are for another number of ranks");
  device::select(options_.gpu);
  const std::string device_name = device::name(options_.gpu);
  const bool on_gpu = options_.kernels->device;
  if (on_gpu) {
    if (const char* wrong = options_.kernels->bind(options_.gpu); wrong != nullptr)
      throw EnvironmentError(std::string("the kernels cannot use this GPU: ") + wrong);
    check_room(static_cast<size_t>(start.num_blocks) * geometry_->bytes_per_block() +
                   2 * device_slot_bytes,
               "the cache pages and the collectives of one rank");
  }
  compute_ = std::make_unique<device::Stream>();
  memory_ = std::make_unique<RankMemory>(*geometry_, start.num_blocks, on_gpu);
  memory_->announce_entries(rank);
  open_exchange(start);
  model_ = make_model(start, config);

  const Digest weights = model_->weights_sha256();
  std::vector<NamedDigest> inputs =
      key_inputs_of(start, *geometry_, *model_, profile_, sums_, rank);
  for (const auto& [name, value] : inputs)
    HITPROOF_CALL(content_input, (rank, name.c_str(), value.data()));
  HITPROOF_CALL(meta, ("device", device_name.c_str()));
  HITPROOF_CALL(meta, ("preset", start.preset.c_str()));
  HITPROOF_CALL(meta, ("weights", hex(weights).c_str()));
  report_profile(0, profile_);

  std::vector<Watchdog::Watched> watched{{front_.reader().fd(), "front process", 5000}};
  if (!start.cache_server.empty()) {
    const Connector::Options o{rank,           start.tp, options_.gpu,
                               start.instance, broken,   start.break_name};
    connector_ = std::make_unique<Connector>(
        o, *geometry_, *memory_, Channel(connect_to(start.cache_server), "cache server"), inputs);
    inputs = connector_->key_inputs();
    // The grace lets the main thread read why the server closed the connection, where it does so.
    watched.push_back({connector_->server_fd(), "cache server", 1000});
  }
  watchdog_ = std::make_unique<Watchdog>(std::move(watched), [this](const std::string& who) {
    const std::string text = "rank " + std::to_string(options_.rank) + ": the " + who + " has gone";
    std::fprintf(stderr, "%s\n", text.c_str());
    give_up();
    try {
      front_.send(Failure{text});
    } catch (const std::exception&) {
      // The front is the one that has gone.
    }
    HITPROOF_CALL(flush, ());
    ::_exit(1);
  });
  executor_ = std::make_unique<StepExecutor>(rank, *geometry_, *memory_, *model_, connector_.get(),
                                             *compute_, *options_.kernels, broken);

  RankReady ready;
  ready.rank = rank;
  ready.weights = weights;
  ready.key_inputs = inputs;
  for (const KernelChoice& c : profile_.choices)
    ready.profile.emplace_back(c.name, c.value);
  ready.device = device_name;
  front_.send(ready);
}

void Rank::run() {
  start(front_.reader().expect<RankStart>());
  for (;;) {
    Message message;
    try {
      message = *front_.reader().receive();
    } catch (const PeerGone&) {
      break; // the front ended without a word: there is nobody to serve
    }
    if (std::holds_alternative<Shutdown>(message)) break;
    const auto* step = std::get_if<Step>(&message);
    if (step == nullptr)
      throw ProtocolError(std::string("the front process sent ") + message_name(message));
    front_.send(executor_->run(*step));
  }
  finish();
}

void Rank::finish() {
  watchdog_.reset();
  executor_->drain();
  report_profile(1, model_->profile_used());
}

} // namespace

int run_rank(const RankOptions& options) {
  HITPROOF_CALL(process, ("rank", options.rank));
  FrontLink front(options.front_fd);
  Rank rank(options, front);
  int status = 1;
  try {
    rank.run();
    HITPROOF_CALL(flush, ());
    // Memory that the peers and the cache server may still have open must not be freed under them;
    // when the process ends, the driver keeps it until the last of them closes it.
    if (options.kernels->device) ::_exit(0);
    return 0;
  } catch (const std::exception& e) {
    status = dynamic_cast<const EnvironmentError*>(&e) != nullptr ? 2 : 1;
    const std::string text =
        "rank " + std::to_string(options.rank) + ": " + last_words(std::current_exception());
    std::fprintf(stderr, "%s\n", text.c_str());
    rank.give_up();
    // A peer that gave up knows why: its word is to be the first that the front hears.
    if (dynamic_cast<const CollectiveError*>(&e) != nullptr)
      std::this_thread::sleep_for(std::chrono::seconds(1));
    try {
      front.send(Failure{text});
    } catch (const std::exception&) {
      // Nobody to tell.
    }
  }
  HITPROOF_CALL(flush, ());
  // Streams may still hold work that can never end; their destructors would wait for it.
  ::_exit(status);
}

} // namespace hitproof::engine
