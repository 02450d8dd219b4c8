#include "engine/runtime/rank_session.h"

#include "probes/hitproof.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace hitproof::engine {
namespace {

constexpr auto drain_time = std::chrono::seconds(5);

} // namespace

RankSession::RankSession(ServerState& state, Channel& channel, Register registration)
    : state_(state), channel_(channel), registration_(std::move(registration)),
      broken_(registration_.break_name.empty() ? state.broken
                                               : find_break(registration_.break_name)) {
  device::select(registration_.gpu);
  info_ = std::make_shared<RankInfo>(RankInfo{registration_.instance, registration_.rank,
                                              registration_.key_inputs, registration_.entries});
  for (const EntryExport& e : registration_.entries) {
    if (e.transfer_group >= transfer_groups || e.allocation >= registration_.allocations.size() ||
        e.offset + e.page_stride * (e.num_pages == 0 ? 0 : e.num_pages - 1) + e.page_bytes >
            registration_.allocations[e.allocation].bytes)
      throw ProtocolError("entry " + e.name + " does not fit its allocation");
  }
  state_.add(info_);
  try {
    import_memory();
    streams_ = std::make_unique<Streams>();
    channel_.send(Registered{.limit_bytes = [this] {
      Stats stats;
      state_.store.fill(stats);
      return stats.limit_bytes;
    }()});
  } catch (...) {
    state_.remove(*info_);
    throw;
  }
}

void RankSession::import_memory() {
  for (const AllocationExport& a : registration_.allocations)
    allocations_.push_back(static_cast<std::byte*>(device::import_memory(a.handle)));
  for (size_t i = 0; i < registration_.entries.size(); ++i) {
    const EntryExport& e = registration_.entries[i];
    hitproof_entry_t t{};
    t.name = e.name.c_str();
    t.base = allocations_[e.allocation] + e.offset;
    t.page_stride = e.page_stride;
    t.page_bytes = e.page_bytes;
    t.content_bytes = e.content_bytes;
    t.storage_offset = e.offset;
    t.num_pages = e.num_pages;
    t.tokens_per_page = e.tokens_per_page;
    t.rank = static_cast<uint16_t>(registration_.rank);
    t.entry = static_cast<uint16_t>(i);
    t.layer = e.layer;
    t.kind = e.kind;
    t.transfer_group = e.transfer_group;
    t.engine_group = e.engine_group;
    t.dtype = e.dtype;
    t.transferred = e.transferred;
    t.key_scope = e.key_scope;
    t.origin = HITPROOF_ORIGIN_TRANSFER;
    t.ndim = e.ndim;
    t.element_bytes = e.element_bytes;
    std::copy(e.shape.begin(), e.shape.end(), t.shape);
    std::copy(e.stride.begin(), e.stride.end(), t.stride);
    t.reason = e.reason.empty() ? nullptr : e.reason.c_str();
    HITPROOF_CALL(entry, (&t));
  }
}

RankSession::~RankSession() {
  state_.remove(*info_);
  const auto end = std::chrono::steady_clock::now() + drain_time;
  bool drained = false;
  try {
    while (!(drained = streams_->save.idle() && streams_->load.idle()) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (drained)
      for (std::byte* memory : allocations_)
        device::close_memory(memory);
  } catch (const device::DeviceError& e) {
    std::fprintf(stderr, "cache server: rank %d: %s\n", registration_.rank, e.what());
  }
  if (!drained) {
    // Work that waits for a dead rank still refers to streams, events and memory: they stay until
    // the process ends.
    std::fprintf(stderr, "cache server: rank %d went while its transfers were pending\n",
                 registration_.rank);
    state_.undrained = true;
    (void)streams_.release();
    for (auto& [transfer, p] : pending_) {
      (void)new Pending(std::move(p));
    }
  }
}

const EntryExport& RankSession::entry(uint16_t index) const {
  if (index >= registration_.entries.size()) throw ProtocolError("a page of an unknown entry");
  return registration_.entries[index];
}

std::byte* RankSession::page(uint16_t index, uint32_t block) const {
  const EntryExport& e = entry(index);
  if (block == 0 || block >= e.num_pages) throw ProtocolError("a page outside entry " + e.name);
  return allocations_[e.allocation] + e.offset + e.page_stride * block;
}

void RankSession::announce_page(uint64_t transfer, const PageRef& p, const Object& object,
                                bool held) const {
  hitproof_transfer_page_t t{};
  t.transfer = transfer;
  t.device_address = page(p.entry, p.block);
  t.host_address = object.data;
  t.host_object = object.id;
  t.bytes = object.bytes;
  t.block = p.block;
  t.generation = p.generation;
  t.token_begin = p.token_begin;
  t.token_end = p.token_end;
  t.rank = static_cast<uint16_t>(registration_.rank);
  t.entry = p.entry;
  t.held = held ? 1 : 0;
  HITPROOF_CALL(transfer_page, (&t));
}

RankSession::Pending& RankSession::open_transfer(uint64_t transfer, const Bytes& producer) {
  const auto [at, fresh] = pending_.try_emplace(transfer);
  if (!fresh) throw ProtocolError("transfer " + std::to_string(transfer) + " is under way already");
  at->second.producer = device::Event::import(producer);
  at->second.completion = device::Event::interprocess();
  return at->second;
}

void RankSession::serve() {
  for (;;) {
    const Message message = *channel_.receive();
    if (const auto* order = std::get_if<Save>(&message)) {
      channel_.send(save(*order));
    } else if (const auto* request = std::get_if<Load>(&message)) {
      channel_.send(load(*request));
    } else if (const auto* ack = std::get_if<Ack>(&message)) {
      acknowledge(ack->transfer);
    } else {
      throw ProtocolError(std::string("a rank sent ") + message_name(message));
    }
  }
}

} // namespace hitproof::engine
