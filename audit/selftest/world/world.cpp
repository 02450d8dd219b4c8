#include "audit/selftest/world/world.h"

#include <stdexcept>

namespace hitproof::audit::selftest {

using namespace schema::rec;
using schema::set_text;

int Entries::kind_of(int entry) const {
  if (entry < first_indexer()) return 0;
  if (entry < first_state()) return 1;
  return entry < first_tail() ? 2 : 3;
}

std::uint64_t Entries::page_bytes_of(int entry) const {
  const std::uint64_t bytes[] = {mla_page, index_page, mla_page, tail_bytes};
  return bytes[kind_of(entry)];
}

std::uint64_t Entries::page_stride_of(int entry) const {
  const int kind = kind_of(entry);
  return kind == 0 || kind == 2 ? mla_page : index_page;
}

std::uint64_t Entries::content_bytes_of(int entry) const {
  return kind_of(entry) == 2 ? state_content : page_bytes_of(entry);
}

schema::Digest digest_of(const std::string& text) { return schema::sha256(text); }

void RowWriter::insert(std::uint16_t type, const void* row, std::uint32_t pid, std::uint32_t tid,
                       std::uint64_t t_ns) {
  const schema::Origin origin{pid, tid, ++seq_[{pid, tid}], t_ns};
  const auto status = recording_.insert(type, row, origin);
  if (!status.ok()) throw std::runtime_error(status.to_string());
}

std::uint64_t World::base(bool in_server, int r, int entry) const {
  const int kind = spec.entries.kind_of(entry);
  int region = entry;
  if (kind == 1) region = entry - spec.entries.first_indexer() + 100;
  if (kind == 2) region = (entry - spec.entries.first_state()) / 3;
  if (kind == 3) region = entry - spec.entries.first_tail() + 100;
  const std::uint64_t process =
      in_server ? 0x2000'0000'0000 + static_cast<std::uint64_t>(r) * 0x100'0000'0000
                : 0x1000'0000'0000;
  return process + static_cast<std::uint64_t>(region) * 0x4000'0000;
}

void World::order_op(std::uint32_t pid, std::uint8_t op, std::uint64_t stream, std::uint64_t event,
                     std::uint64_t lasts, const schema::Digest& handle) {
  schema::rec::order_op o;
  o.stream = stream;
  o.event = event;
  o.op = op;
  o.handle = handle;
  const std::uint64_t began = tick();
  o.end_ns = tick(lasts);
  rows.add(o, pid, pid, began);
}

World::Event World::create_event(std::uint32_t pid) {
  Event e;
  e.pid = pid;
  e.address = 0xe000; // the allocator gives the same address again and again
  e.handle = digest_of("handle " + std::to_string(next_event_++ % 3));
  order_op(pid, 0, 0, e.address);
  return e;
}

void World::record_and_export(const Event& event, std::uint64_t stream) {
  order_op(event.pid, 2, stream, event.address);
  order_op(event.pid, 12, 0, event.address, 500, event.handle);
}

std::uint64_t World::open_event(const Event& event, std::uint32_t pid) {
  const std::uint64_t address = 0xf000;
  order_op(pid, 13, 0, address, 500, event.handle);
  return address;
}

void World::announce_processes() {
  const auto one = [&](std::uint32_t pid, const char* role, int r) {
    process p;
    set_text(p.role, role);
    p.rank = r;
    p.mode = 1 | (spec.content_probes ? 2 | 4 | 8 | 32 : 0) | (spec.delays ? 16 : 0);
    rows.add(p, pid, pid, tick());
    meta began;
    set_text(began.name, "probe.version");
    set_text(began.value, "selftest");
    rows.add(began, pid, pid, tick());
    hook h;
    h.id = copy_hook;
    h.level = 1;
    h.installed = 1;
    set_text(h.name, "cuMemcpyBatchAsync");
    rows.add(h, pid, pid, tick());
  };
  one(front(), "front", -1);
  for (int r = 0; r < spec.ranks; ++r) {
    one(rank(r), "rank", r);
    for (const char* name : {"weights", "geometry", "rank"}) {
      content_input c;
      c.rank = static_cast<std::uint16_t>(r);
      set_text(c.name, name);
      c.value = digest_of(std::string(name) + std::to_string(r));
      rows.add(c, rank(r), rank(r), tick());
    }
    for (int choice = 0; choice < 7; ++choice) {
      profile f;
      f.rank = static_cast<std::uint16_t>(r);
      set_text(f.name, "choice" + std::to_string(choice));
      set_text(f.recorded, "64");
      set_text(f.selected, "64");
      rows.add(f, rank(r), rank(r), tick());
    }
  }
  if (!control()) one(server(), "cache_server", -1);
}

void World::announce_entries() {
  for (int side = 0; side < (control() ? 1 : 2); ++side) {
    for (int r = 0; r < spec.ranks; ++r) {
      const std::uint32_t pid = side == 0 ? rank(r) : server();
      for (int i = 0; i < spec.entries.count(); ++i) {
        const int kind = spec.entries.kind_of(i);
        entry e;
        e.base = base(side == 1, r, i);
        e.page_stride = spec.entries.page_stride_of(i);
        e.page_bytes = spec.entries.page_bytes_of(i);
        e.content_bytes = spec.entries.content_bytes_of(i);
        e.num_pages = 4000;
        e.tokens_per_page = spec.chunk;
        e.rank = static_cast<std::uint16_t>(r);
        e.entry = static_cast<std::uint16_t>(i);
        e.kind = static_cast<std::uint8_t>(kind);
        const int groups[] = {0, 1, 3 + (i - spec.entries.first_state()) % 3, 2};
        e.transfer_group = static_cast<std::uint8_t>(groups[kind]);
        e.transferred = 1;
        e.key_scope = i == spec.entries.first_indexer() - 1 ||
                      i == spec.entries.first_state() - 1 || i == spec.entries.count() - 1;
        e.origin = static_cast<std::uint8_t>(side);
        set_text(e.name, "entries." + std::to_string(i));
        rows.add(e, pid, pid, tick());
        entry_shape s;
        s.rank = e.rank;
        s.entry = e.entry;
        s.ndim = 3;
        s.element_bytes = 2;
        s.shape0 = 2, s.shape1 = 4, s.shape2 = 32;
        s.stride0 = 128, s.stride1 = 32, s.stride2 = 1;
        rows.add(s, pid, pid, tick());
      }
    }
  }
}

void World::announce_end() {
  for (int r = 0; r < spec.ranks; ++r) {
    for (int choice = 0; choice < 7; ++choice) {
      profile f;
      f.rank = static_cast<std::uint16_t>(r);
      f.phase = 1;
      set_text(f.name, "choice" + std::to_string(choice));
      set_text(f.recorded, "64");
      set_text(f.selected, "64");
      rows.add(f, rank(r), rank(r), tick());
    }
  }
  std::vector<std::uint32_t> pids = {front()};
  for (int r = 0; r < spec.ranks; ++r)
    pids.push_back(rank(r));
  if (!control()) pids.push_back(server());
  for (const std::uint32_t pid : pids) {
    for (const char* name : {"cuMemcpyBatchAsync", "path:pinned_kernel", "hooks"}) {
      coverage c;
      set_text(c.name, name);
      c.installed = 1;
      c.calls = name[0] == 'p' ? 0 : 10;
      rows.add(c, pid, pid, tick());
    }
  }
}

} // namespace hitproof::audit::selftest
