// Reads that the probe puts on the program's stream at the addresses the program says it will
// compute with: recurrent states, tails, pooled keys; and, in the diagnostic run alone, the flip of
// one byte.
#include "probes/device_work.h"
#include "probes/observers.h"
#include "probes/page_records.h"
#include "probes/tail_work.h"
#include "probes/transfer.h"
#include "schema/page_digest.h"
#include "schema/sha256.h"

#include <cstring>

namespace hitproof::probes {
namespace {

bool has(std::uint32_t bit) noexcept { return recording() && (settings().mode & bit) != 0; }

void lost() noexcept { count_dropped(Counter::page_records); }

// `work` is what a closure does on the simulated device, `kernels` what a real one does.
template <class State, class Kernels>
void put(void* stream, const State& state, void (*work)(State&) noexcept,
         const Kernels& kernels) noexcept {
  if (captures(stream)) {
    count(Counter::stream_captured);
  } else if (back_end() == BackEnd::closures) {
    if (!put_on_stream<State>(stream, state, work)) lost();
  } else {
    kernels();
  }
}

// ---- recurrent states
struct StateWork {
  hitproof_state_t s;
  std::uint64_t content;
};

void digest_state(StateWork& w) noexcept {
  schema::rec::state r = state_record(w.s);
  r.content = schema::page_digest(w.s.address, w.content);
  put_page_record(r, schema::now());
}

// ---- tails
kernels::StridedBlock contiguous_layout(const hitproof_tail_read_t& t) noexcept {
  return {
      tail_halves, t.ring,          t.channels, t.element_bytes, std::uint32_t{t.ring} * t.channels,
      t.channels,  std::uint32_t{1}};
}

void read_tail(hitproof_tail_read_t& t) noexcept {
  unsigned char effective[largest_tail], naive[largest_tail];
  const kernels::StridedBlock layout = effective_layout(t);
  const std::size_t n = layout.elements();
  kernels::strided_gather(t.effective, layout, effective);
  schema::rec::tail_read r = tail_record(t);
  r.effective_digest = schema::sha256(effective, n * t.element_bytes);
  r.nonzero =
      static_cast<std::uint32_t>(kernels::count_nonzero_elements(effective, n, t.element_bytes));
  if (t.naive != nullptr) {
    kernels::strided_gather(t.naive, contiguous_layout(t), naive);
    r.naive_nonzero =
        static_cast<std::uint32_t>(kernels::count_nonzero_elements(naive, n, t.element_bytes));
    r.naive_equal = static_cast<std::uint32_t>(
        kernels::count_equal_elements(effective, naive, n, t.element_bytes));
  }
  put_page_record(r, schema::now());
}

void digest_pooled_key(hitproof_pooled_key_t& k) noexcept {
  schema::Sha256 hash;
  hash.update(k.key, k.key_bytes);
  if (k.scale != nullptr) hash.update(k.scale, sizeof(float));
  schema::rec::pooled_key r = key_record(k);
  r.digest = hash.finish();
  put_page_record(r, schema::now());
}

// ---- flips
struct FlipWork {
  hitproof_tail_read_t t;
  std::uint32_t position;
};

// The element with the largest magnitude among the keys of the newest slot: a flip of its sign is
// sure to reach the pooled key, where a small one could vanish in rounding. bf16 orders like its
// bits.
std::uint32_t strongest_channel(const hitproof_tail_read_t& t, std::uint32_t slot) noexcept {
  const auto* base = static_cast<const unsigned char*>(t.effective);
  std::uint32_t best = 0, best_value = 0;
  for (std::uint32_t c = 0; c < t.channels; ++c) {
    std::uint32_t value = 0;
    const std::size_t element = std::size_t{slot} * t.stride[1] + std::size_t{c} * t.stride[2];
    std::memcpy(&value, base + element * t.element_bytes,
                t.element_bytes < 4 ? t.element_bytes : 4u);
    value &= (1u << (8 * (t.element_bytes < 4 ? t.element_bytes : 4u) - 1)) - 1; // without the sign
    if (value > best_value) {
      best = c;
      best_value = value;
    }
  }
  return best;
}

void flip_byte(FlipWork& w) noexcept {
  const hitproof_tail_read_t& t = w.t;
  const std::uint32_t slot = newest_slot(t, w.position);
  const std::uint32_t channel = strongest_channel(t, slot);
  const bool naive = flips_naive();
  const std::size_t element =
      naive ? std::size_t{slot} * t.channels + channel
            : std::size_t{slot} * t.stride[1] + std::size_t{channel} * t.stride[2];
  auto* byte = static_cast<unsigned char*>(naive ? t.naive : t.effective) +
               element * t.element_bytes +
               (t.element_bytes - 1); // the highest byte: sign and exponent
  *byte ^= 0x80;
  put_page_record(flip_record(t, w.position, reinterpret_cast<std::uint64_t>(byte)), schema::now());
}

// One flip per request and entry: what a pooled key then depends on is known.
bool first_flip(const hitproof_tail_read_t& t) noexcept {
  constexpr std::size_t room = 4096;
  static std::uint64_t flipped[room];
  static std::size_t used = 0;
  static SpinLock lock;
  const std::uint64_t key =
      (t.request * 0x9e3779b97f4a7c15u) ^ (std::uint64_t{t.rank} << 16) ^ t.entry;
  const LockGuard guard(lock);
  for (std::size_t i = 0; i < used; ++i) {
    if (flipped[i] == key) return false;
  }
  if (used == room) return false;
  flipped[used++] = key;
  return true;
}

bool plausible(const hitproof_tail_read_t& t) noexcept {
  const std::size_t bytes = std::size_t{tail_halves} * t.ring * t.channels * t.element_bytes;
  return t.effective != nullptr && bytes != 0 && bytes <= largest_tail;
}

} // namespace

kernels::StridedBlock effective_layout(const hitproof_tail_read_t& t) noexcept {
  return {tail_halves, t.ring, t.channels, t.element_bytes, t.stride[0], t.stride[1], t.stride[2]};
}

std::uint32_t newest_slot(const hitproof_tail_read_t& t, std::uint32_t position) noexcept {
  return (position - 1) % t.ring;
}

bool flips_naive() noexcept { return settings().flip == 2; }

schema::rec::state state_record(const hitproof_state_t& s) noexcept {
  schema::rec::state r;
  r.request = s.request;
  r.address = reinterpret_cast<std::uint64_t>(s.address);
  r.block = s.block;
  r.generation = s.generation;
  r.tokens = s.tokens;
  r.rank = s.rank;
  r.entry = s.entry;
  r.step = s.step;
  return r;
}

schema::rec::tail_read tail_record(const hitproof_tail_read_t& t) noexcept {
  schema::rec::tail_read r;
  r.request = t.request;
  r.transfer = t.transfer;
  r.effective = reinterpret_cast<std::uint64_t>(t.effective);
  r.naive = reinterpret_cast<std::uint64_t>(t.naive);
  r.block = t.block;
  r.elements = static_cast<std::uint32_t>(effective_layout(t).elements());
  r.rank = t.rank;
  r.entry = t.entry;
  r.stride0 = t.stride[0];
  r.stride1 = t.stride[1];
  r.stride2 = t.stride[2];
  r.ring = t.ring;
  return r;
}

schema::rec::pooled_key key_record(const hitproof_pooled_key_t& k) noexcept {
  schema::rec::pooled_key r;
  r.request = k.request;
  r.position = k.position;
  r.block = k.block;
  r.rank = k.rank;
  r.entry = k.entry;
  return r;
}

schema::rec::tail_flip flip_record(const hitproof_tail_read_t& t, std::uint32_t position,
                                   std::uint64_t address) noexcept {
  schema::rec::tail_flip r;
  r.request = t.request;
  r.address = address;
  r.position = position;
  r.rank = t.rank;
  r.entry = t.entry;
  r.where = flips_naive() ? 1 : 0;
  return r;
}

} // namespace hitproof::probes

