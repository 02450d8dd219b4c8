#include "audit/order/questions.h"

#include <algorithm>

namespace hitproof::audit::order {

Questions::Questions(const Records& records, std::span<const Traced> traced, Ways& ways,
                     std::function<void(const Use&)> everything)
    : records_(records.records), asked_(records.asked), traced_(traced.begin(), traced.end()),
      ways_(ways), everything_(std::move(everything)), answers_(asked_.size()),
      producers_(asked_.size()), missed_(asked_.size()), left_(asked_.size()),
      longest_(traced.size()), reached_(traced.size()), closed_(traced.size()) {
  for (std::uint32_t q = 0; q < asked_.size(); ++q) {
    if (asked_[q].step != no_record) steps_[asked_[q].step].push_back(q);
    if (asked_[q].load)
      ++loads_[asked_[q].transfer].unread;
    else
      saves_[asked_[q].transfer] = q;
  }
  for (const Record& r : records.records) {
    if (r.what != What::copy) continue;
    if (const auto save = saves_.find(r.transfer); save != saves_.end()) ++left_[save->second];
  }
}

bool Questions::step_begins(std::uint32_t step, const Knowledge& host, Counted& thread,
                            Knowledge& work) {
  const auto asked = steps_.find(step);
  if (asked == steps_.end()) return false;
  bool producer = false;
  for (const std::uint32_t q : asked->second) {
    if (asked_[q].load) {
      read(q, host);
      close_at(q, host, step);
      continue;
    }
    if (!producer) {
      producer = true;
      if (thread.place == no_number) thread.place = places_++;
      note(work, thread.place, ++thread.position);
    }
    producers_[q] = thread;
    for (std::size_t t = 0; t < traced_.size(); ++t)
      if (traced_[t].question == q) work.ways[t] = ways_.start(step);
  }
  return producer;
}

// Whether all copies of a load are done when a step begins to read it.
void Questions::read(std::uint32_t q, const Knowledge& known) {
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

std::uint32_t Questions::place_for_a_stream() {
  if (free_.empty()) {
    stream_places_[places_];
    return places_++;
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  stream_places_.at(place).over = false;
  return place;
}

void Questions::give_back(std::uint32_t place) {
  const Place& p = stream_places_.at(place);
  if (p.over && p.unread == 0) free_.push_back(place);
}

void Questions::stream_ends(std::uint32_t place) {
  stream_places_.at(place).over = true;
  give_back(place);
}

void Questions::save_copy_begins(std::uint32_t copy, const Knowledge& before) {
  const std::uint32_t q = saves_.at(records_[copy].transfer);
  const Counted& producer = producers_[q];
  if (producer.position == 0 || before.of(producer.place) < producer.position) missed_[q] = true;
  --left_[q];
  for (std::size_t t = 0; t < traced_.size(); ++t) {
    if (traced_[t].question != q || closed_[t]) continue;
    if (before.ways[t] == nullptr) {
      reached_[t] = nullptr;
      keep_longest(t);
      closed_[t] = true;
    } else {
      if (reached_[t] == nullptr) reached_[t] = ways_.on(before.ways[t], copy);
      closed_[t] = left_[q] == 0;
    }
  }
}

void Questions::close_at(std::uint32_t q, const Knowledge& known, std::uint32_t target) {
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
void Questions::keep_longest(std::size_t t) {
  everything_([&](const Knowledge& known) {
    const Hop* way = known.ways[t];
    if (way == nullptr) return;
    const Hop*& longest = longest_[t];
    if (longest == nullptr || way->length > longest->length ||
        (way->length == longest->length && way->record < longest->record))
      longest = way;
  });
}

void Questions::copy_ends(std::uint32_t copy, std::uint32_t* stream, Knowledge* known) {
  const auto found = loads_.find(records_[copy].transfer);
  if (found == loads_.end()) return;
  Load& load = found->second;
  if (load.read) load.late = copy;
  load.last = copy;
  if (stream == nullptr) {
    load.elsewhere = true;
    return;
  }
  if (*stream == no_number) *stream = place_for_a_stream();
  Place& place = stream_places_.at(*stream);
  note(*known, *stream, ++place.position);
  if (load.unread > 0 && !load.places.contains(*stream)) ++place.unread;
  load.places[*stream] = {copy, place.position};
  for (std::size_t t = 0; t < traced_.size(); ++t)
    if (traced_[t].source == copy && asked_[traced_[t].question].load)
      known->ways[t] = ways_.start(copy);
}

bool Questions::all_closed() const {
  return std::all_of(closed_.begin(), closed_.end(), [](bool closed) { return closed; });
}

Answers Questions::answers() const {
  Answers out;
  out.clock_places = places_;
  out.answers = answers_;
  for (std::size_t q = 0; q < asked_.size(); ++q) {
    Answer& a = out.answers[q];
    if (!asked_[q].load) {
      a.source = asked_[q].step;
      a.proved = producers_[q].position > 0 && left_[q] == 0 && !missed_[q];
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

} // namespace hitproof::audit::order
