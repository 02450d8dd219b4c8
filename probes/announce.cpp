// The announcements of hitproof.h that only become records.
#include "probes/coverage.h"
#include "probes/device_work.h"
#include "probes/hitproof.h"
#include "probes/intercept.h"
#include "probes/page_kernels.h"
#include "probes/transfer.h"
#include "schema/records.h"

#include <cstring>

namespace hitproof::probes {
namespace {

schema::Digest digest_of(const std::uint8_t* bytes) noexcept {
  schema::Digest digest{};
  if (bytes != nullptr) std::memcpy(digest.data(), bytes, digest.size());
  return digest;
}

std::string_view text(const char* s) noexcept { return s == nullptr ? std::string_view{} : s; }

// What works on pages is loaded while the program is being set up, so that no transfer waits for
// it.
void prepare_page_work(const void* memory) noexcept {
  if ((settings().mode & ~static_cast<std::uint32_t>(HITPROOF_MODE_LEDGER)) == 0) return;
  if (back_end() == BackEnd::kernels) prepare_page_kernels(reinterpret_cast<std::uint64_t>(memory));
}

template <class R>
void put_announced(const R& record, std::uint64_t t_ns = schema::now()) noexcept {
  count(Counter::announcements);
  if (!schema::journal(record, t_ns)) count_dropped(Counter::announcements);
}

} // namespace
} // namespace hitproof::probes

using namespace hitproof::probes;
namespace rec = hitproof::schema::rec;
using hitproof::schema::set_text;

