// Announced transfers: the subject decides what really happens to each page.
#include "probes/hitproof.h"
#include "tests/probes/page_pattern.h"
#include "tests/probes/subject.h"

#include <chrono>
#include <unistd.h>

namespace subject {
namespace {

std::uint64_t milliseconds() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count());
}

void announce_entry(Memory& m) {
  hitproof_entry_t e{};
  e.name = "layers.4.state";
  e.base = m.device;
  e.page_stride = e.page_bytes = page_bytes;
  e.content_bytes = content_bytes;
  e.num_pages = 64;
  e.rank = page_rank;
  e.entry = page_entry;
  e.layer = 4;
  e.kind = HITPROOF_ENTRY_STATE;
  e.transferred = 1;
  e.ndim = 1;
  e.shape[0] = page_bytes;
  e.stride[0] = 1;
  HITPROOF_CALL(entry, (&e));
}

void announce(Memory& m, std::uint16_t direction, bool held) {
  const std::uint8_t key[32] = {1, 2, 3};
  hitproof_transfer_t t{};
  t.transfer = transfer_id;
  t.request = 5;
  t.stream = m.stream;
  t.key = key;
  t.rank = page_rank;
  t.direction = direction;
  t.token_end = t.boundary = 1792;
  t.next_token = HITPROOF_UNKNOWN;
  HITPROOF_CALL(transfer, (&t));
  for (std::size_t i = 0; i < pages; ++i) {
    hitproof_transfer_page_t p{};
    p.transfer = transfer_id;
    p.device_address = m.device + i * page_bytes;
    p.host_address = m.pinned + i * page_bytes;
    p.host_object = 100 + i;
    p.bytes = page_bytes;
    p.block = first_block + static_cast<std::uint32_t>(i);
    p.generation = generation;
    p.token_end = 1792;
    p.rank = page_rank;
    p.entry = page_entry;
    p.held = held;
    HITPROOF_CALL(transfer_page, (&p));
  }
  HITPROOF_CALL(transfer_ready, (transfer_id));
}

void finish(Memory& m) {
  cudaEvent_t e = nullptr;
  SUBJECT_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  HITPROOF_CALL(transfer_done, (transfer_id, e));
  SUBJECT_OK(cudaEventRecord(e, m.stream));
  SUBJECT_OK(cudaEventSynchronize(e));
  says_fact("event", reinterpret_cast<std::uint64_t>(e));
}

void fill_host(Memory& m) {
  for (std::size_t i = 0; i < pages; ++i)
    std::memcpy(m.pinned + i * page_bytes, page_content(i).data(), page_bytes);
}

// load <what happens>: clean, skip (page 1 is not copied), short (page 2 lacks its end), part (page
// 3 comes in two copies), wrong (page 4 gets page 0's bytes), padding (contents only)
int load(int argc, char** argv) {
  const std::string fault = argc > 2 ? argv[2] : "clean";
  Memory m;
  announce_entry(m);
  fill_host(m);
  announce(m, HITPROOF_LOAD, false);
  for (std::size_t i = 0; i < pages; ++i) {
    char* to = m.device + i * page_bytes;
    const char* from = m.pinned + i * page_bytes;
    std::size_t n = fault == "padding" ? content_bytes : page_bytes;
    if (fault == "skip" && i == 1) continue;
    if (fault == "short" && i == 2) n = 1024;
    if (fault == "wrong" && i == 4) from = m.pinned;
    if (fault == "part" && i == 3) {
      SUBJECT_OK(cudaMemcpyAsync(to + 2048, from + 2048, 2048, cudaMemcpyDefault, m.stream));
      n = 2048;
    }
    SUBJECT_OK(cudaMemcpyAsync(to, from, n, cudaMemcpyDefault, m.stream));
  }
  finish(m);
  // A copy after the close belongs to no transfer, even to the same page.
  SUBJECT_OK(cudaMemcpy(m.device, m.pinned, 8, cudaMemcpyDefault));
  // The program's own result: the bytes that it finds on the device.
  std::vector<unsigned char> back(page_bytes);
  SUBJECT_OK(cudaMemcpy(back.data(), m.device + 4 * page_bytes, page_bytes, cudaMemcpyDefault));
  return back == page_content(fault == "wrong" ? 0 : 4) || fault == "padding" ? 0 : 93;
}

// save <copy|held|late>: late writes the source page again while the delay runs
int save(int argc, char** argv) {
  const std::string how = argc > 2 ? argv[2] : "copy";
  Memory m;
  announce_entry(m);
  fill_host(m);
  SUBJECT_OK(cudaMemcpy(m.device, m.pinned, pages * page_bytes, cudaMemcpyDefault));
  std::memset(m.pinned, 0, pages * page_bytes);
  const std::uint64_t begin = milliseconds();
  announce(m, HITPROOF_SAVE, how == "held");
  if (how != "held") {
    SUBJECT_OK(
        cudaMemcpyAsync(m.pinned, m.device, pages * page_bytes, cudaMemcpyDefault, m.stream));
  }
  const std::uint64_t submitted = milliseconds();
  if (how == "late") {
    cudaStream_t other = nullptr;
    SUBJECT_OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    SUBJECT_OK(cudaMemsetAsync(m.device, 0xEE, page_bytes, other));
    SUBJECT_OK(cudaStreamSynchronize(other));
  }
  finish(m);
  says_fact("submit_ms", submitted - begin);
  says_fact("wait_ms", milliseconds() - begin);
  return 0;
}

