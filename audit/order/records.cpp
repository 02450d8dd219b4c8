#include "audit/order/records.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace hitproof::audit::order {
namespace {

constexpr std::int64_t legacy_stream = 1; // cudaStreamLegacy

struct Announced {
  std::int64_t rank, request, direction, t_ns;
};

// A step's begin, with the record that it becomes once it is needed.
struct Begin {
  std::int64_t step, rank, process, t_ns, end_ns, thread, seq;
  auto key() const { return std::tie(step, rank, process); }
};

// The step of a request that began last: what rule order calls the producer.
struct Share {
  std::int64_t rank, request;
  Begin begin;
  auto key() const {
    return std::tie(rank, request, begin.t_ns, begin.process, begin.thread, begin.seq);
  }
};

auto by_time(const Record& r) {
  return std::make_tuple(r.began, r.ended, r.process, r.thread, r.seq, static_cast<int>(r.what));
}

class Reading {
 public:
  explicit Reading(Context& context) : context_(context) {}

  Records read() {
    transfers();
    calls();
    operations();
    copies();
    waits();
    marks();
    steps();
    return finish();
  }

 private:
  void transfers() {
    auto q = context_.query("SELECT transfer, rank, request, direction, t_ns FROM transfer");
    while (q.next())
      transfers_[q.integer(0)] = {q.integer(1), q.integer(2), q.integer(3), q.integer(4)};
    require(q.status());
  }

  // Nodes may have recorded any event at a launch of which no row says so: of a graph that was not
  // read, or under a probe that reads no such nodes. Then no record is known to be the newest.
  bool graphs_are_unread() {
    return context_.number(
               "SELECT COUNT(*) FROM coverage c WHERE c.calls > 0 AND (c.name = "
               "'path:graph_unreadable' OR (c.name LIKE 'cu%GraphLaunch%' AND NOT EXISTS (SELECT 1 "
               "FROM hook h WHERE h.process = c.process AND h.name = "
               "'cuGraphExecEventRecordNodeSetEvent')))") > 0;
  }

  void operations() {
    const bool no_event_is_known = graphs_are_unread();
    std::unordered_map<std::string, std::uint32_t> handles;
    auto q = context_.query(
        "SELECT process, thread, seq, t_ns, end_ns, stream, event, op, device, handle, call FROM "
        "order_op WHERE result = 0 AND op BETWEEN 0 AND 15");
    while (q.next()) {
      Record r = at(q);
      r.ended = std::max(r.began, q.integer(4));
      r.stream = stream(q.integer(5), q.integer(10));
      r.event = q.integer(6);
      r.by_graph = launches_.contains(q.integer(10));
      r.what = static_cast<What>(q.integer(7));
      if (r.what == What::event_record && no_event_is_known) continue;
      r.device = static_cast<std::int32_t>(q.integer(8));
      if (r.what == What::event_export || r.what == What::event_open)
        r.handle = handles.try_emplace(q.blob(9), static_cast<std::uint32_t>(handles.size() + 1))
                       .first->second;
      records_.push_back(r);
    }
    require(q.status());
  }

  // Names of hooked calls that say how a copy behaves.
  void calls() {
    auto q = context_.query("SELECT id, name FROM hook GROUP BY id, name");
    while (q.next()) {
      const std::string name = q.text(1);
      const auto ends = [&](const char* with) { return name.ends_with(with); };
      const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
      if (has("Memcpy") && !has("Async") && !has("Graph")) synchronous_.insert(q.integer(0));
      if (has("GraphLaunch")) launches_.insert(q.integer(0));
      if (ends("_ptds") || ends("_ptsz")) of_the_thread_.insert(q.integer(0));
    }
    require(q.status());
  }

  // The default stream has two handles, and some calls mean their thread's stream by it.
  std::int64_t stream(std::int64_t handle, std::int64_t call) const {
    if (handle == legacy_stream) handle = 0;
    return handle == 0 && of_the_thread_.contains(call) ? per_thread_stream : handle;
  }

  void copies() {
    std::string also;
    for (const std::int64_t call : synchronous_)
      also += (also.empty() ? " OR call IN (" : ", ") + std::to_string(call);
    if (!also.empty()) also += ")";
    auto q = context_.query(
        "SELECT process, thread, seq, t_ns, end_ns, stream, transfer, call_seq, call, direction, "
        "access_order FROM copy WHERE result = 0 AND (transfer <> 0" +
        also + ")");
    std::size_t before = SIZE_MAX; // entries of one batch mostly follow each other
    std::int64_t before_call = 0;
    while (q.next()) {
      Record r = at(q);
      r.what = What::copy;
      r.ended = std::max(r.began, q.integer(4));
      r.stream = stream(q.integer(5), q.integer(8));
      r.transfer = q.integer(6);
      const std::int64_t call = q.integer(8), direction = q.integer(9), order = q.integer(10);
      // What the driver guarantees of a call that is not asynchronous: towards the host it has
      // been done. Towards the device it may have been staged only.
      r.synchronous = synchronous_.contains(call) && (direction == 0 || direction == 3);
      r.by_host = order == 2 || order == 3;
      if (!r.synchronous && !transfers_.contains(r.transfer)) continue;
      if (before != SIZE_MAX && before_call == q.integer(7) && same_call(records_[before], r)) {
        records_[before].seq = std::min(records_[before].seq, r.seq);
        continue;
      }
      before = records_.size();
      before_call = q.integer(7);
      records_.push_back(r);
    }
    require(q.status());
  }

  static bool same_call(const Record& a, const Record& b) {
    return a.what == What::copy && b.what == What::copy && a.process == b.process &&
           a.thread == b.thread && a.began == b.began && a.ended == b.ended &&
           a.stream == b.stream && a.transfer == b.transfer && a.by_host == b.by_host &&
           a.synchronous == b.synchronous;
  }

