#include "audit/order/gathering.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace hitproof::audit::order {
namespace {

constexpr std::int64_t legacy_stream = 1; // cudaStreamLegacy

bool earlier(const Record& a, const Record& b) {
  if (a.began != b.began) return a.began < b.began;
  return std::tie(a.ended, a.process, a.thread, a.seq, a.what) <
         std::tie(b.ended, b.process, b.thread, b.seq, b.what);
}

// Their places are sorted: a record is moved once.
void sort_by_time(std::vector<Record>& records) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> places(records.size());
  for (std::uint32_t i = 0; i < records.size(); ++i)
    places[i] = {records[i].began, i};
  std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : earlier(records[a.second], records[b.second]);
  });
  std::vector<Record> sorted;
  sorted.reserve(records.size());
  for (const auto& [at, place] : places)
    sorted.push_back(records[place]);
  records = std::move(sorted);
}

bool same_call(const Record& a, const Record& b) {
  return a.what == What::copy && b.what == What::copy && a.process == b.process &&
         a.thread == b.thread && a.began == b.began && a.ended == b.ended && a.stream == b.stream &&
         a.transfer == b.transfer && a.by_host == b.by_host && a.synchronous == b.synchronous;
}

bool same_step(const Record& a, const Record& b) {
  return a.what == What::step && !earlier(a, b) && !earlier(b, a);
}

// `row`: of any table.
template <class Row> Record record_of(What what, const Row& row) {
  Record r;
  r.what = what;
  r.process = row.process;
  r.thread = row.thread;
  r.seq = row.seq;
  r.began = row.t_ns;
  r.ended = std::max(row.t_ns, row.end_ns);
  return r;
}

// Nodes may have recorded any event at a launch of which no row says so: of a graph that was not
// read, or under a probe that reads no such nodes. Then no record is known to be the newest.
bool graphs_are_unread(Context& context) {
  return context.number(
             "SELECT COUNT(*) FROM coverage c WHERE c.calls > 0 AND (c.name = "
             "'path:graph_unreadable' OR (c.name LIKE 'cu%GraphLaunch%' AND NOT EXISTS (SELECT 1 "
             "FROM hook h WHERE h.process = c.process AND h.name = "
             "'cuGraphExecEventRecordNodeSetEvent')))") > 0;
}

auto began(const StepRow& s) { return std::tie(s.t_ns, s.process, s.thread, s.seq); }

} // namespace

Gathering::Gathering(Context& context) : events_are_known_(!graphs_are_unread(context)) {
  auto t = context.query("SELECT transfer, rank, request, direction, t_ns FROM transfer");
  while (t.next()) {
    transfers_[t.integer(0)] = {t.integer(1), t.integer(2), t.integer(3), t.integer(4)};
    if (t.integer(3) == 0) saved_.insert(t.integer(2));
  }
  require(t.status());
  // Names of hooked calls say how a copy behaves.
  auto hooks = context.query("SELECT id, name FROM hook GROUP BY id, name");
  while (hooks.next()) {
    const std::string name = hooks.text(1);
    const auto ends = [&](const char* with) { return name.ends_with(with); };
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("Memcpy") && !has("Async") && !has("Graph")) synchronous_.insert(hooks.integer(0));
    if (has("GraphLaunch")) launches_.insert(hooks.integer(0));
    if (ends("_ptds") || ends("_ptsz")) of_the_thread_.insert(hooks.integer(0));
  }
  require(hooks.status());
}

// The default stream has two handles, and some calls mean their thread's stream by it.
std::int64_t Gathering::stream(std::int64_t handle, std::int64_t call) const {
  if (handle == legacy_stream) handle = 0;
  return handle == 0 && of_the_thread_.contains(call) ? per_thread_stream : handle;
}

void Gathering::operation(const OperationRow& row) {
  if (row.op < 0 || row.op > static_cast<std::int64_t>(What::stream_destroy)) return;
  Record r = record_of(static_cast<What>(row.op), row);
  if (r.what == What::event_record && !events_are_known_) return;
  r.stream = stream(row.stream, row.call);
  r.event = row.event;
  r.by_graph = launches_.contains(row.call);
  r.device = static_cast<std::int32_t>(row.device);
  if (r.what == What::event_export || r.what == What::event_open) {
    const auto known = handles_.find(row.handle);
    r.handle = known != handles_.end()
                   ? known->second
                   : handles_.emplace(row.handle, static_cast<std::uint32_t>(handles_.size() + 1))
                         .first->second;
  }
  records_.push_back(r);
}

