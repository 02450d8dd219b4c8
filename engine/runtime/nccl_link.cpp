// Calls of a non-blocking communicator come back at once, perhaps with in_progress; then the rank
// asks until NCCL has decided, and looks at its peers meanwhile. What runs on the device is watched
// by the thread: a kernel of NCCL's waits for a dead peer for ever, and with it the host at the
// stream's end, unless somebody aborts it.
#include "engine/runtime/nccl_link.h"

#include "probes/hitproof.h"

#include <algorithm>
#include <vector>

namespace hitproof::engine {
namespace {

constexpr std::chrono::milliseconds between_looks{20};

struct Card { // what a rank shows to the others
  nccl::UniqueId id{};
  int32_t version = 0;
};

} // namespace

NcclLink::NcclLink(Collectives& host, const device::Stream& stream, int gpu,
                   std::chrono::milliseconds timeout)
    : host_(host), stream_(stream), gpu_(gpu), timeout_(timeout), library_(nccl::load()),
      marker_(device::Event::interprocess()) {
  HITPROOF_CALL(internal_event, (marker_.get()));
  connect();
  watch_ = std::thread([this] { watch(); });
}

void NcclLink::connect() {
  Card mine;
  mine.version = library_.version_code;
  if (host_.rank() == 0) {
    const nccl::Result result = library_.get_unique_id(&mine.id);
    if (result != nccl::success)
      throw CollectiveError("NCCL cannot begin a group (ncclGetUniqueId): " + reason(result));
  }
  std::vector<Card> cards(static_cast<size_t>(host_.size()));
  host_.all_gather(&mine, sizeof mine, cards.data());
  for (const Card& card : cards)
    if (card.version != mine.version)
      throw CollectiveError("the ranks have loaded different versions of NCCL");
  nccl::Config config;
  const std::lock_guard lock(mutex_);
  const nccl::Result begun =
      library_.comm_init_rank_config(&comm_, host_.size(), cards.front().id, host_.rank(), &config);
  // Whatever it says: the group is made when NCCL, asked once more, says so.
  settle("ncclCommInitRankConfig", begun == nccl::success ? nccl::in_progress : begun);
}

NcclLink::~NcclLink() {
  bool sound = true;
  try {
    stream_.synchronize(); // the watch still keeps this from waiting for ever
    check();
    host_.barrier(); // nobody takes the group down under a peer that still works
  } catch (const std::exception&) {
    sound = false;
  }
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  watch_.join();
  if (comm_ == nullptr) return;
  if (sound)
    library_.comm_destroy(comm_);
  else
    library_.comm_abort(comm_);
}

void NcclLink::enqueue(const char* name, const std::function<nccl::Result(nccl::Comm)>& call) {
  const std::lock_guard lock(mutex_);
  require_sound();
  settle(name, call(comm_));
  ++enqueued_;
}

void NcclLink::check() {
  const std::lock_guard lock(mutex_);
  require_sound();
}

void NcclLink::require_sound() const {
  if (!lost_.empty()) throw CollectiveError(lost_);
}

std::string NcclLink::reason(nccl::Result result) const {
  std::string text = library_.get_error_string(result);
  const char* detail = library_.get_last_error(comm_);
  if (detail != nullptr && *detail != '\0') text += " (" + std::string(detail) + ")";
  return text;
}

// With the mutex held, as everything that calls it.
void NcclLink::lose(const std::string& why) {
  if (lost_.empty()) lost_ = why;
  if (comm_ != nullptr) library_.comm_abort(comm_);
  comm_ = nullptr;
}

void NcclLink::settle(const char* name, nccl::Result result) {
  const auto end = Clock::now() + timeout_;
  auto pause = std::chrono::microseconds(20);
  // NCCL's own thread enqueues an operation in some tens of microseconds: less than a sleep takes.
  const auto sleeps = Clock::now() + std::chrono::microseconds(200);
  while (result == nccl::in_progress && lost_.empty()) {
    const bool soon = Clock::now() < sleeps;
    if (soon) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::microseconds(2000));
    }
    if (const nccl::Result asked = library_.comm_get_async_error(comm_, &result);
        asked != nccl::success)
      result = asked;
    if (result != nccl::in_progress) break;
    if (soon) continue;
    if (const std::string missing = host_.missing_peer(); !missing.empty())
      lose(missing);
    else if (Clock::now() >= end)
      lose(std::string(name) + " took longer than " + std::to_string(timeout_.count()) + " ms");
  }
  if (lost_.empty() && result != nccl::success) lose(std::string(name) + ": " + reason(result));
  require_sound();
}

// Is anything under way? Then a marker goes behind it, and until the device has reached the marker,
// peers and NCCL are looked at.
void NcclLink::look() {
  if (!lost_.empty()) return;
  if (!marker_runs_) {
    if (enqueued_ == marked_) return;
    marker_.record(stream_);
    marked_ = enqueued_;
    marker_runs_ = true;
    marker_since_ = Clock::now();
  }
  // Before the marker: a peer that ended after its last operation is not missed by this one.
  const std::string missing = host_.missing_peer();
  if (marker_.done()) {
    marker_runs_ = false;
    return;
  }
  nccl::Result error = nccl::success;
  const nccl::Result asked = library_.comm_get_async_error(comm_, &error);
  if (asked != nccl::success) error = asked;
  if (!missing.empty())
    lose(missing);
  else if (error != nccl::success && error != nccl::in_progress)
    lose("NCCL reports: " + reason(error));
  else if (Clock::now() - marker_since_ >= timeout_)
    lose("a collective operation took longer than " + std::to_string(timeout_.count()) + " ms");
}

void NcclLink::watch() {
  std::unique_lock lock(mutex_);
  try {
    device::select(gpu_);
    while (!wake_.wait_for(lock, between_looks, [this] { return ends_; }))
      look();
  } catch (const device::DeviceError& e) {
    lose(e.what());
  }
}

} // namespace hitproof::engine