  void waits() {
    auto q = context_.query("SELECT process, thread, seq, t_ns, end_ns, event, transfer FROM wait");
    while (q.next()) {
      Record r = at(q);
      r.what = What::wait;
      r.ended = std::max(r.began, q.integer(4));
      r.event = q.integer(5);
      r.transfer = q.integer(6);
      records_.push_back(r);
    }
    require(q.status());
  }

  void marks() {
    auto q = context_.query(
        "SELECT process, thread, seq, t_ns, transfer FROM transfer_mark WHERE kind = 3");
    while (q.next()) {
      Record r = at(q);
      r.what = What::complete;
      r.transfer = q.integer(4);
      records_.push_back(r);
    }
    require(q.status());
  }

  void steps() {
    std::vector<Begin> begins;
    auto q = context_.query("SELECT step, rank, process, t_ns, end_ns, thread, seq FROM step");
    while (q.next())
      begins.push_back({q.integer(0), q.integer(1), q.integer(2), q.integer(3), q.integer(4),
                        q.integer(5), q.integer(6)});
    require(q.status());
    std::sort(begins.begin(), begins.end(), [](const Begin& a, const Begin& b) {
      return std::tie(a.step, a.rank, a.process, a.t_ns, a.thread, a.seq) <
             std::tie(b.step, b.rank, b.process, b.t_ns, b.thread, b.seq);
    });
    std::set<std::int64_t> saved; // requests
    for (const auto& [transfer, t] : transfers_)
      if (t.direction == 0) saved.insert(t.request);
    auto shares = context_.query("SELECT step, rank, process, request, transfer FROM step_request");
    while (shares.next()) {
      const Begin sought{shares.integer(0), shares.integer(1), shares.integer(2), 0, 0, 0, 0};
      auto b = std::lower_bound(begins.begin(), begins.end(), sought,
                                [](const Begin& a, const Begin& c) { return a.key() < c.key(); });
      for (; b != begins.end() && b->key() == sought.key(); ++b) {
        if (saved.contains(shares.integer(3))) shares_.push_back({b->rank, shares.integer(3), *b});
        const auto t = transfers_.find(shares.integer(4));
        if (t == transfers_.end() || t->second.direction != 1 || t->second.rank != b->rank)
          continue;
        auto& first = readers_.try_emplace({t->first, b->process}, *b).first->second;
        if (std::tie(b->t_ns, b->thread, b->seq) < std::tie(first.t_ns, first.thread, first.seq))
          first = *b;
      }
    }
    require(shares.status());
    std::sort(shares_.begin(), shares_.end(),
              [](const Share& a, const Share& b) { return a.key() < b.key(); });
  }

  // The newest step of the request on that rank that had begun when the save was announced.
  const Begin* producer(const Announced& save) const {
    auto after = std::upper_bound(
        shares_.begin(), shares_.end(), save, [](const Announced& t, const Share& s) {
          return std::tie(t.rank, t.request, t.t_ns) < std::tie(s.rank, s.request, s.begin.t_ns);
        });
    if (after == shares_.begin()) return nullptr;
    const Share& s = *std::prev(after);
    return s.rank == save.rank && s.request == save.request ? &s.begin : nullptr;
  }

  static Record record_of(const Begin& b) {
    Record r;
    r.what = What::step;
    r.process = b.process;
    r.thread = b.thread;
    r.seq = b.seq;
    r.began = b.t_ns;
    r.ended = std::max(b.t_ns, b.end_ns);
    return r;
  }

  Records finish() {
    Records out;
    std::vector<Record> steps; // of each question
    for (const auto& [key, first] : readers_) {
      const Announced& t = transfers_.at(key.first);
      out.asked.push_back({true, key.first, t.rank, t.request, 0});
      steps.push_back(record_of(first));
    }
    std::set<std::int64_t> copied;
    for (const Record& r : records_)
      if (r.what == What::copy) copied.insert(r.transfer);
    for (const auto& [transfer, t] : transfers_) {
      if (t.direction != 0 || !copied.contains(transfer)) continue;
      const Begin* made = producer(t);
      out.asked.push_back({false, transfer, t.rank, t.request, made ? 0 : no_record});
      steps.push_back(made ? record_of(*made) : Record{});
    }
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (out.asked[i].step != no_record) records_.push_back(steps[i]);
    const auto earlier = [](const Record& a, const Record& b) { return by_time(a) < by_time(b); };
    std::sort(records_.begin(), records_.end(), earlier);
    records_.erase(std::unique(records_.begin(), records_.end(),
                               [](const Record& a, const Record& b) {
                                 return same_call(a, b) ||
                                        (a.what == What::step && by_time(a) == by_time(b));
                               }),
                   records_.end());
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (out.asked[i].step != no_record)
        out.asked[i].step = static_cast<std::uint32_t>(
            std::lower_bound(records_.begin(), records_.end(), steps[i], earlier) -
            records_.begin());
    out.records = std::move(records_);
    return out;
  }

  static Record at(const schema::Query& q) {
    Record r;
    r.process = q.integer(0);
    r.thread = q.integer(1);
    r.seq = q.integer(2);
    r.began = r.ended = q.integer(3);
    return r;
  }

  Context& context_;
  std::map<std::int64_t, Announced> transfers_;
  std::set<std::int64_t> synchronous_, of_the_thread_, launches_; // hooked calls
  std::vector<Record> records_;
  std::vector<Share> shares_;
  std::map<std::pair<std::int64_t, std::int64_t>, Begin> readers_; // (load, process)
};

} // namespace

Records read_records(Context& context) { return Reading(context).read(); }

} // namespace hitproof::audit::order