void Gathering::copy(const CopyRow& row) {
  if (!wants_copy(row.transfer, row.call)) return;
  Record r = record_of(What::copy, row);
  r.stream = stream(row.stream, row.call);
  r.transfer = row.transfer;
  // What the driver guarantees of a call that is not asynchronous: towards the host it has been
  // done. Towards the device it may have been staged only.
  r.synchronous = synchronous_.contains(row.call) && (row.direction == 0 || row.direction == 3);
  r.by_host = row.access_order == 2 || row.access_order == 3;
  if (!r.synchronous && !transfers_.contains(r.transfer)) return;
  if (newest_copy_ != SIZE_MAX && newest_copy_call_ == row.call_seq &&
      same_call(records_[newest_copy_], r)) {
    records_[newest_copy_].seq = std::min(records_[newest_copy_].seq, r.seq);
    return;
  }
  newest_copy_ = records_.size();
  newest_copy_call_ = row.call_seq;
  records_.push_back(r);
}

void Gathering::wait(const AnnouncedRow& row) {
  Record r = record_of(What::wait, row);
  r.event = row.event;
  r.transfer = row.transfer;
  records_.push_back(r);
}

void Gathering::complete(const AnnouncedRow& row) {
  Record r = record_of(What::complete, row);
  r.transfer = row.transfer;
  records_.push_back(r);
}

void Gathering::step(const StepRow& step, std::int64_t request, std::int64_t transfer) {
  if (saved_.contains(request)) shares_.push_back({step.rank, request, step});
  const auto t = transfers_.find(transfer);
  if (t == transfers_.end() || t->second.direction != 1 || t->second.rank != step.rank) return;
  StepRow& first = readers_.try_emplace({t->first, step.process}, step).first->second;
  if (began(step) < began(first)) first = step;
}

// The newest step of the request on that rank that had begun when the save was announced.
const StepRow* Gathering::producer(const Transfer& save) const {
  auto after =
      std::upper_bound(shares_.begin(), shares_.end(), save, [](const Transfer& t, const Share& s) {
        return std::tie(t.rank, t.request, t.t_ns) < std::tie(s.rank, s.request, s.step.t_ns);
      });
  if (after == shares_.begin()) return nullptr;
  const Share& s = *std::prev(after);
  return s.rank == save.rank && s.request == save.request ? &s.step : nullptr;
}

Records Gathering::records() {
  std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
    return std::tie(a.rank, a.request) != std::tie(b.rank, b.request)
               ? std::tie(a.rank, a.request) < std::tie(b.rank, b.request)
               : began(a.step) < began(b.step);
  });
  Records out;
  std::vector<Record> steps; // of each question
  for (const auto& [key, first] : readers_) {
    const Transfer& t = transfers_.at(key.first);
    out.asked.push_back({true, key.first, t.rank, t.request, 0});
    steps.push_back(record_of(What::step, first));
  }
  std::set<std::int64_t> copied;
  for (const Record& r : records_)
    if (r.what == What::copy) copied.insert(r.transfer);
  for (const auto& [transfer, t] : transfers_) {
    if (t.direction != 0 || !copied.contains(transfer)) continue;
    const StepRow* made = producer(t);
    out.asked.push_back({false, transfer, t.rank, t.request, made ? 0 : no_record});
    steps.push_back(made ? record_of(What::step, *made) : Record{});
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (out.asked[i].step != no_record) records_.push_back(steps[i]);
  sort_by_time(records_);
  records_.erase(std::unique(records_.begin(), records_.end(),
                             [](const Record& a, const Record& b) {
                               return same_call(a, b) || same_step(a, b);
                             }),
                 records_.end());
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (out.asked[i].step != no_record)
      out.asked[i].step = static_cast<std::uint32_t>(
          std::lower_bound(records_.begin(), records_.end(), steps[i], earlier) - records_.begin());
  out.records = std::move(records_);
  return out;
}

} // namespace hitproof::audit::order
