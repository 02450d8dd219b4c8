// What front, ranks and cache server say to each other: plain structs, one variant, and their
// bytes.
//
// Promise: `decode(encode(m)) == m` for every message; `decode` accepts nothing else than a
// well-formed message and throws ProtocolError otherwise, with the field's name. A message is a
// CBOR map {"type": name, fields...}; frames and sockets are in channel.h. Token positions are
// counts of tokens before them; block 0 is the null block.
//
// Who says what:
//   front -> rank          RankStart once, then Step ..., Shutdown
//   rank  -> front         RankReady once, then StepDone ..., or Failure (the rank exits after it)
//   rank  -> cache server  Register, then Save, Load, Ack
//   front -> cache server  Hello, then Lookup, Release, StatsRequest, Shutdown
//   cache server answers   Registered, SaveReply, LoadReply, LookupReply, Done (to Hello and
//   Release), Stats, Failure;
//                          Ack and Shutdown have no answer
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hitproof::engine {

struct ProtocolError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Digest = std::array<uint8_t, 32>;
using NamedDigest = std::pair<std::string, Digest>;
using NamedText = std::pair<std::string, std::string>;
using Bytes = std::vector<uint8_t>;

inline constexpr uint32_t unknown_token = 0xffffffffu;
inline constexpr int state_groups = 3;
inline constexpr int transfer_groups = 6;

// A block id and how often it had been given out when it was named.
struct BlockRef {
  int32_t block = 0;
  uint32_t generation = 0;
  bool operator==(const BlockRef&) const = default;
};

// What one chunk's cache entries are filed under: everything but the rank's own key inputs
// (keys.h).
struct ChunkKey {
  Digest prefix{};                     // prefix_digest of the token ids [0, end of the chunk)
  uint32_t next_token = unknown_token; // the token after the chunk; MTP entries depend on it
  bool operator==(const ChunkKey&) const = default;
};

// ------------------------------------------------------------------------------------------ front
// and rank
struct RankStart {
  std::string preset;
  uint64_t weight_seed = 0;
  int32_t tp = 1;
  int32_t num_blocks = 0; // block ids of the pool, the null block included
  int32_t drafts = 1;     // draft tokens a step may carry
  std::vector<NamedText>
      profile; // the seven recorded kernel choices of this rank; none at all: the pinned profile
  bool free_tuners =
      false; // choices without a recorded value are left to the model; otherwise they are refused
  std::string break_name;   // empty: none
  std::string cache_server; // address (channel.h); empty: the connector is off
  std::string collectives;  // how ranks on GPUs sum: nccl; ipc or empty: through device memory
  uint64_t instance = 0;    // one number per engine, so that two engines can share one cache server
  bool operator==(const RankStart&) const = default;
};

struct RankReady {
  int32_t rank = 0;
  Digest weights{};                    // of this rank's weights
  std::vector<NamedDigest> key_inputs; // as registered with the cache server
  std::vector<NamedText> profile;      // choices in force
  std::string device;                  // device name, contains "sim" on the simulated device
  bool operator==(const RankReady&) const = default;
};

struct StateOrder {
  BlockRef in; // block to start from, block 0 = fresh zero state
  std::array<BlockRef, 2>
      out; // out[i]: gets the state after token i (decode); prefill: out[0] at the chunk's end
  bool operator==(const StateOrder&) const = default;
};

struct SeqOrder {
  uint64_t request = 0;
  int32_t start = 0; // position of tokens[0]
  std::vector<int32_t>
      tokens; // prefill: the chunk; decode: {last sampled} or {last sampled, draft}
  bool last_is_draft = false;
  bool prefill = false;
  int32_t next_token =
      -1; // token after the chunk where the prompt has it, -1 where it will be sampled
  uint32_t prompt_tokens = 0;      // N
  std::vector<BlockRef> attention; // covers positions [0, start + tokens)
  BlockRef tail;
  std::array<StateOrder, state_groups> state;
  bool operator==(const SeqOrder&) const = default;
};

// Executed after the step, and only if the step's accepted tokens reach `boundary`. Names one page
// of each entry.
struct SaveOrder {
  uint64_t transfer = 0, request = 0;
  uint32_t boundary = 0; // the checkpoint: a multiple of the chunk
  Digest prefix{};    // of the token ids [0, boundary); the next token is known to the rank after
                      // sampling
  BlockRef attention; // block of the chunk that ends at the boundary
  BlockRef tail;
  std::array<BlockRef, state_groups> state; // blocks that hold the state after `boundary` tokens
  bool operator==(const SaveOrder&) const = default;
};

// Executed and waited for before the step it came with.
struct LoadOrder {
  uint64_t transfer = 0, request = 0;
  uint32_t token_begin = 0; // multiple of the chunk; before it the device already holds the pages
  uint32_t boundary = 0;    // B_label: end of the last chunk, tokens that its state represents
  std::vector<ChunkKey> chunks;    // one per chunk of [token_begin, boundary)
  std::vector<BlockRef> attention; // destination of each chunk
  BlockRef tail;
  std::array<BlockRef, state_groups> state;
  bool operator==(const LoadOrder&) const = default;
};

struct Step {
  uint64_t step = 0;
  std::vector<SeqOrder> seqs;
  std::vector<SaveOrder> saves;
  std::vector<LoadOrder> loads;
  bool operator==(const Step&) const = default;
};

struct SeqResult {
  uint64_t request = 0;
  int32_t accepted = 0;         // tokens of the order whose computation stands
  std::vector<int32_t> sampled; // newly decided tokens
  std::vector<Digest> logits;   // SHA-256 of the logits behind each sampled token
  std::vector<float> margin;    // its top-1 margin
  int32_t draft = -1;           // draft for the position after the last sampled token, -1: none
  bool operator==(const SeqResult&) const = default;
};

struct TransferResult {
  uint64_t transfer = 0;
  uint32_t copied = 0, held = 0; // pages
  bool refused = false;          // a save that found no room: nothing is stored
  bool operator==(const TransferResult&) const = default;
};

struct StepDone {
  uint64_t step = 0;
  std::vector<SeqResult> results; // in the order of Step::seqs
  std::vector<TransferResult> loads;
  std::vector<TransferResult> saves; // only those whose boundary was reached
  bool operator==(const StepDone&) const = default;
};

struct Shutdown {
  bool operator==(const Shutdown&) const = default;
};

struct Failure {
  std::string message;
  bool operator==(const Failure&) const = default;
};

// ------------------------------------------------------------------------------------------ cache
// server
struct AllocationExport {
  Bytes handle; // cudaIpcMemHandle_t
  uint64_t bytes = 0;
  bool operator==(const AllocationExport&) const = default;
};

// One cache entry as the model declares it; addresses are (allocation, offset), because every
// process has its own.
struct EntryExport {
  std::string name;
  uint32_t allocation = 0; // index into Register::allocations
  uint64_t offset = 0;     // of page 0 in the allocation
  uint64_t page_stride = 0, page_bytes = 0, content_bytes = 0;
  uint32_t row_bytes = 0; // bytes of one row (token record, pooled key, state row) of a page
  uint32_t num_pages = 0, tokens_per_page = 0;
  int32_t layer = 0;
  uint8_t kind = 0, transfer_group = 0, engine_group = 0, dtype = 0, key_scope = 0, transferred = 1;
  uint16_t ndim = 0, element_bytes = 0;
  std::array<uint32_t, 4> shape{};
  std::array<int64_t, 4> stride{};
  std::string reason; // why not transferred
  bool operator==(const EntryExport&) const = default;
};

struct Register {
  uint64_t instance = 0;
  int32_t rank = 0, tp = 1;
  std::vector<NamedDigest> key_inputs; // what each key of this rank is made of, besides the prefix
  std::vector<AllocationExport> allocations;
  std::vector<EntryExport> entries;
  std::string break_name;
  int32_t gpu = 0; // ordinal of the device that the memory lies on
  bool operator==(const Register&) const = default;
};

struct Registered {
  uint64_t limit_bytes = 0;
  bool operator==(const Registered&) const = default;
};

struct PageRef {
  uint16_t entry = 0;
  uint16_t chunk = 0; // load: index into Load::keys; save: 0
  uint32_t block = 0, generation = 0;
  uint32_t token_begin = 0, token_end = 0;
  bool operator==(const PageRef&) const = default;
};

struct KeyRef {
  Digest key{};
  uint32_t next_token = unknown_token;
  bool operator==(const KeyRef&) const = default;
};

struct Save {
  uint64_t transfer = 0, request = 0;
  uint32_t token_begin = 0, boundary = 0;
  KeyRef key;
  std::vector<PageRef> pages;
  Bytes event; // cudaIpcEventHandle_t: behind the work that produced the pages
  bool operator==(const Save&) const = default;
};

struct SaveReply {
  uint64_t transfer = 0;
  uint32_t copied = 0, held = 0;
  bool refused = false;
  Bytes event; // completion; kept alive by the server until Ack
  bool operator==(const SaveReply&) const = default;
};

struct Load {
  uint64_t transfer = 0, request = 0;
  uint32_t token_begin = 0, boundary = 0;
  std::vector<KeyRef> keys; // one per chunk
  std::vector<PageRef> pages;
  Bytes event; // behind the device work that may still use the destinations
  bool operator==(const Load&) const = default;
};

struct LoadReply {
  uint64_t transfer = 0;
  std::string error; // not empty: nothing was copied, `event` is empty
  Bytes event;
  bool operator==(const LoadReply&) const = default;
};

struct Ack { // the client has waited on, or gives up, the transfer's completion event
  uint64_t transfer = 0;
  bool operator==(const Ack&) const = default;
};

struct Hello { // a front process; its lookups are answered for the ranks of `instance`
  uint64_t instance = 0;
  bool operator==(const Hello&) const = default;
};

struct Lookup {
  uint64_t lookup = 0, request = 0;
  uint32_t prompt_tokens = 0, chunk_tokens = 0;
  bool full = false; // false: strict prefixes only (boundary <= N - 1); true: boundary <= N
  std::vector<ChunkKey> chunks; // of the prompt's whole chunks, N / chunk_tokens of them
  bool operator==(const Lookup&) const = default;
};

struct LookupReply {
  uint64_t lookup = 0;
  uint32_t answer = 0; // tokens that every rank and group can restore
  std::vector<std::array<uint32_t, transfer_groups>> answers; // [rank][transfer group]
  bool operator==(const LookupReply&) const = default;
};

// Ends the protection of the pages that a lookup found. A completed load ends it for its rank by
// itself.
struct Release {
  uint64_t request = 0;
  bool operator==(const Release&) const = default;
};

struct Done {
  bool operator==(const Done&) const = default;
};

struct StatsRequest {
  bool operator==(const StatsRequest&) const = default;
};

struct Stats {
  uint64_t limit_bytes = 0, used_bytes = 0, objects = 0, checkpoints = 0, evicted_objects = 0,
           refused_saves = 0;
  uint64_t saves = 0, loads = 0, lookups = 0, hit_tokens = 0, query_tokens = 0;
  bool operator==(const Stats&) const = default;
};

using Message = std::variant<RankStart, RankReady, Step, StepDone, Shutdown, Failure, Register,
                             Registered, Save, SaveReply, Load, LoadReply, Ack, Hello, Lookup,
                             LookupReply, Release, Done, StatsRequest, Stats>;

// The CBOR body of a frame.
Bytes encode(const Message& message);

// Throws ProtocolError: not CBOR, unknown type, a missing or extra field, a value that does not
// fit.
Message decode(std::span<const uint8_t> body);

// The type name of a message, for error texts.
const char* message_name(const Message& message);

} // namespace hitproof::engine
