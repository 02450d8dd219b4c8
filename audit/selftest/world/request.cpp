// A request's way through the synthetic study, as records.
#include "audit/selftest/world/world.h"

#include <algorithm>
#include <set>

namespace hitproof::audit::selftest {

using namespace schema::rec;

namespace {

int engine_group_of(const Entries& entries, int entry) {
  switch (entries.kind_of(entry)) {
  case 2:
    return 2 + (entry - entries.first_state()) % 3;
  case 3:
    return 1;
  default:
    return 0;
  }
}

} // namespace

std::uint32_t RequestRun::block_for(int entry, std::uint32_t boundary) {
  const int group = engine_group_of(w_.spec.entries, entry);
  auto& id = blocks_[{group, boundary}];
  if (id != 0) return id;
  id = w_.new_block();
  block b;
  b.request = request_;
  b.block = id;
  b.generation = 1;
  b.engine_group = static_cast<std::uint16_t>(group);
  b.token_begin = boundary - w_.spec.chunk;
  b.token_end = boundary;
  w_.rows.add(b, w_.front(), w_.front(), w_.tick());
  return id;
}

schema::Digest RequestRun::content(int rank, int entry, std::uint32_t token_end, bool whole) const {
  return digest_of(prompt_ + " rank " + std::to_string(rank) + " entry " + std::to_string(entry) +
                   " at " + std::to_string(token_end) + (whole ? " page" : " content"));
}

void RequestRun::admit(bool cached) {
  const std::uint32_t c = w_.spec.chunk;
  schema::rec::request r;
  r.request = request_;
  r.prompt = digest_of(prompt_);
  r.prompt_tokens = n_;
  r.max_tokens = w_.spec.tokens;
  w_.rows.add(r, w_.front(), w_.front(), w_.tick());
  std::uint32_t answer = 0;
  if (cached && !w_.control()) {
    answer = w_.spec.full_lookup ? n_ / c * c : (n_ - 1) / c * c;
    boundary_ = answer;
    computed_ = std::min(answer, n_ - 1);
  }
  if (!w_.control()) {
    lookup l;
    l.lookup = request_;
    l.request = request_;
    l.query_tokens = n_;
    l.answer_tokens = answer;
    l.mode = w_.spec.full_lookup;
    w_.rows.add(l, w_.server(), w_.server(), w_.tick());
    for (int rank = 0; rank < w_.spec.ranks; ++rank) {
      for (std::uint16_t group = 0; group < 6; ++group) {
        lookup_answer a;
        a.lookup = request_;
        a.rank = static_cast<std::uint16_t>(rank);
        a.transfer_group = group;
        a.answer_tokens = answer;
        w_.rows.add(a, w_.server(), w_.server(), w_.tick());
      }
    }
  }
  admission a;
  a.request = request_;
  a.lookup = answer > 0 ? request_ : 0;
  a.external_hit = answer;
  a.label_boundary = boundary_;
  a.computed = computed_;
  // The next stop after p: a multiple of the chunk or the prompt's end.
  a.scheduled = std::min(n_, (computed_ / c + 1) * c) - computed_;
  a.source = answer > 0 ? 2 : 0;
  w_.rows.add(a, w_.front(), w_.front(), w_.tick());
}

void RequestRun::digests(int rank, std::uint64_t transfer, int direction, int entry,
                         std::uint32_t block, std::uint32_t token_end) {
  if (!w_.spec.content_probes) return;
  for (int moment = 0; moment < 2; ++moment) {
    page_digest d;
    d.transfer = transfer;
    d.content = content(rank, entry, token_end, false);
    d.page = content(rank, entry, token_end, true);
    d.nonzero = w_.spec.entries.content_bytes_of(entry) / 2;
    d.block = block;
    d.bytes = static_cast<std::uint32_t>(w_.spec.entries.page_bytes_of(entry));
    d.rank = static_cast<std::uint16_t>(rank);
    d.entry = static_cast<std::uint16_t>(entry);
    d.place = static_cast<std::uint8_t>(moment == 0 ? direction : 1 - direction);
    d.moment = static_cast<std::uint8_t>(moment);
    d.token_end = token_end;
    w_.rows.add(d, w_.server(), w_.stream_thread(rank), w_.now);
  }
  page_compare c;
  c.transfer = transfer;
  c.content_bytes = w_.spec.entries.content_bytes_of(entry);
  c.padding_bytes = w_.spec.entries.page_bytes_of(entry) - w_.spec.entries.content_bytes_of(entry);
  c.first_differ = -1;
  c.block = block;
  c.token_end = token_end;
  c.rank = static_cast<std::uint16_t>(rank);
  c.entry = static_cast<std::uint16_t>(entry);
  c.direction = static_cast<std::uint16_t>(direction);
  w_.rows.add(c, w_.server(), w_.stream_thread(rank), w_.now);
}

namespace {

struct Announced {
  World& w;
  int rank;
  std::uint64_t transfer;