extern "C" {

uint32_t hitproof_mode(void) { return recording() ? settings().mode : 0; }

void hitproof_process(const char* role, int rank) {
  if (!recording() || role == nullptr) return;
  write_process_record(role[0] != '\0' ? announce_role(role, rank) : announced_role());
}

void hitproof_meta(const char* name, const char* value) {
  if (!recording()) return;
  rec::meta r;
  set_text(r.name, text(name));
  set_text(r.value, text(value));
  put_announced(r);
}

void hitproof_profile(int rank, int phase, const char* name, const char* recorded,
                      const char* selected) {
  if (!recording()) return;
  rec::profile r;
  r.rank = static_cast<std::uint16_t>(rank);
  r.phase = static_cast<std::uint16_t>(phase);
  set_text(r.name, text(name));
  set_text(r.recorded, text(recorded));
  set_text(r.selected, text(selected));
  put_announced(r);
}

void hitproof_entry(const hitproof_entry_t* e) {
  if (!recording() || e == nullptr) return;
  remember_entry(e->rank, e->entry, e->content_bytes);
  rec::entry r;
  r.base = reinterpret_cast<std::uint64_t>(e->base);
  r.page_stride = e->page_stride;
  r.page_bytes = e->page_bytes;
  r.content_bytes = e->content_bytes;
  r.storage_offset = e->storage_offset;
  r.num_pages = e->num_pages;
  r.tokens_per_page = e->tokens_per_page;
  r.rank = e->rank;
  r.entry = e->entry;
  r.layer = e->layer;
  r.kind = e->kind;
  r.transfer_group = e->transfer_group;
  r.engine_group = e->engine_group;
  r.dtype = e->dtype;
  r.transferred = e->transferred;
  r.key_scope = e->key_scope;
  r.origin = e->origin;
  r.device = e->device;
  set_text(r.name, text(e->name));
  put_announced(r);
  rec::entry_shape s;
  s.rank = e->rank;
  s.entry = e->entry;
  s.ndim = e->ndim;
  s.element_bytes = e->element_bytes;
  s.shape0 = e->shape[0];
  s.shape1 = e->shape[1];
  s.shape2 = e->shape[2];
  s.shape3 = e->shape[3];
  s.stride0 = e->stride[0];
  s.stride1 = e->stride[1];
  s.stride2 = e->stride[2];
  s.stride3 = e->stride[3];
  set_text(s.reason, text(e->reason));
  put_announced(s);
  prepare_page_work(e->base);
}

void hitproof_request(const hitproof_request_t* q) {
  if (!recording() || q == nullptr) return;
  rec::request r;
  r.request = q->request;
  r.prompt = digest_of(q->prompt_sha256);
  r.prompt_tokens = q->prompt_tokens;
  r.max_tokens = q->max_tokens;
  set_text(r.tag, text(q->tag));
  put_announced(r);
}

void hitproof_admission(const hitproof_admission_t* a) {
  if (!recording() || a == nullptr) return;
  rec::admission r;
  r.request = a->request;
  r.lookup = a->lookup;
  r.local_hit = a->local_hit;
  r.external_hit = a->external_hit;
  r.label_boundary = a->label_boundary;
  r.computed = a->computed;
  r.scheduled = a->scheduled;
  r.drafts = a->drafts;
  r.preemptions = a->preemptions;
  r.source = a->source;
  put_announced(r);
}

void hitproof_lookup(uint64_t lookup, uint64_t request, uint32_t query, uint32_t answer,
                     uint32_t mode) {
  if (!recording()) return;
  rec::lookup r;
  r.lookup = lookup;
  r.request = request;
  r.query_tokens = query;
  r.answer_tokens = answer;
  r.mode = mode;
  put_announced(r);
}

void hitproof_lookup_answer(uint64_t lookup, const uint8_t* key, int rank, int group,
                            uint32_t answer) {
  if (!recording()) return;
  rec::lookup_answer r;
  r.lookup = lookup;
  r.key = digest_of(key);
  r.rank = static_cast<std::uint16_t>(rank);
  r.transfer_group = static_cast<std::uint16_t>(group);
  r.answer_tokens = answer;
  put_announced(r);
}

void hitproof_key_input(const uint8_t* key, int rank, const char* name,
                        const uint8_t* value_sha256) {
  if (!recording()) return;
  rec::key_input r;
  r.key = digest_of(key);
  r.value = digest_of(value_sha256);
  r.rank = static_cast<std::uint16_t>(rank);
  set_text(r.name, text(name));
  put_announced(r);
}

void hitproof_content_input(int rank, const char* name, const uint8_t* value_sha256) {
  if (!recording()) return;
  rec::content_input r;
  r.value = digest_of(value_sha256);
  r.rank = static_cast<std::uint16_t>(rank);
  set_text(r.name, text(name));
  put_announced(r);
}

void hitproof_step(uint64_t step, int rank, int requests, uint32_t tokens, uint64_t begin_ns,
                   uint64_t end_ns) {
  if (!recording()) return;
  rec::step r;
  r.step = step;
  r.rank = static_cast<std::uint16_t>(rank);
  r.requests = static_cast<std::uint16_t>(requests);
  r.tokens = tokens;
  r.end_ns = end_ns;
  put_announced(r, begin_ns);
}

void hitproof_step_request(const hitproof_step_request_t* s) {
  if (!recording() || s == nullptr) return;
  rec::step_request r;
  r.step = s->step;
  r.request = s->request;
  r.rank = s->rank;
  r.index = s->index;
  r.start = s->start;
  r.tokens = s->tokens;
  r.drafts = s->drafts;
  r.accepted = s->accepted;
  r.prompt_tokens = s->prompt_tokens;
  r.transfer = s->transfer;
  put_announced(r);
}

void hitproof_block(const hitproof_block_t* b) {
  if (!recording() || b == nullptr) return;
  rec::block r;
  r.request = b->request;
  r.block = b->block;
  r.generation = b->generation;
  r.engine_group = b->engine_group;
  r.op = b->op;
  r.token_begin = b->token_begin;
  r.token_end = b->token_end;
  put_announced(r);
}

void hitproof_wait(uint64_t transfer, uint64_t request, int rank, int kind, void* event,
                   uint64_t begin_ns, uint64_t end_ns) {
  if (!recording()) return;
  rec::wait r;
  r.transfer = transfer;
  r.request = request;
  r.end_ns = end_ns;
  r.event = reinterpret_cast<std::uint64_t>(event);
  r.rank = static_cast<std::uint16_t>(rank);
  r.kind = static_cast<std::uint16_t>(kind);
  put_announced(r, begin_ns);
}

void hitproof_reuse(uint64_t transfer, uint64_t step, uint32_t block, int rank, int entry) {
  if (!recording()) return;
  rec::reuse r;
  r.transfer = transfer;
  r.step = step;
  r.block = block;
  r.rank = static_cast<std::uint16_t>(rank);
  r.entry = static_cast<std::uint16_t>(entry);
  put_announced(r);
}

void hitproof_flush(void) {
  if (recording()) flush_coverage();
}

} // extern "C"
