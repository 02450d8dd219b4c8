// The copies of RankSession: save and load.
#include "engine/runtime/rank_session.h"
#include "probes/hitproof.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

hitproof_transfer_t describe(uint64_t transfer, uint64_t request, const device::Stream& stream,
                             const KeyRef& key, int rank, uint16_t direction, uint32_t begin,
                             uint32_t boundary) {
  hitproof_transfer_t t{};
  t.transfer = transfer;
  t.request = request;
  t.stream = stream.get();
  t.key = key.key.data();
  t.rank = static_cast<uint16_t>(rank);
  t.direction = direction;
  t.token_begin = begin;
  t.token_end = boundary;
  t.boundary = boundary;
  t.next_token = key.next_token;
  return t;
}

// After a failed call the stream may still be copying: what the copies use is given up behind them,
// and kept for good where even that cannot be enqueued.
void give_up(const device::Stream& stream, std::function<void()> release) {
  try {
    device::enqueue(stream, std::move(release));
  } catch (const device::DeviceError&) {
  }
}

} // namespace

SaveReply RankSession::save(const Save& order) {
  const device::Stream& stream = streams_->save;
  std::vector<Wanted> wanted;
  std::vector<bool> named(registration_.entries.size());
  for (const PageRef& p : order.pages) {
    const EntryExport& e = entry(p.entry);
    (void)page(p.entry, p.block); // refuses a bad block before anything is reserved
    if (named[p.entry]) throw ProtocolError("a save that names entry " + e.name + " twice");
    named[p.entry] = true;
    wanted.push_back({object_name(e, p.entry, order.key.key, order.key.next_token), e.page_bytes});
  }
  Pending& pending = open_transfer(order.transfer, order.event);
  const std::vector<Reserved> pages = state_.store.reserve(wanted);

  SaveReply reply;
  reply.transfer = order.transfer;
  reply.refused = pages.empty() && !wanted.empty();
  for (const Reserved& p : pages)
    ++(p.held ? reply.held : reply.copied);
  ++state_.saves;
  if (reply.refused) ++state_.refused_saves;

  const hitproof_transfer_t t =
      describe(order.transfer, order.request, stream, order.key, registration_.rank, HITPROOF_SAVE,
               order.token_begin, order.boundary);
  HITPROOF_CALL(transfer, (&t));
  for (size_t i = 0; i < pages.size(); ++i)
    announce_page(order.transfer, order.pages[i], *pages[i].object, pages[i].held);
  try {
    // First the wait: whatever the probe puts on the stream reads the pages too.
    if (!broken(Break::save_no_producer_wait)) device::wait(stream, pending.producer);
    HITPROOF_CALL(transfer_ready, (order.transfer));
    copy_to_store(order, pages);
    HITPROOF_CALL(transfer_done, (order.transfer, pending.completion.get()));
    device::enqueue(stream, [&store = state_.store, pages] { store.commit(pages); });
  } catch (...) {
    give_up(stream, [&store = state_.store, pages] { store.abandon(pages); });
    throw;
  }
  pending.completion.record(stream);
  reply.event = pending.completion.export_handle();
  return reply;
}

void RankSession::copy_to_store(const Save& order, const std::vector<Reserved>& pages) {
  std::vector<device::Copy> copies;
  for (size_t i = 0; i < pages.size(); ++i) {
    if (pages[i].held) continue;
    const PageRef& p = order.pages[i];
    copies.push_back({pages[i].object->data, page(p.entry, p.block), pages[i].object->bytes});
  }
  device::copy_batch(copies, streams_->save);
}

LoadReply RankSession::load(const Load& order) {
  const device::Stream& stream = streams_->load;
  LoadReply reply;
  reply.transfer = order.transfer;
  std::vector<Object*> objects;
  for (const PageRef& p : order.pages) {
    if (p.chunk >= order.keys.size()) throw ProtocolError("a page of an unknown chunk");
    (void)page(p.entry, p.block);
    const KeyRef& key = order.keys[p.chunk];
    Object* object =
        state_.store.pin(object_name(entry(p.entry), p.entry, key.key, key.next_token), true);
    if (object == nullptr) {
      reply.error = "entry " + entry(p.entry).name + " of tokens [" +
                    std::to_string(p.token_begin) + "," + std::to_string(p.token_end) +
                    ") is not held";
      state_.store.unpin(objects);
      return reply;
    }
    objects.push_back(object);
  }
  state_.release(registration_.instance, order.request, registration_.rank);
  Pending& pending = open_transfer(order.transfer, order.event);
  ++state_.loads;

  const KeyRef none;
  const hitproof_transfer_t t =
      describe(order.transfer, order.request, stream, order.keys.empty() ? none : order.keys.back(),
               registration_.rank, HITPROOF_LOAD, order.token_begin, order.boundary);
  HITPROOF_CALL(transfer, (&t));
  for (size_t i = 0; i < objects.size(); ++i)
    announce_page(order.transfer, order.pages[i], *objects[i], false);
  try {
    // The destinations may still be in use by work the rank has enqueued; the poison must not come
    // before its end.
    device::wait(stream, pending.producer);
    HITPROOF_CALL(transfer_ready, (order.transfer));
    copy_from_store(order, objects);
    HITPROOF_CALL(transfer_done, (order.transfer, pending.completion.get()));
    device::enqueue(stream, [&store = state_.store, objects] { store.unpin(objects); });
  } catch (...) {
    give_up(stream, [&store = state_.store, objects] { store.unpin(objects); });
    throw;
  }
  pending.completion.record(stream);
  reply.event = pending.completion.export_handle();
  return reply;
}

void RankSession::copy_from_store(const Load& order, const std::vector<Object*>& objects) {
  std::vector<device::Copy> copies;
  bool one_is_broken = false;
  for (size_t i = 0; i < objects.size(); ++i) {
    const PageRef& p = order.pages[i];
    const EntryExport& e = entry(p.entry);
    device::Copy copy{page(p.entry, p.block), objects[i]->data, objects[i]->bytes};
    // The broken engines spoil the first MLA page of a load; what was announced stays as it should
    // have been.
    if (!one_is_broken && e.kind == HITPROOF_ENTRY_MLA && broken_ != Break::none) {
      one_is_broken = true;
      if (broken(Break::load_wrong_block))
        copy.to = page(p.entry, p.block + 1 < e.num_pages ? p.block + 1 : p.block - 1);
      if (broken(Break::copy_short_row)) copy.bytes -= e.row_bytes;
    }
    if (broken(Break::load_skip_entry) && p.entry == 0) continue;
    copies.push_back(copy);
  }
  device::copy_batch(copies, streams_->load);
}

} // namespace hitproof::engine