  void mark(std::uint16_t kind, std::uint32_t thread, std::uint64_t value = 0,
            std::uint64_t event = 0) const {
    transfer_mark m;
    m.transfer = transfer;
    m.kind = kind;
    m.value = value;
    m.event = event;
    w.rows.add(m, w.server(), thread, w.tick());
  }

  // One announced page and, unless it is held, the copy that moves it.
  void page(int entry, std::uint32_t block, std::uint32_t token_begin, std::uint32_t token_end,
            std::uint64_t object, bool held) const {
    transfer_page p;
    p.transfer = transfer;
    p.device_address = w.page(true, rank, entry, block);
    p.host_address = 0x6000'0000'0000 + object * 0x10'0000;
    p.host_object = object;
    p.bytes = w.spec.entries.page_bytes_of(entry);
    p.block = block;
    p.generation = 1;
    p.token_begin = token_begin;
    p.token_end = token_end;
    p.rank = static_cast<std::uint16_t>(rank);
    p.entry = static_cast<std::uint16_t>(entry);
    p.held = held;
    w.rows.add(p, w.server(), w.server(), w.tick(10));
  }

  void copy_page(int direction, int entry, std::uint32_t block, std::uint64_t object) const {
    const std::uint64_t device = w.page(true, rank, entry, block),
                        host = 0x6000'0000'0000 + object * 0x10'0000;
    copy c;
    c.src = direction == 0 ? device : host;
    c.dst = direction == 0 ? host : device;
    c.bytes = w.spec.entries.page_bytes_of(entry);
    c.stream = w.stream(rank);
    c.transfer = transfer;
    c.call = copy_hook;
    c.batch_count = 1;
    c.block = block;
    c.entry = static_cast<std::uint16_t>(entry);
    c.direction = static_cast<std::uint8_t>(direction);
    c.access_order = 1;
    const std::uint64_t began = w.tick(10);
    c.end_ns = w.tick(10);
    w.rows.add(c, w.server(), w.server(), began);
  }

