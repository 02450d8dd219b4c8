// The trace event format of Chrome, which Perfetto opens: one process a process of the recording,
// one track a thread or stream, flow arrows from each save or load to the wait for it and along the
// paths that prove an order. Slices that overlap without nesting get a further track of the same
// name, as the format cannot show them on one.
#include "cli/escape.h"
#include "cli/formats/formats.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace hitproof::cli {
namespace {

using Json = nlohmann::ordered_json;

double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

struct Placed {
  std::int64_t pid, tid;
};

// Gives every slice a track on which its neighbours nest or do not touch.
class Tracks {
 public:
  std::vector<Placed> place(const audit::Timeline& timeline, std::int64_t first_pid) {
    std::vector<std::size_t> order(timeline.slices.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    const auto& all = timeline.slices;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return all[a].begin_ns != all[b].begin_ns ? all[a].begin_ns < all[b].begin_ns
                                                : all[a].end_ns > all[b].end_ns;
    });
    std::vector<Placed> placed(order.size());
    for (const std::size_t i : order) {
      const audit::Slice& s = all[i];
      auto& lanes = lanes_[{first_pid + s.process, s.on_stream, s.track}];
      std::size_t at = 0;
      for (; at < lanes.size(); ++at) {
        auto& open = lanes[at].open;
        while (!open.empty() && open.back() <= s.begin_ns)
          open.pop_back();
        if (open.empty() || s.end_ns <= open.back()) break;
      }
      if (at == lanes.size()) lanes.push_back({{}, next_++});
      lanes[at].open.push_back(s.end_ns);
      placed[i] = {first_pid + s.process, lanes[at].tid};
    }
    return placed;
  }

  template <class Use> void each(const Use& use) const {
    for (const auto& [key, lanes] : lanes_) {
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const auto& [pid, on_stream, track] = key;
        use(pid, lanes[i].tid,
            (on_stream  ? "stream "
             : pid == 0 ? "operations "
                        : "thread ") +
                std::to_string(track) + (i ? " (" + std::to_string(i + 1) + ")" : ""));
      }
    }
  }
  void clear() { lanes_.clear(); }

 private:
  struct Lane {
    std::vector<std::int64_t> open; // ends of the slices that are open, outermost first
    std::int64_t tid;
  };
  std::map<std::tuple<std::int64_t, bool, std::int64_t>, std::vector<Lane>> lanes_;
  std::int64_t next_ = 1;
};

class PerfettoOutput : public Document {
 public:
  explicit PerfettoOutput(std::ostream& stream) : out_(stream) {}

  void archive(const audit::Dossier& d) override {
    const audit::Timeline& t = d.timeline;
    // Process ids of several recordings may be the same; each archive has a range of its own.
    const std::int64_t first_pid = archives_++ * 10'000'000;
    const std::string prefix = printable(name_of(d.report)) + ": ";
    for (const audit::TimelineProcess& p : t.processes) {
      const std::string name = prefix + printable(p.role.empty() ? "process" : p.role) +
                               (p.rank >= 0 ? " " + std::to_string(p.rank) : "");
      event({{"ph", "M"},
             {"name", "process_name"},
             {"pid", first_pid + p.process},
             {"tid", 0},
             {"args", {{"name", name}}}});
    }
    Tracks tracks;
    const std::vector<Placed> placed = tracks.place(t, first_pid);
    tracks.each([&](std::int64_t pid, std::int64_t tid, const std::string& name) {
      event({{"ph", "M"},
             {"name", "thread_name"},
             {"pid", pid},
             {"tid", tid_base_ + tid},
             {"args", {{"name", name}}}});
    });
    for (std::size_t i = 0; i < t.slices.size(); ++i)
      slice(t.slices[i], placed[i]);
    for (const auto& [from, to] : t.to)
      flow(t, placed, from, to);
    for (const audit::TimelinePath& path : t.paths)
      order(t, placed, path, d);
    for (const audit::Thinned& thin : t.thinned)
      thinned_.push_back({{"archive", printable(name_of(d.report))},
                          {"kind", audit::slice_kind_name(thin.kind)},
                          {"shown", thin.shown},
                          {"all", thin.all}});
    devices_.push_back({{"archive", printable(name_of(d.report))},
                        {"device", printable(d.report.device)},
                        {"verdict", audit::verdict_name(d.report.verdict)}});
    tid_base_ += 1'000'000;
  }

