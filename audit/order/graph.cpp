#include "audit/order/graph.h"

#include "audit/order/knowledge.h"
#include "audit/order/moments.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace hitproof::audit::order {
namespace {

constexpr std::int64_t never = INT64_MIN;

// An event from its creation to its end, wherever it is opened.
struct Life {
  Knowledge recorded;               // what its newest record that returned stands for
  std::uint32_t begun = 0;          // records so far
  std::uint32_t running = 0;        // of these, calls that have not returned
  bool overlapped = false;          // of those that run: which one is newer shows nowhere
  std::uint32_t stream = no_number; // of its first record
  bool several_streams = false;
};

// What a handle of a process means at the moment.
struct Event {
  std::shared_ptr<Life> life; // null: unknown
  std::uint32_t exported = no_record, opened = no_record;
  // The newest synchronisation that ended, for the waits announced around it.
  std::int64_t synchronised = never; // its begin
  Knowledge gained;
};

struct Stream {
  Knowledge known; // what is done before whatever is enqueued next
  std::uint32_t life = 0;
  std::uint32_t changes = 0;
  std::uint32_t place = no_number; // of the load copies on it
  std::int32_t device = -1;
};

struct Thread {
  Knowledge host; // what is done when its next call begins
  Knowledge work; // steps whose work it has given to the device
  std::uint32_t place = no_number, position = 0;
};

// A call that has begun, with what was known then.
struct Open {
  Knowledge host, from, work;
  std::shared_ptr<Life> life;
  std::uint32_t begun = 0; // records of `life`
  bool running = false;    // a record of it has not returned
  std::uint32_t stream_life = 0, stream_changes = 0;
  std::uint32_t exported = no_record, opened = no_record;
};

struct Export {
  std::shared_ptr<Life> life;
  std::uint32_t record = no_record;
};

struct Done {
  std::uint32_t record = no_record, position = 0;
};

// The copies of an asked load; the last of each place.
struct Load {
  std::map<std::uint32_t, Done> places;
  std::uint32_t last = no_record;
  bool elsewhere = false;         // a copy that no clock can count
  std::uint32_t unread = 0;       // questions whose step has not begun
  bool read = false;              // one has
  std::uint32_t late = no_record; // a copy after such a step
};

// A place of the clocks that was given to a life of a stream. When that is over and nobody will ask
// about its loads, another one goes on counting there: whoever knows the old ones does not know
// more.
struct Place {
  std::uint32_t position = 0;
  std::uint32_t unread = 0; // loads
  bool over = false;
};

// What the completion mark of a transfer stands for.
struct Copied {
  Knowledge known;
  std::uint32_t stream = no_number, life = 0;
  bool several = false;
};

class Walk {
 public:
  Walk(const Records& records, std::span<const Traced> traced)
      : records_(records.records), asked_(records.asked), moments_(moments_of(records_)),
        traced_(traced.begin(), traced.end()), threads_(moments_.threads),
        streams_(moments_.streams), events_(moments_.events), streams_of_(moments_.processes),
        answers_(asked_.size()), places_of_(asked_.size()), missed_(asked_.size()),
        left_(asked_.size()), longest_(traced.size()), reached_(traced.size()),
        closed_(traced.size()) {
    for (std::uint32_t q = 0; q < asked_.size(); ++q) {
      if (asked_[q].step != no_record) steps_[asked_[q].step].push_back(q);
      if (asked_[q].load)
        ++loads_[asked_[q].transfer].unread;
      else
        saves_[asked_[q].transfer] = q;
    }
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
      const Record& r = records_[i];
      if (r.what != What::copy) continue;
      if (const auto save = saves_.find(r.transfer); save != saves_.end()) ++left_[save->second];
    }
    std::vector<bool> seen(streams_.size());
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
      const Numbers& n = moments_.numbers[i];
      if (n.stream == no_number || seen[n.stream]) continue;
      seen[n.stream] = true;
      streams_of_[n.process].push_back(n.stream);
      streams_[n.stream].device = moments_.only_device[n.process];
    }
  }

  Answers answers() {
    for (const Moment& m : moments_.moments) {
      ++visited_;
      if (m.phase != Phase::end) begin(m.record);
      if (m.phase != Phase::begin) end(m.record);
      if (!traced_.empty() && all_closed()) break;
    }
    return judged();
  }

 private:
  using Via = std::span<const std::uint32_t>;

  bool all_closed() const {
    return std::all_of(closed_.begin(), closed_.end(), [](bool closed) { return closed; });
  }

  void begin(std::uint32_t i) {
    const Record& r = records_[i];
    const Numbers& n = moments_.numbers[i];
    Thread& thread = threads_[n.thread];
    Open open;
    open.host = thread.host;
    if (n.stream != no_number) {
      const Stream& s = streams_[n.stream];
      open.stream_life = s.life;
      open.stream_changes = s.changes;
    }
    switch (r.what) {
    case What::event_record:
      if (n.stream != no_number) open.from = streams_[n.stream].known;
      // Of the same launch, the step's work may come behind the node that records.
      if (!r.by_graph) open.work = thread.work;
      begin_record(n, open);
      break;
    case What::event_query:
    case What::event_synchronise:
    case What::stream_wait:
      begin_waiting(n, open);
      break;
    case What::stream_synchronise:
    case What::stream_query:
      if (n.stream != no_number) open.from = streams_[n.stream].known;
      break;
    case What::device_synchronise:
      begin_device(r, n, open);
      break;
    case What::event_export:
      exports_[r.handle] = {n.event == no_number ? nullptr : events_[n.event].life, i};
      break;
    case What::event_open:
      if (const auto made = exports_.find(r.handle); made != exports_.end()) {
        open.life = made->second.life;
        open.exported = made->second.record;
      }
      break;
    case What::event_destroy:
      if (n.event != no_number) events_[n.event].life = nullptr;
      break;
    case What::stream_destroy:
      renew(n.stream);
      break;
    case What::copy:
      if (n.stream != no_number) open.from = streams_[n.stream].known;
      begin_copy(r, n, thread);
      break;
    case What::step:
      begin_step(i, thread, open);
      break;
    default:
      break;
    }
    open_.insert_or_assign(i, std::move(open));
  }

  void begin_record(const Numbers& n, Open& open) {
    if (n.event == no_number || events_[n.event].life == nullptr) return;
    Life& life = *(open.life = events_[n.event].life);
    ++life.begun;
    life.overlapped = life.overlapped || life.running > 0;
    ++life.running;
    // A stream that was made anew is another one.
    const std::uint32_t stream = n.stream == no_number ? no_number : number_of_life(n.stream);
    if (life.begun == 1) life.stream = stream;
    life.several_streams = life.several_streams || stream == no_number || life.stream != stream;
  }

  void begin_waiting(const Numbers& n, Open& open) {
    if (n.event == no_number || events_[n.event].life == nullptr) return;
    const Event& event = events_[n.event];
    open.life = event.life;
    open.from = event.life->recorded;
    open.begun = event.life->begun;
    open.running = event.life->running > 0;
    open.exported = event.exported;
    open.opened = event.opened;
  }

  void begin_device(const Record& r, const Numbers& n, Open& open) {
    if (r.device < 0) return;
    for (const std::uint32_t s : streams_of_[n.process])
      if (streams_[s].device == r.device) learn(open.from, streams_[s].known, {}, ways_);
    if (moments_.only_device[n.process] == r.device)
      learn(open.from, threads_[n.thread].work, {}, ways_);
  }

  void begin_step(std::uint32_t i, Thread& thread, Open& open) {
    const auto asked = steps_.find(i);
    if (asked == steps_.end()) return;
    bool producer = false;
    for (const std::uint32_t q : asked->second) {
      if (asked_[q].load) {
        read(q, thread.host);
        close_at(q, thread.host, i);
        continue;
      }
      if (!producer) {
        producer = true;
        if (thread.place == no_number) thread.place = places_++;
        note(thread.work, thread.place, ++thread.position);
      }
      places_of_[q] = {thread.place, thread.position};
      for (std::size_t t = 0; t < traced_.size(); ++t)
        if (traced_[t].question == q) thread.work.ways[t] = ways_.start(i);
    }
    if (producer) open.work = thread.work;
  }

  // Whether all copies of a load are done when a step begins to read it.
  void read(std::uint32_t q, const Knowledge& known) {
    Load& load = loads_.at(asked_[q].transfer);
    answers_[q].proved = !load.places.empty() && !load.elsewhere;
    answers_[q].source = load.last;
    for (const auto& [place, done] : load.places) {
      if (!answers_[q].proved || known.of(place) >= done.position) continue;
      answers_[q].proved = false;
      answers_[q].source = done.record;
    }
    load.read = true;
    if (--load.unread > 0) return;
    for (const auto& [place, done] : load.places) {
      --stream_places_.at(place).unread;
      give_back(place);
    }
  }

  std::uint32_t place_for_a_stream() {
    if (free_.empty()) {
      stream_places_[places_];
      return places_++;
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    stream_places_.at(place).over = false;
    return place;
  }

  void give_back(std::uint32_t place) {
    const Place& p = stream_places_.at(place);
    if (p.over && p.unread == 0) free_.push_back(place);
  }

  void begin_copy(const Record& r, const Numbers& n, const Thread& thread) {
    const auto save = saves_.find(r.transfer);
    if (save == saves_.end()) return;
    const std::uint32_t q = save->second;
    const auto& [place, position] = places_of_[q];
    Knowledge before = thread.host;
    if (!r.by_host && n.stream != no_number) learn(before, streams_[n.stream].known, {}, ways_);
    if (position == 0 || before.of(place) < position) missed_[q] = true;
    --left_[q];
    const auto i = static_cast<std::uint32_t>(&r - records_.data());
    for (std::size_t t = 0; t < traced_.size(); ++t) {
      if (traced_[t].question != q || closed_[t]) continue;
      if (before.ways[t] == nullptr) {
        reached_[t] = nullptr;
        keep_longest(t);
        closed_[t] = true;
      } else {
        if (reached_[t] == nullptr) reached_[t] = ways_.on(before.ways[t], i);
        closed_[t] = left_[q] == 0;
      }
    }
  }

  void close_at(std::uint32_t q, const Knowledge& known, std::uint32_t target) {
    for (std::size_t t = 0; t < traced_.size(); ++t) {
      if (traced_[t].question != q || closed_[t]) continue;
      if (known.ways[t] != nullptr)
        reached_[t] = ways_.on(known.ways[t], target);
      else
        keep_longest(t);
      closed_[t] = true;
    }
  }

  // How far a way has come by now: of threads, streams and events the one that is furthest.
  void keep_longest(std::size_t t) {
    const auto consider = [&](const Knowledge& known) {
      const Hop* way = known.ways[t];
      if (way == nullptr) return;
      const Hop*& longest = longest_[t];
      if (longest == nullptr || way->length > longest->length ||
          (way->length == longest->length && way->record < longest->record))
        longest = way;
    };
    for (const Thread& thread : threads_)
      consider(thread.host), consider(thread.work);
    for (const Stream& stream : streams_)
      consider(stream.known);
    for (const Event& event : events_)
      if (event.life) consider(event.life->recorded);
  }

  void end(std::uint32_t i) {
    const auto found = open_.find(i);
    if (found == open_.end()) return;
    Open open = std::move(found->second);
    open_.erase(found);
    const Record& r = records_[i];
    const Numbers& n = moments_.numbers[i];
    Thread& thread = threads_[n.thread];
    const std::uint32_t here[] = {i};
    Stream* const stream = n.stream != no_number && streams_[n.stream].life == open.stream_life
                               ? &streams_[n.stream]
                               : nullptr;
    switch (r.what) {
    case What::event_create:
      if (n.event != no_number)
        events_[n.event] = {std::make_shared<Life>(), no_record, no_record, never, {}};
      break;
    case What::event_open:
      if (n.event != no_number) events_[n.event] = {open.life, open.exported, i, never, {}};
      break;
    case What::event_record:
      end_record(here, open, stream);
      break;
    case What::event_query:
    case What::event_synchronise: {
      Knowledge gained;
      gain(gained, i, open);
      learn(thread.host, gained, {}, ways_);
      if (n.event == no_number) break;
      events_[n.event].synchronised = r.began;
      events_[n.event].gained = std::move(gained);
      break;
    }
    case What::stream_wait:
      if (stream == nullptr) break;
      enqueue(*stream, open.host, here);
      // Which record a node of a graph waits for is known to the device alone.
      if (!r.by_graph) gain(stream->known, i, open);
      break;
    case What::stream_synchronise:
    case What::stream_query:
    case What::device_synchronise:
      learn(thread.host, open.from, here, ways_);
      break;
    case What::host_function:
      if (stream != nullptr) enqueue(*stream, open.host, here);
      break;
    case What::stream_create:
      renew(n.stream);
      if (n.stream != no_number) streams_[n.stream].device = r.device;
      break;
    case What::copy:
      end_copy(i, open, stream, thread);
      break;
    case What::wait:
      if (n.event != no_number && events_[n.event].synchronised >= r.began)
        learn(thread.host, events_[n.event].gained, here, ways_);
      break;
    case What::step:
      if (r.ended > r.began) learn(thread.host, open.work, here, ways_);
      break;
    case What::complete:
      if (const auto copied = copied_.find(r.transfer); copied != copied_.end()) {
        if (!copied->second.several) learn(thread.host, copied->second.known, here, ways_);
        copied_.erase(copied);
      }
      break;
    default:
      break;
    }
  }

  void end_record(Via here, Open& open, Stream* stream) {
    Knowledge stands_for;
    learn(stands_for, open.from, here, ways_);
    learn(stands_for, open.host, here, ways_);
    learn(stands_for, open.work, here, ways_);
    if (stream != nullptr) enqueue(*stream, stands_for, {});
    if (open.life == nullptr) return;
    Life& life = *open.life;
    --life.running;
    life.recorded = life.overlapped ? Knowledge{} : std::move(stands_for);
    if (life.running == 0) life.overlapped = false;
  }

  // What a call learns from the event that it waits for.
  void gain(Knowledge& into, std::uint32_t i, const Open& open) {
    if (open.life == nullptr) return;
    const bool meanwhile = open.running || open.life->begun != open.begun;
    if (meanwhile && open.life->several_streams) return;
    std::vector<std::uint32_t> via;
    if (open.opened != no_record) via = {open.exported, open.opened};
    via.push_back(i);
    learn(into, open.from, via, ways_);
  }

  void end_copy(std::uint32_t i, const Open& open, Stream* stream, Thread& thread) {
    const Record& r = records_[i];
    const auto load = loads_.find(r.transfer);
    if (load != loads_.end() && load->second.read) load->second.late = i;
    if (stream == nullptr) {
      if (load != loads_.end()) load->second.elsewhere = true, load->second.last = i;
      return;
    }
    const bool alone = stream->changes == open.stream_changes;
    const std::uint32_t here[] = {i};
    enqueue(*stream, open.host, here);
    if (load != loads_.end()) {
      if (stream->place == no_number) stream->place = place_for_a_stream();
      Place& place = stream_places_.at(stream->place);
      note(stream->known, stream->place, ++place.position);
      if (load->second.unread > 0 && !load->second.places.contains(stream->place)) ++place.unread;
      load->second.places[stream->place] = {i, place.position};
      load->second.last = i;
      for (std::size_t t = 0; t < traced_.size(); ++t)
        if (traced_[t].source == i && asked_[traced_[t].question].load)
          stream->known.ways[t] = ways_.start(i);
    }
    note_copied(r, moments_.numbers[i].stream, *stream);
    if (r.synchronous) learn(thread.host, alone ? stream->known : open.from, here, ways_);
  }

  void note_copied(const Record& r, std::uint32_t number, const Stream& stream) {
    if (r.transfer == 0) return;
    Copied& copied = copied_[r.transfer];
    copied.several = copied.several || (copied.stream != no_number &&
                                        (copied.stream != number || copied.life != stream.life));
    copied.stream = number;
    copied.life = stream.life;
    copied.known = stream.known;
  }

  void enqueue(Stream& stream, const Knowledge& known, Via via) {
    ++stream.changes;
    learn(stream.known, known, via, ways_);
  }

  void renew(std::uint32_t number) {
    if (number == no_number) return;
    Stream& s = streams_[number];
    if (s.place != no_number) {
      stream_places_.at(s.place).over = true;
      give_back(s.place);
    }
    const std::uint32_t life = s.life + 1;
    const std::int32_t device = s.device;
    s = {};
    s.life = life;
    s.device = device;
  }

  // The same for all calls on one life of a stream.
  std::uint32_t number_of_life(std::uint32_t number) {
    return lives_
        .try_emplace({number, streams_[number].life}, static_cast<std::uint32_t>(lives_.size()))
        .first->second;
  }

  Answers judged() const {
    Answers out;
    out.visited = visited_;
    out.clock_places = places_;
    out.answers = answers_;
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      Answer& a = out.answers[q];
      if (!asked_[q].load) {
        a.source = asked_[q].step;
        a.proved = places_of_[q].second > 0 && left_[q] == 0 && !missed_[q];
      } else if (const Load& load = loads_.at(asked_[q].transfer); load.late != no_record) {
        a.proved = false;
        a.source = load.late;
      }
    }
    for (std::size_t t = 0; t < traced_.size(); ++t) {
      std::vector<std::uint32_t>& path = out.answers[traced_[t].question].path;
      const Hop* way = reached_[t] != nullptr ? reached_[t] : longest_[t];
      for (; way != nullptr; way = way->before)
        path.push_back(way->record);
      std::reverse(path.begin(), path.end());
      if (path.empty() && traced_[t].source != no_record) path.push_back(traced_[t].source);
    }
    return out;
  }

  const std::vector<Record>& records_;
  const std::vector<Asked>& asked_;
  const Moments moments_;
  const std::vector<Traced> traced_;
  std::vector<Thread> threads_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<std::vector<std::uint32_t>> streams_of_; // by process
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lives_;
  std::unordered_map<std::uint32_t, Export> exports_;                   // by handle
  std::unordered_map<std::uint32_t, Open> open_;                        // by record
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> steps_; // questions by step
  std::unordered_map<std::int64_t, Load> loads_;                        // by transfer
  std::unordered_map<std::int64_t, std::uint32_t> saves_;               // questions by transfer
  std::unordered_map<std::int64_t, Copied> copied_;                     // by transfer
  std::vector<Answer> answers_;                                         // of loads
  std::map<std::uint32_t, Place> stream_places_;
  std::vector<std::uint32_t> free_;                                // places
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_of_; // of saves: place, position
  std::vector<bool> missed_;                  // saves with a copy that is not behind
  std::vector<std::uint32_t> left_;           // copies of saves still to come
  std::vector<const Hop*> longest_, reached_; // by place in traced_
  std::vector<bool> closed_;
  Ways ways_;
  std::uint32_t places_ = 0;
  std::size_t visited_ = 0;
};

} // namespace

Answers walk(const Records& records, std::span<const Traced> traced) {
  return Walk(records, traced).answers();
}

} // namespace hitproof::audit::order