  // The rank synchronises with the completion event and says so.
  void wait(std::uint64_t request, std::uint16_t kind, const World::Event& completion,
            std::uint64_t lasts) const {
    const std::uint64_t opened = w.open_event(completion, w.rank(rank));
    const std::uint64_t began = w.tick();
    w.order_op(w.rank(rank), 4, 0, opened, lasts);
    schema::rec::wait x;
    x.transfer = transfer;
    x.request = request;
    x.end_ns = w.tick();
    x.event = opened;
    x.rank = static_cast<std::uint16_t>(rank);
    x.kind = kind;
    w.rows.add(x, w.rank(rank), w.rank(rank), began);
    w.order_op(w.rank(rank), 1, 0, opened);
    w.order_op(w.server(), 1, 0, completion.address);
  }
};

} // namespace

void RequestRun::load(int rank) {
  const std::uint32_t c = w_.spec.chunk;
  const Announced t{w_, rank, w_.new_transfer(rank)};
  loads_[rank] = t.transfer;
  std::vector<std::pair<int, std::uint32_t>> pages; // entry, end of the tokens
  for (int i = 0; i < w_.spec.entries.first_state(); ++i) {
    for (std::uint32_t end = c; end <= boundary_; end += c)
      pages.emplace_back(i, end);
  }
  for (int i = w_.spec.entries.first_state(); i < w_.spec.entries.count(); ++i)
    pages.emplace_back(i, boundary_);
  for (const auto& [entry, end] : pages)
    block_for(entry, end);

  const auto producer = w_.create_event(w_.rank(rank));
  w_.record_and_export(producer, w_.rank_stream());
  const std::uint64_t opened = w_.open_event(producer, w_.server());
  w_.order_op(w_.server(), 5, w_.stream(rank), opened);
  transfer x;
  x.transfer = t.transfer;
  x.request = request_;
  x.stream = w_.stream(rank);
  x.key = digest_of(key_name(boundary_) + std::to_string(rank));
  x.rank = static_cast<std::uint16_t>(rank);
  x.direction = 1;
  x.token_end = boundary_;
  x.boundary = boundary_;
  x.pages = static_cast<std::uint32_t>(pages.size());
  w_.rows.add(x, w_.server(), w_.server(), w_.tick());
  t.mark(0, w_.server());
  for (const auto& [entry, end] : pages) {
    t.page(entry, block_for(entry, end), end - c, end, w_.objects[{rank, key_name(end)}][entry],
           false);
  }
  const std::uint64_t poisoned = w_.tick();
  for (const auto& [entry, end] : pages)
    t.copy_page(1, entry, block_for(entry, end), w_.objects[{rank, key_name(end)}][entry]);
  for (const auto& [entry, end] : pages) {
    digests(rank, t.transfer, 1, entry, block_for(entry, end), end);
    if (!w_.spec.content_probes) continue;
    page_poison q;
    q.transfer = t.transfer;
    q.page_bytes = q.verified_bytes = w_.spec.entries.page_bytes_of(entry);
    q.first_residue = -1;
    q.poison_ns = poisoned;
    q.block = block_for(entry, end);
    q.generation = 1;
    q.token_end = end;
    q.rank = static_cast<std::uint16_t>(rank);
    q.entry = static_cast<std::uint16_t>(entry);
    w_.rows.add(q, w_.server(), w_.stream_thread(rank), w_.now);
  }
  t.mark(3, w_.stream_thread(rank));
  const auto completion = w_.create_event(w_.server());
  t.mark(5, w_.server(), 0, completion.address);
  w_.record_and_export(completion, w_.stream(rank));
  t.wait(request_, 1, completion, 5000);
  if (!w_.spec.content_probes) return;
  for (int i = w_.spec.entries.first_tail(); i < w_.spec.entries.count(); ++i) {
    tail_read r;
    r.request = request_;
    r.transfer = t.transfer;
    r.block = block_for(i, boundary_);
    r.effective = w_.page(false, rank, i, r.block);
    r.naive = w_.base(false, rank, i) + r.block * tail_bytes;
    r.elements = 256;
    r.nonzero = 200;
    r.rank = static_cast<std::uint16_t>(rank);
    r.entry = static_cast<std::uint16_t>(i);
    r.stride0 = 128, r.stride1 = 32, r.stride2 = 1, r.ring = 4;
    w_.rows.add(r, w_.rank(rank), w_.rank(rank), w_.tick());
  }
}

void RequestRun::save(int rank, std::uint32_t boundary, std::uint64_t step_began) {
  const Announced t{w_, rank, w_.new_transfer(rank)};
  auto& objects = w_.objects[{rank, key_name(boundary)}];
  const bool held = !objects.empty();
  const auto producer = w_.create_event(w_.rank(rank));
  w_.record_and_export(producer, w_.rank_stream());
  const std::uint64_t opened = w_.open_event(producer, w_.server());
  w_.order_op(w_.server(), 5, w_.stream(rank), opened);
  transfer x;
  x.transfer = t.transfer;
  x.request = request_;
  x.stream = w_.stream(rank);
  x.key = digest_of(key_name(boundary) + std::to_string(rank));
  x.rank = static_cast<std::uint16_t>(rank);
  x.token_begin = boundary - w_.spec.chunk;
  x.token_end = boundary;
  x.boundary = boundary;
  x.next_token = boundary;
  x.pages = static_cast<std::uint32_t>(w_.spec.entries.count());
  w_.rows.add(x, w_.server(), w_.server(), w_.tick());
  if (!held) {
    for (const char* name : {"weights", "geometry", "rank", "prefix"}) {
      key_input k;
      k.key = x.key;
      k.rank = x.rank;
      schema::set_text(k.name, name);
      k.value = std::string(name) == "prefix" ? digest_of(key_name(boundary))
                                              : digest_of(name + std::to_string(rank));
      w_.rows.add(k, w_.server(), w_.server(), w_.tick());
    }
  }
  t.mark(0, w_.server());
  for (int i = 0; i < w_.spec.entries.count(); ++i) {
    if (!held) objects[i] = w_.new_object();
    t.page(i, block_for(i, boundary), boundary - w_.spec.chunk, boundary, objects[i], held);
  }
  const std::uint64_t delay = static_cast<std::uint64_t>(w_.spec.delay_ms) * 1'000'000;
  if (w_.spec.delays) t.mark(1, w_.stream_thread(rank), delay);
  for (int i = 0; i < w_.spec.entries.count() && !held; ++i)
    t.copy_page(0, i, block_for(i, boundary), objects[i]);
  const auto completion = w_.create_event(w_.server());
  t.mark(5, w_.server(), 0, completion.address);
  w_.record_and_export(completion, w_.stream(rank));
  const std::uint64_t wait_began = w_.now;
  if (w_.spec.delays) {
    w_.tick(delay);
    t.mark(2, w_.stream_thread(rank));
  }
  for (int i = 0; i < w_.spec.entries.count() && !held; ++i)
    digests(rank, t.transfer, 0, i, block_for(i, boundary), boundary);
  t.mark(3, w_.stream_thread(rank));
  const std::uint64_t complete = w_.now;
  w_.now = wait_began; // the rank begins to wait while the device still works
  t.wait(request_, 0, completion, complete - wait_began + 1000);
}

void RequestRun::step(std::uint32_t start, std::uint32_t tokens, std::uint64_t reads) {
  const std::uint64_t number = w_.tick();
  const std::uint32_t end = start + tokens, c = w_.spec.chunk;
  const bool checkpoint = end % c == 0;
  for (int i = 0; i < w_.spec.entries.count() && checkpoint; ++i)
    block_for(i, end);
  for (int r = 0; r < w_.spec.ranks; ++r) {
    const std::uint64_t began = w_.tick();
    schema::rec::step s;
    s.step = number;
    s.rank = static_cast<std::uint16_t>(r);
    s.requests = 1;
    s.tokens = tokens;
    s.end_ns = w_.tick(10'000);
    w_.rows.add(s, w_.rank(r), w_.rank(r), began);
    step_request q;
    q.step = number;
    q.request = request_;
    q.rank = s.rank;
    q.start = start;
    q.tokens = tokens;
    q.accepted = tokens;
    q.prompt_tokens = n_;
    q.transfer = reads ? loads_[r] : 0;
    w_.rows.add(q, w_.rank(r), w_.rank(r), began);
    if (!checkpoint || w_.control()) continue;
    for (int i = w_.spec.entries.first_state(); i < w_.spec.entries.first_tail(); ++i) {
      state x;
      x.request = request_;
      x.address = w_.page(false, r, i, block_for(i, end));
      if (w_.spec.content_probes) x.content = content(r, i, end, false);
      x.block = block_for(i, end);
      x.generation = 1;
      x.tokens = end;
      x.rank = s.rank;
      x.entry = static_cast<std::uint16_t>(i);
      x.step = number;
      w_.rows.add(x, w_.rank(r), w_.rank(r), w_.tick(10));
    }
    save(r, end, began);
  }
}

void RequestRun::run(bool cached) {
  admit(cached);
  const std::uint32_t c = w_.spec.chunk;
  if (boundary_ > 0) {
    for (int r = 0; r < w_.spec.ranks; ++r)
      load(r);
  }
  bool reads = boundary_ > 0;
  for (std::uint32_t p = computed_; p < n_;) {
    const std::uint32_t end = std::min(n_, (p / c + 1) * c);
    step(p, end - p, reads);
    reads = false;
    p = end;
  }
  for (std::uint32_t i = 1; i < w_.spec.tokens; ++i)
    step(n_ + i - 1, 1, 0);
}

} // namespace hitproof::audit::selftest
