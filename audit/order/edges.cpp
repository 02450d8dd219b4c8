#include "audit/order/edges.h"

namespace hitproof::audit::order {

Edges::Edges(const std::vector<Record>& records, const Numbered& numbered, Ways& ways)
    : records_(records), numbered_(numbered), ways_(ways), threads_(numbered.threads),
      streams_(numbered.streams), events_(numbered.events), streams_of_(numbered.processes) {
  std::vector<bool> seen(streams_.size());
  for (const Numbers& n : numbered.of) {
    if (n.stream == no_number || seen[n.stream]) continue;
    seen[n.stream] = true;
    streams_of_[n.process].push_back(n.stream);
    streams_[n.stream].device = numbered.only_device[n.process];
    streams_[n.stream].life = lives_++;
  }
}

void Edges::begin(std::uint32_t i, Open& open, Questions& questions) {
  const Record& r = records_[i];
  const Numbers& n = numbered_.of[i];
  Thread& thread = threads_[n.thread];
  open.host = thread.host;
  if (n.stream != no_number) {
    open.stream_life = streams_[n.stream].life;
    open.stream_changes = streams_[n.stream].changes;
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
    renew(n.stream, questions);
    break;
  case What::copy:
    if (n.stream != no_number) open.from = streams_[n.stream].known;
    if (questions.is_of_a_save(r)) begin_copy(i, n, questions);
    break;
  case What::step:
    if (questions.step_begins(i, thread.host, thread.steps, thread.work)) open.work = thread.work;
    break;
  default:
    break;
  }
}

void Edges::begin_record(const Numbers& n, Open& open) {
  if (n.event == no_number || events_[n.event].life == nullptr) return;
  Life& life = *(open.life = events_[n.event].life);
  ++life.begun;
  life.overlapped = life.overlapped || life.running > 0;
  ++life.running;
  // A stream that was made anew is another one.
  const std::uint32_t stream = n.stream == no_number ? no_number : streams_[n.stream].life;
  if (life.begun == 1) life.stream = stream;
  life.several_streams = life.several_streams || stream == no_number || life.stream != stream;
}

void Edges::begin_waiting(const Numbers& n, Open& open) {
  if (n.event == no_number || events_[n.event].life == nullptr) return;
  const Event& event = events_[n.event];
  open.life = event.life;
  open.from = event.life->recorded;
  open.begun = event.life->begun;
  open.running = event.life->running > 0;
  open.exported = event.exported;
  open.opened = event.opened;
}

void Edges::begin_device(const Record& r, const Numbers& n, Open& open) {
  if (r.device < 0) return;
  for (const std::uint32_t s : streams_of_[n.process])
    if (streams_[s].device == r.device) learn(open.from, streams_[s].known, {}, ways_);
  if (numbered_.only_device[n.process] == r.device)
    learn(open.from, threads_[n.thread].work, {}, ways_);
}

void Edges::begin_copy(std::uint32_t i, const Numbers& n, Questions& questions) {
  Knowledge before = threads_[n.thread].host;
  if (!records_[i].by_host && n.stream != no_number)
    learn(before, streams_[n.stream].known, {}, ways_);
  questions.save_copy_begins(i, before);
}

void Edges::end(std::uint32_t i, Open& open, Questions& questions) {
  const Record& r = records_[i];
  const Numbers& n = numbered_.of[i];
  Thread& thread = threads_[n.thread];
  const std::uint32_t here[] = {i};
  Stream* const stream = n.stream != no_number && streams_[n.stream].life == open.stream_life
                             ? &streams_[n.stream]
                             : nullptr;
  switch (r.what) {
  case What::event_create:
    if (n.event != no_number) {
      events_[n.event] = {};
      events_[n.event].life = std::make_shared<Life>();
    }
    break;
  case What::event_open:
    if (n.event != no_number) {
      events_[n.event] = {};
      events_[n.event].life = open.life;
      events_[n.event].exported = open.exported;
      events_[n.event].opened = i;
    }
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
    renew(n.stream, questions);
    if (n.stream != no_number) streams_[n.stream].device = r.device;
    break;
  case What::copy:
    end_copy(i, open, stream, thread, questions);
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

void Edges::end_record(Via here, Open& open, Stream* stream) {
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
void Edges::gain(Knowledge& into, std::uint32_t i, const Open& open) {
  if (open.life == nullptr) return;
  const bool meanwhile = open.running || open.life->begun != open.begun;
  if (meanwhile && open.life->several_streams) return;
  const std::uint32_t via[] = {open.exported, open.opened, i};
  learn(into, open.from, open.opened == no_record ? Via(via).last(1) : Via(via), ways_);
}

void Edges::end_copy(std::uint32_t i, const Open& open, Stream* stream, Thread& thread,
                     Questions& questions) {
  const Record& r = records_[i];
  if (stream == nullptr) {
    questions.copy_ends(i, nullptr, nullptr);
    return;
  }
  const bool alone = stream->changes == open.stream_changes;
  const std::uint32_t here[] = {i};
  enqueue(*stream, open.host, here);
  questions.copy_ends(i, &stream->place, &stream->known);
  note_copied(r, *stream);
  if (r.synchronous) learn(thread.host, alone ? stream->known : open.from, here, ways_);
}

void Edges::note_copied(const Record& r, const Stream& stream) {
  if (r.transfer == 0) return;
  Copied& copied = copied_[r.transfer];
  copied.several = copied.several || (copied.life != no_number && copied.life != stream.life);
  copied.life = stream.life;
  copied.known = stream.known;
}

void Edges::enqueue(Stream& stream, const Knowledge& known, Via via) {
  ++stream.changes;
  learn(stream.known, known, via, ways_);
}

void Edges::renew(std::uint32_t number, Questions& questions) {
  if (number == no_number) return;
  Stream& s = streams_[number];
  if (s.place != no_number) questions.stream_ends(s.place);
  const std::int32_t device = s.device;
  s = {};
  s.life = lives_++;
  s.device = device;
}

void Edges::each_knowledge(const Questions::Use& use) const {
  for (const Thread& thread : threads_)
    use(thread.host), use(thread.work);
  for (const Stream& stream : streams_)
    use(stream.known);
  for (const Event& event : events_)
    if (event.life) use(event.life->recorded);
}

} // namespace hitproof::audit::order
