#include "tests/audit/order_calls.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <tuple>

namespace hitproof::audit::order {

using enum What;

Record& Recording::call(What what, std::int64_t process, std::int64_t on_stream,
                        std::int64_t of_event) {
  Record r;
  r.what = what;
  r.process = r.thread = process;
  r.seq = static_cast<std::int64_t>(records_.size()) + 1;
  r.began = now_ + 1;
  r.ended = now_ += 10;
  r.stream = on_stream;
  r.event = of_event;
  r.device = 0;
  records_.push_back(r);
  return records_.back();
}

Record& Recording::copy(std::int64_t transfer, std::int64_t process, std::int64_t on_stream) {
  Record& r = call(What::copy, process, on_stream);
  r.transfer = transfer;
  r.device = -1;
  return r;
}

void Recording::pass_on(std::int64_t of_event, std::int64_t from, std::int64_t to,
                        std::uint32_t handle) {
  call(What::event_export, from, 0, of_event).handle = handle;
  call(What::event_open, to, 0, of_event).handle = handle;
}

Record& Recording::step(std::int64_t process) {
  Record& r = call(What::step, process);
  r.ended = r.began; // the work's end is not known
  return r;
}

Records Recording::sorted() const {
  std::vector<std::size_t> order(records_.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(records_[a].began, records_[a].ended) <
           std::tie(records_[b].began, records_[b].ended);
  });
  Records out;
  out.asked = asked_;
  for (std::size_t i = 0; i < order.size(); ++i) {
    out.records.push_back(records_[order[i]]);
    for (std::size_t q = 0; q < asked_.size(); ++q)
      if (asked_[q].step == order[i]) out.asked[q].step = static_cast<std::uint32_t>(i);
  }
  return out;
}

Answers Recording::answers() const {
  const Records records = sorted();
  return walk(records, numbered(records.records));
}

std::vector<What> Recording::path() const {
  const Records records = sorted();
  const Numbered numbers = numbered(records.records);
  const Traced traced[] = {{0, walk(records, numbers).answers.at(0).source}};
  std::vector<What> out;
  const Answers found = walk(records, numbers, traced);
  for (const std::uint32_t i : found.answers.at(0).path)
    out.push_back(records.records[i].what);
  return out;
}

void Recording::ask(bool is_load, std::int64_t transfer) {
  asked_.push_back({is_load, transfer, 0, 1, static_cast<std::uint32_t>(records_.size() - 1)});
}

Recording load_of_another_process(What how) {
  Recording r;
  r.copy(load, server, stream);
  r.call(event_create, server, 0, event);
  r.call(event_record, server, stream, event);
  r.pass_on(event, server, rank, 1);
  r.call(how, rank, 0, event);
  r.step(rank);
  r.read();
  return r;
}

Recording save_of_another_process() {
  Recording r;
  r.call(event_create, rank, 0, event);
  r.step(rank);
  r.wrote();
  r.call(event_record, rank, rank_stream, event);
  r.pass_on(event, rank, server, 1);
  r.call(stream_wait, server, stream, event);
  r.copy(save, server, stream);
  return r;
}

void expect_all_needed(const Recording& way, std::size_t records) {
  ASSERT_TRUE(way.proved());
  for (std::size_t without = 0; without < records; ++without) {
    Recording cut = way;
    Record& left_out = cut.records()[without];
    if (left_out.what == step) continue;
    left_out.what = write_value; // which orders nothing
    left_out.transfer = 0;
    EXPECT_FALSE(cut.proved()) << "record " << without << " left out";
  }
}

} // namespace hitproof::audit::order
