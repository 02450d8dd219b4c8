#include "engine/runtime/connector.h"

#include "engine/runtime/keys.h"
#include "probes/hitproof.h"
#include "schema/clock.h"

#include <algorithm>

namespace hitproof::engine {
namespace {

constexpr int wait_for_save = 0;
constexpr int wait_for_load = 1;

PageRef page_ref(const CacheEntry& entry, size_t chunk, const BlockRef& block, uint32_t begin,
                 uint32_t end) {
  return {static_cast<uint16_t>(entry.index),
          static_cast<uint16_t>(chunk),
          static_cast<uint32_t>(block.block),
          block.generation,
          begin,
          end};
}

bool per_chunk(const CacheEntry& entry) {
  return entry.kind == EntryKind::mla || entry.kind == EntryKind::indexer;
}

template <class Order> const BlockRef& state_or_tail(const CacheEntry& entry, const Order& order) {
  return entry.kind == EntryKind::tail ? order.tail
                                       : order.state[static_cast<size_t>(entry.engine_group - 2)];
}

bool same_memory(const CacheEntry& a, const CacheEntry& b) {
  return a.region_kind == b.region_kind && a.region == b.region;
}

} // namespace

Connector::Connector(const Options& options, const CacheGeometry& geometry,
                     const RankMemory& memory, Channel server, std::vector<NamedDigest> key_inputs)
    : options_(options), geometry_(geometry), memory_(memory), server_(std::move(server)),
      key_inputs_(std::move(key_inputs)) {
  if (options_.broken == Break::key_omits_weights)
    std::erase_if(key_inputs_, [](const NamedDigest& input) { return input.first == "weights"; });
  Register registration;
  registration.instance = options_.instance;
  registration.rank = options_.rank;
  registration.tp = options_.tp;
  registration.gpu = options_.gpu;
  registration.key_inputs = key_inputs_;
  registration.break_name = options_.break_name;
  memory_.describe(registration);
  server_.send(registration);
  server_.expect<Registered>();
}

Digest Connector::key_of(const Digest& prefix) {
  const Digest key = make_key(key_inputs_, prefix);
  if (announced_keys_.insert(key).second) announce_key(key, options_.rank, key_inputs_, prefix);
  return key;
}

std::vector<PageRef> Connector::pages_of(const SaveOrder& order) const {
  std::vector<PageRef> pages;
  const auto chunk = static_cast<uint32_t>(geometry_.block_tokens);
  for (const CacheEntry& e : geometry_.entries) {
    const bool attention = per_chunk(e);
    pages.push_back(page_ref(e, 0, attention ? order.attention : state_or_tail(e, order),
                             attention ? order.boundary - chunk : 0, order.boundary));
  }
  return pages;
}

std::vector<PageRef> Connector::pages_of(const LoadOrder& order) const {
  std::vector<PageRef> pages;
  const auto chunk = static_cast<uint32_t>(geometry_.block_tokens);
  for (const CacheEntry& e : geometry_.entries) {
    if (!per_chunk(e)) {
      pages.push_back(
          page_ref(e, order.chunks.size() - 1, state_or_tail(e, order), 0, order.boundary));
      continue;
    }
    for (size_t c = 0; c < order.chunks.size(); ++c) {
      const uint32_t begin = order.token_begin + static_cast<uint32_t>(c) * chunk;
      pages.push_back(page_ref(e, c, order.attention[c], begin, begin + chunk));
    }
  }
  return pages;
}

void Connector::begin_loads(uint64_t step, const std::vector<LoadOrder>& orders,
                            const device::Stream& compute) {
  if (orders.empty()) return;
  std::vector<WrittenBlock> written;
  for (const LoadOrder& order : orders) {
    const size_t span = order.chunks.size() * static_cast<size_t>(geometry_.block_tokens);
    if (order.chunks.empty() || order.attention.size() != order.chunks.size() ||
        order.token_begin + span != order.boundary)
      throw ProtocolError("a load order whose chunks do not end at its boundary");
    for (const BlockRef& b : order.attention)
      written.push_back({0, b.block});
    written.push_back({1, order.tail.block});
    for (int g = 0; g < num_state_groups; ++g)
      written.push_back({2 + g, order.state[static_cast<size_t>(g)].block});
  }
  announce_reuse(step, written);
  device::Event ready = device::Event::interprocess();
  ready.record(compute);
  const Bytes handle = ready.export_handle();
  step_events_.push_back(std::move(ready));
  for (const LoadOrder& order : orders) {
    Load load;
    load.transfer = order.transfer;
    load.request = order.request;
    load.token_begin = order.token_begin;
    load.boundary = order.boundary;
    for (const ChunkKey& chunk : order.chunks)
      load.keys.push_back({key_of(chunk.prefix), chunk.next_token});
    load.pages = pages_of(order);
    load.event = handle;
    const auto pages = static_cast<uint32_t>(load.pages.size());
    server_.send(load);
    const auto reply = server_.expect<LoadReply>();
    if (!reply.error.empty())
      throw std::runtime_error("load of request " + std::to_string(order.request) + ": " +
                               reply.error);
    loads_.push_back(
        {order.request, device::Event::import(reply.event), {order.transfer, pages, 0, false}});
  }
}

std::vector<TransferResult> Connector::finish_loads() {
  return finish(loads_, wait_for_load, true);
}

void Connector::begin_saves(const std::vector<SaveOrder>& orders,
                            const std::vector<uint32_t>& next_tokens,
                            const device::Stream& compute) {
  if (orders.empty()) return;
  device::Event produced = device::Event::interprocess();
  produced.record(compute);
  const Bytes handle = produced.export_handle();
  step_events_.push_back(std::move(produced));
  for (size_t i = 0; i < orders.size(); ++i) {
    const SaveOrder& order = orders[i];
    Save save;
    save.transfer = order.transfer;
    save.request = order.request;
    save.token_begin = order.boundary - static_cast<uint32_t>(geometry_.block_tokens);
    save.boundary = order.boundary;
    save.key = {key_of(order.prefix), next_tokens[i]};
    save.pages = pages_of(order);
    save.event = handle;
    server_.send(save);
    const auto reply = server_.expect<SaveReply>();
    saves_.push_back({order.request,
                      device::Event::import(reply.event),
                      {order.transfer, reply.copied, reply.held, reply.refused}});
    name_pages(order);
  }
}

std::vector<TransferResult> Connector::finish_saves() {
  return finish(saves_, wait_for_save, options_.broken != Break::save_no_wait);
}

std::vector<TransferResult> Connector::finish(std::vector<Open>& open, int kind, bool wait) {
  std::vector<TransferResult> results;
  for (Open& transfer : open) {
    if (wait) {
      const uint64_t begin = schema::now();
      transfer.completion.synchronize();
      HITPROOF_CALL(wait, (transfer.result.transfer, transfer.request, options_.rank, kind,
                           transfer.completion.get(), begin, schema::now()));
    }
    server_.send(Ack{transfer.result.transfer});
    results.push_back(transfer.result);
  }
  open.clear();
  if (wait && loads_.empty() && saves_.empty()) step_events_.clear();
  return results;
}

void Connector::name_pages(const SaveOrder& order) {
  const auto note = [&](int32_t block, const CacheEntry& entry) {
    Named& named = named_[block];
    if (named.transfer != order.transfer) named = {order.transfer, {}};
    named.entries.push_back(&entry);
  };
  for (const CacheEntry& e : geometry_.entries)
    note(per_chunk(e) ? order.attention.block : state_or_tail(e, order).block, e);
}

void Connector::announce_reuse(uint64_t step, const std::vector<WrittenBlock>& written) {
  for (const WrittenBlock& w : written) {
    const auto at = named_.find(w.block);
    if (at == named_.end()) continue;
    Named& named = at->second;
    // A block id goes from group to group, and so do the bytes: what counts is the region, not the
    // entry's name.
    std::erase_if(named.entries, [&](const CacheEntry* saved) {
      const bool hit = std::any_of(
          geometry_.entries.begin(), geometry_.entries.end(), [&](const CacheEntry& writer) {
            return writer.engine_group == w.engine_group && same_memory(writer, *saved);
          });
      if (hit)
        HITPROOF_CALL(reuse, (named.transfer, step, static_cast<uint32_t>(w.block), options_.rank,
                              saved->index));
      return hit;
    });
    if (named.entries.empty()) named_.erase(at);
  }
}

} // namespace hitproof::engine