hitproof_tail_read_t tail_at(Memory& m) {
  hitproof_tail_read_t t{};
  t.request = 5;
  t.transfer = transfer_id;
  t.stream = m.stream;
  t.effective = m.device + 8192;
  t.naive = m.device + 65536;
  t.block = first_block;
  t.rank = page_rank;
  t.entry = page_entry;
  t.ring = ring;
  t.channels = channels;
  t.element_bytes = 2;
  t.stride[0] = stride_half;
  t.stride[1] = stride_slot;
  t.stride[2] = stride_channel;
  return t;
}

// tails <effective|naive>: where the program really wrote
int tails(int argc, char** argv) {
  const bool naive = argc > 2 && std::strcmp(argv[2], "naive") == 0;
  Memory m;
  announce_entry(m);
  SUBJECT_OK(cudaMemset(m.device, 0, Memory::bytes));
  auto* values = reinterpret_cast<std::uint16_t*>(m.pinned);
  for (std::size_t i = 0; i < 2 * stride_half; ++i)
    values[i] = static_cast<std::uint16_t>(0x3f80 + i);
  char* to = m.device + (naive ? 65536 : 8192);
  SUBJECT_OK(cudaMemcpyAsync(to, m.pinned, 4 * stride_half, cudaMemcpyDefault, m.stream));
  const hitproof_tail_read_t t = tail_at(m);
  HITPROOF_CALL(tail_read, (&t));
  hitproof_state_t s{};
  s.request = 5;
  s.step = 12;
  s.address = m.device;
  s.stream = m.stream;
  s.block = first_block;
  s.generation = generation;
  s.tokens = 1792;
  s.rank = page_rank;
  s.entry = page_entry;
  SUBJECT_OK(
      cudaMemcpyAsync(m.device, page_content(2).data(), page_bytes, cudaMemcpyDefault, m.stream));
  HITPROOF_CALL(state, (&s));
  hitproof_pooled_key_t k{};
  k.request = 5;
  k.stream = m.stream;
  k.key = m.device;
  k.scale = m.device + 128;
  k.key_bytes = 128;
  k.position = 7;
  k.rank = page_rank;
  k.entry = page_entry;
  HITPROOF_CALL(pooled_key, (&k));
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  return 0;
}

// Decode steps at positions 1784 .. 1791 of one request: how the tail at both addresses changes.
int flips(int, char**) {
  Memory m;
  announce_entry(m);
  SUBJECT_OK(cudaMemset(m.device, 0x3f, 131072));
  hitproof_tail_read_t t = tail_at(m);
  for (std::uint32_t position = 1784; position < 1792; ++position)
    HITPROOF_CALL(tail_step, (&t, position));
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  std::vector<unsigned char> bytes(131072);
  SUBJECT_OK(cudaMemcpy(bytes.data(), m.device, bytes.size(), cudaMemcpyDefault));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != 0x3f) says_fact("flipped", i);
  }
  says_fact("effective", reinterpret_cast<std::uint64_t>(t.effective));
  says_fact("naive", reinterpret_cast<std::uint64_t>(t.naive));
  says_fact("base", reinterpret_cast<std::uint64_t>(m.device));
  return 0;
}

// Everything else that a program can announce, once each.
int announcements(int, char**) {
  std::uint8_t hash[32];
  for (int i = 0; i < 32; ++i)
    hash[i] = static_cast<std::uint8_t>(i + 1);
  says_fact("mode", HITPROOF_MODE());
  HITPROOF_CALL(process, ("rank", 2));
  HITPROOF_CALL(meta, ("engine.version", "1.2.3"));
  HITPROOF_CALL(profile, (2, 1, "prefill_chunk", "64", "128"));
  const hitproof_request_t q{11, hash, 3584, 64, "A/3584"};
  HITPROOF_CALL(request, (&q));
  const hitproof_admission_t a{11, 21, 0, 1792, 1792, 1792, 1792, 1, 0, 2};
  HITPROOF_CALL(admission, (&a));
  HITPROOF_CALL(lookup, (21, 11, 3584, 1792, 1));
  HITPROOF_CALL(lookup_answer, (21, hash, 2, 5, 1792));
  HITPROOF_CALL(key_input, (hash, 2, "weights", hash));
  HITPROOF_CALL(content_input, (2, "weights", hash));
  HITPROOF_CALL(step, (31, 2, 4, 1792, 1000, 2000));
  const hitproof_step_request_t s{31, 11, 2, 0, 1792, 1793, 1, 1793, 3584, 41};
  HITPROOF_CALL(step_request, (&s));
  const hitproof_block_t b{11, 8, 3, 4, 0, 0, 1792};
  HITPROOF_CALL(block, (&b));
  HITPROOF_CALL(wait, (41, 11, 2, 1, hash, 3000, 4000));
  HITPROOF_CALL(reuse, (41, 32, 8, 2, 69));
  // What cannot be meant is counted, and changes nothing.
  HITPROOF_CALL(transfer_ready, (999));
  HITPROOF_CALL(transfer_done, (999, nullptr));
  HITPROOF_CALL(flush, ());
  std::fflush(stdout);
  _exit(0);
}

} // namespace

const Scenario page_scenarios[] = {{"load", load},
                                   {"save", save},
                                   {"tails", tails},
                                   {"flips", flips},
                                   {"announcements", announcements},
                                   {nullptr, nullptr}};

} // namespace subject
