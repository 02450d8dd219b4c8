#include "audit/order/paths.h"

#include "audit/order/graph.h"

#include <algorithm>
#include <map>

namespace hitproof::audit::order {
namespace {

const char* table_of(What what) {
  switch (what) {
  case What::copy:
    return "copy";
  case What::wait:
    return "wait";
  case What::step:
    return "step";
  case What::complete:
    return "transfer_mark";
  default:
    return "order_op";
  }
}

bool is_about_a_stream(What what) {
  return what == What::copy || what == What::event_record || what == What::stream_wait ||
         what == What::stream_synchronise || what == What::stream_query ||
         what == What::host_function;
}

std::string words_of(const Record& r) {
  const std::string stream = "stream " + std::to_string(r.stream);
  const std::string event = "event " + std::to_string(r.event);
  const std::string transfer = "transfer " + std::to_string(r.transfer);
  const std::string process = "process " + std::to_string(r.process);
  if (r.by_graph)
    return process + " launches a graph on " + stream + " whose node " +
           (r.what == What::event_record ? "records " : "waits for ") + event;
  switch (r.what) {
  case What::copy:
    return process + " makes a copy of " + transfer + " on " + stream;
  case What::wait:
    return process + " had waited for " + transfer + " on " + event;
  case What::step:
    return process + " begins the step";
  case What::complete:
    return "the copies of " + transfer + " are complete";
  case What::event_record:
    return process + " records " + event + " on " + stream;
  case What::event_query:
    return process + " finds " + event + " done";
  case What::event_synchronise:
    return process + " synchronises with " + event;
  case What::stream_wait:
    return process + " makes " + stream + " wait for " + event;
  case What::stream_synchronise:
    return process + " synchronises with " + stream;
  case What::stream_query:
    return process + " finds " + stream + " done";
  case What::device_synchronise:
    return process + " synchronises with device " + std::to_string(r.device);
  case What::host_function:
    return process + " gives " + stream + " a host function";
  case What::event_export:
    return process + " exports " + event;
  case What::event_open:
    return process + " opens it as " + event;
  default:
    return process;
  }
}

class Concluding {
 public:
  Concluding(Context& context, const std::set<std::int64_t>& decided)
      : context_(context), decided_(decided), calls_(records_of(context)), records_(*calls_),
        numbered_(numbered(records_.records)) {}

  Conclusions conclude() {
    const Answers found = walk(records_, numbered_);
    judge(found);
    std::vector<Traced> traced;
    for (const std::size_t q : {proved_load_, proved_save_, open_load_, open_save_})
      if (q != none) traced.push_back({q, found.answers[q].source});
    if (!traced.empty()) {
      const Answers ways = walk(records_, numbered_, traced);
      for (const Traced& t : traced)
        out_.paths.push_back(
            path(t.question, found.answers[t.question].proved, ways.answers[t.question].path));
    }
    return std::move(out_);
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;

  // The time by which a question must be proved.
  std::int64_t target_ns(std::size_t q) const {
    const Asked& a = records_.asked[q];
    if (a.load) return records_.records[a.step].began;
    return first_copies_.at(a.transfer);
  }

  void judge(const Answers& found) {
    for (const Record& r : records_.records)
      if (r.what == What::copy) first_copies_.try_emplace(r.transfer, r.began);
    // A load that several processes read is proved where it is proved for all.
    std::map<std::int64_t, bool> proved;
    for (std::size_t q = 0; q < records_.asked.size(); ++q) {
      bool& all = proved.try_emplace(records_.asked[q].transfer, true).first->second;
      all = all && found.answers[q].proved;
    }
    std::map<std::int64_t, Subject> unproved;
    for (std::size_t q = 0; q < records_.asked.size(); ++q) {
      const Asked& a = records_.asked[q];
      if (found.answers[q].proved) {
        earliest(a.load ? proved_load_ : proved_save_, q);
        continue;
      }
      if (decided_.contains(a.transfer)) continue;
      earliest(a.load ? open_load_ : open_save_, q);
      Subject s;
      s.rank = a.rank;
      s.transfer = a.transfer;
      s.request = a.request;
      s.at_ns = target_ns(q);
      s.expected = a.load ? "the end of its copies" : "the step that wrote its pages";
      s.actual = a.load ? "the step that first reads it" : "its copies";
      const auto [before, fresh] = unproved.try_emplace(a.transfer, s);
      if (!fresh && *s.at_ns < *before->second.at_ns) before->second = s;
    }
    std::set<std::int64_t> counted;
    for (const Asked& a : records_.asked)
      if (proved.at(a.transfer) && counted.insert(a.transfer).second)
        ++(a.load ? out_.loads_proved : out_.saves_proved);
    for (const auto& [transfer, all] : proved)
      if (!all) out_.without_path.push_back(transfer);
    for (const auto& [transfer, subject] : unproved)
      out_.unproved.push_back(subject);
    std::stable_sort(out_.unproved.begin(), out_.unproved.end(),
                     [](const Subject& a, const Subject& b) { return *a.at_ns < *b.at_ns; });
  }

  // Numbers of transfers decide nothing: they may be given out anew.
  void earliest(std::size_t& of, std::size_t q) const {
    if (of == none || target_ns(q) < target_ns(of)) of = q;
  }

  PathRecord cited(std::uint32_t record) const {
    const Record& r = records_.records[record];
    PathRecord w;
    w.table = table_of(r.what);
    w.process = r.process;
    w.thread = r.thread;
    w.seq = r.seq;
    w.at_ms = static_cast<double>(r.began - context_.first_ns()) * 1e-6;
    w.words = words_of(r);
    w.end_ms = static_cast<double>(r.ended - context_.first_ns()) * 1e-6;
    if (is_about_a_stream(r.what)) w.stream = r.stream;
    return w;
  }

  OrderPath path(std::size_t q, bool proved, const std::vector<std::uint32_t>& records) const {
    const Asked& a = records_.asked[q];
    OrderPath out;
    out.load = a.load;
    out.proved = proved;
    out.transfer = a.transfer;
    out.rank = a.rank;
    out.request = a.request;
    for (const std::uint32_t record : records)
      out.records.push_back(cited(record));
    return out;
  }

  Context& context_;
  const std::set<std::int64_t>& decided_;
  const std::shared_ptr<const Records> calls_;
  const Records& records_;
  const Numbered numbered_;
  std::map<std::int64_t, std::int64_t> first_copies_; // ns, by transfer
  std::size_t proved_load_ = none, proved_save_ = none, open_load_ = none, open_save_ = none;
  Conclusions out_;
};

} // namespace

Conclusions conclusions_of(Context& context, const std::set<std::int64_t>& decided) {
  return Concluding(context, decided).conclude();
}

schema::Result<std::vector<std::int64_t>> transfers_without_path(const std::string& dir) {
  try {
    Context context(dir);
    return conclusions_of(context, {}).without_path;
  } catch (const AuditError& e) {
    return e.status();
  }
}

} // namespace hitproof::audit::order