using namespace hitproof::probes;

extern "C" {

void hitproof_state(const hitproof_state_t* s) {
  if (!recording() || s == nullptr) return;
  const std::uint64_t content = content_bytes_of(s->rank, s->entry);
  if (!has(HITPROOF_MODE_DIGESTS) || content == 0 || s->address == nullptr) {
    if (has(HITPROOF_MODE_DIGESTS)) count(Counter::unknown_entry);
    put_page_record(state_record(*s), hitproof::schema::now());
    return;
  }
  put<StateWork>(s->stream, {*s, content}, digest_state, [&] { return cuda_state(*s, content); });
}

void hitproof_tail_read(const hitproof_tail_read_t* t) {
  if (!has(HITPROOF_MODE_TAILS) || t == nullptr) return;
  if (plausible(*t))
    put<hitproof_tail_read_t>(t->stream, *t, read_tail, [&] { return cuda_tail_read(*t); });
  else
    lost();
}

void hitproof_pooled_key(const hitproof_pooled_key_t* k) {
  if (!has(HITPROOF_MODE_DIGESTS) || k == nullptr) return;
  if (k->key != nullptr)
    put<hitproof_pooled_key_t>(k->stream, *k, digest_pooled_key,
                               [&] { return cuda_pooled_key(*k); });
  else
    lost();
}

void hitproof_tail_step(const hitproof_tail_read_t* t, uint32_t position) {
  if (!has(HITPROOF_MODE_TAIL_EFFECT) || settings().flip == 0 || t == nullptr) return;
  // In the middle of a pool: some of its tokens are in the tail, and the pooled key is still to
  // come.
  const std::uint32_t inside = position % 4;
  if ((inside != 1 && inside != 2) || !plausible(*t) ||
      (settings().flip == 2 && t->naive == nullptr))
    return;
  if (first_flip(*t))
    put<FlipWork>(t->stream, {*t, position}, flip_byte, [&] { return cuda_flip(*t, position); });
}

} // extern "C"