  void finish() override {
    if (!any_) out_ << "{\"traceEvents\": [\n";
    const Json other = {{"generator", "hitproof " HITPROOF_VERSION},
                        {"archives", devices_},
                        {"thinned", thinned_},
                        {"order", paths_},
                        {"copies", "one slice for all copies of a transfer in one thread"}};
    out_ << "\n], \"displayTimeUnit\": \"ms\", \"otherData\": " << other.dump() << "}\n";
  }
  std::string suffix() const override { return "json"; }

 private:
  void event(const Json& j) {
    out_ << (any_ ? ",\n" : "{\"traceEvents\": [\n")
         << j.dump(-1, ' ', false, Json::error_handler_t::replace);
    any_ = true;
  }

  void slice(const audit::Slice& s, const Placed& at) {
    Json args = {{"words", printable(s.words)}};
    if (s.transfer) args["transfer"] = std::to_string(s.transfer);
    if (s.request) args["request"] = s.request;
    if (s.rank >= 0) args["rank"] = s.rank;
    const bool by_words =
        s.kind == audit::SliceKind::operation || s.kind == audit::SliceKind::ordering;
    const std::string name =
        by_words ? printable(s.words) : std::string(audit::slice_kind_name(s.kind));
    event({{"ph", "X"},
           {"name", name},
           {"cat", audit::slice_kind_name(s.kind)},
           {"pid", at.pid},
           {"tid", tid_base_ + at.tid},
           {"ts", microseconds(s.begin_ns)},
           {"dur", microseconds(std::max<std::int64_t>(s.end_ns - s.begin_ns, 0))},
           {"args", std::move(args)}});
  }

  // An arrow starts inside the transfer's slice and ends inside the wait's; a wait that began
  // before the transfer completed is entered where the transfer ends.
  void flow(const audit::Timeline& t, const std::vector<Placed>& placed, std::size_t from,
            std::size_t to) {
    const audit::Slice &a = t.slices[from], &b = t.slices[to];
    const std::int64_t start = a.end_ns > a.begin_ns ? a.end_ns - 1 : a.begin_ns;
    const std::int64_t end = std::clamp(start, b.begin_ns, std::max(b.begin_ns, b.end_ns - 1));
    if (end < start) return; // the wait was over before: no arrow runs back in time
    const Json common = {{"name", "completion"}, {"cat", "wait"}, {"id", ++flows_}};
    Json first = common, last = common;
    first.update({{"ph", "s"},
                  {"pid", placed[from].pid},
                  {"tid", tid_base_ + placed[from].tid},
                  {"ts", microseconds(start)}});
    last.update({{"ph", "f"},
                 {"bp", "e"},
                 {"pid", placed[to].pid},
                 {"tid", tid_base_ + placed[to].tid},
                 {"ts", microseconds(end)}});
    event(first);
    event(last);
  }

  // One arrow from each record to the next. Perfetto binds the ends of an arrow, in the order of
  // time, to the innermost slice that is open on the track by then, so each stands where its slice
  // begins, and the one that began later is where the arrow ends.
  void order(const audit::Timeline& t, const std::vector<Placed>& placed,
             const audit::TimelinePath& path, const audit::Dossier& d) {
    for (auto [from, to] : path.joins) {
      if (t.slices[to].begin_ns < t.slices[from].begin_ns) std::swap(from, to);
      const Json common = {{"name", path.load ? "order of a load" : "order of a save"},
                           {"cat", "order"},
                           {"id", ++flows_}};
      for (const std::size_t end : {from, to}) {
        Json j = common;
        j.update({{"ph", end == from ? "s" : "f"},
                  {"pid", placed[end].pid},
                  {"tid", tid_base_ + placed[end].tid},
                  {"ts", microseconds(t.slices[end].begin_ns)}});
        if (end == to) j["bp"] = "e";
        event(j);
      }
    }
    paths_.push_back({{"archive", printable(name_of(d.report))},
                      {"of", path.load ? "load" : "save"},
                      {"transfer", std::to_string(path.transfer)},
                      {"rank", path.rank},
                      {"shown", path.shown},
                      {"records", path.records}});
  }

  std::ostream& out_;
  bool any_ = false;
  std::int64_t archives_ = 0, tid_base_ = 0, flows_ = 0;
  Json thinned_ = Json::array(), devices_ = Json::array(), paths_ = Json::array();
};

} // namespace

std::unique_ptr<Output> make_perfetto_output(std::ostream& stream) {
  return std::make_unique<PerfettoOutput>(stream);
}

} // namespace hitproof::cli
