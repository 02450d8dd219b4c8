#include "engine/runtime/protocol.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace hitproof::engine {
namespace {

using nlohmann::json;

// ---------------------------------------------------------------- which fields a struct has
// One list per struct, walked by the writer and by the reader, so that the two cannot disagree.
#define HP_F(field) a(#field, m.field);
#define HP_FIELDS(Type, list)                                                                      \
  template <class A, class T>                                                                      \
  requires std::is_same_v<std::remove_const_t<T>, Type>                                            \
  void fields(A& a, T& m) { list }

HP_FIELDS(BlockRef, HP_F(block) HP_F(generation))
HP_FIELDS(ChunkKey, HP_F(prefix) HP_F(next_token))
HP_FIELDS(RankStart, HP_F(preset) HP_F(weight_seed) HP_F(tp) HP_F(num_blocks) HP_F(drafts)
                         HP_F(profile) HP_F(free_tuners) HP_F(break_name) HP_F(cache_server)
                             HP_F(collectives) HP_F(instance))
HP_FIELDS(RankReady, HP_F(rank) HP_F(weights) HP_F(key_inputs) HP_F(profile) HP_F(device))
HP_FIELDS(StateOrder, HP_F(in) HP_F(out))
HP_FIELDS(SeqOrder, HP_F(request) HP_F(start) HP_F(tokens) HP_F(last_is_draft) HP_F(prefill)
                        HP_F(next_token) HP_F(prompt_tokens) HP_F(attention) HP_F(tail) HP_F(state))
HP_FIELDS(SaveOrder, HP_F(transfer) HP_F(request) HP_F(boundary) HP_F(prefix) HP_F(attention)
                         HP_F(tail) HP_F(state))
HP_FIELDS(LoadOrder, HP_F(transfer) HP_F(request) HP_F(token_begin) HP_F(boundary) HP_F(chunks)
                         HP_F(attention) HP_F(tail) HP_F(state))
HP_FIELDS(Step, HP_F(step) HP_F(seqs) HP_F(saves) HP_F(loads))
HP_FIELDS(SeqResult,
          HP_F(request) HP_F(accepted) HP_F(sampled) HP_F(logits) HP_F(margin) HP_F(draft))
HP_FIELDS(TransferResult, HP_F(transfer) HP_F(copied) HP_F(held) HP_F(refused))
HP_FIELDS(StepDone, HP_F(step) HP_F(results) HP_F(loads) HP_F(saves))
HP_FIELDS(Shutdown, )
HP_FIELDS(Failure, HP_F(message))
HP_FIELDS(AllocationExport, HP_F(handle) HP_F(bytes))
HP_FIELDS(EntryExport, HP_F(name) HP_F(allocation) HP_F(offset) HP_F(page_stride) HP_F(page_bytes)
                           HP_F(content_bytes) HP_F(row_bytes) HP_F(num_pages) HP_F(tokens_per_page)
                               HP_F(layer) HP_F(kind) HP_F(transfer_group) HP_F(engine_group)
                                   HP_F(dtype) HP_F(key_scope) HP_F(transferred) HP_F(ndim)
                                       HP_F(element_bytes) HP_F(shape) HP_F(stride) HP_F(reason))
HP_FIELDS(Register, HP_F(instance) HP_F(rank) HP_F(tp) HP_F(key_inputs) HP_F(allocations)
                        HP_F(entries) HP_F(break_name) HP_F(gpu))
HP_FIELDS(Registered, HP_F(limit_bytes))
HP_FIELDS(PageRef,
          HP_F(entry) HP_F(chunk) HP_F(block) HP_F(generation) HP_F(token_begin) HP_F(token_end))
HP_FIELDS(KeyRef, HP_F(key) HP_F(next_token))
HP_FIELDS(Save, HP_F(transfer) HP_F(request) HP_F(token_begin) HP_F(boundary) HP_F(key) HP_F(pages)
                    HP_F(event))
HP_FIELDS(SaveReply, HP_F(transfer) HP_F(copied) HP_F(held) HP_F(refused) HP_F(event))
HP_FIELDS(Load, HP_F(transfer) HP_F(request) HP_F(token_begin) HP_F(boundary) HP_F(keys) HP_F(pages)
                    HP_F(event))
HP_FIELDS(LoadReply, HP_F(transfer) HP_F(error) HP_F(event))
HP_FIELDS(Ack, HP_F(transfer))
HP_FIELDS(Hello, HP_F(instance))
HP_FIELDS(Lookup,
          HP_F(lookup) HP_F(request) HP_F(prompt_tokens) HP_F(chunk_tokens) HP_F(full) HP_F(chunks))
HP_FIELDS(LookupReply, HP_F(lookup) HP_F(answer) HP_F(answers))
HP_FIELDS(Release, HP_F(request))
HP_FIELDS(Done, )
HP_FIELDS(StatsRequest, )
HP_FIELDS(Stats, HP_F(limit_bytes) HP_F(used_bytes) HP_F(objects) HP_F(checkpoints)
                     HP_F(evicted_objects) HP_F(refused_saves) HP_F(saves) HP_F(loads) HP_F(lookups)
                         HP_F(hit_tokens) HP_F(query_tokens))

// In the order of Message's alternatives.
constexpr const char* names[] = {
    "rank_start", "rank_ready",   "step",       "step_done", "shutdown",      "failure", "register",
    "registered", "save",         "save_reply", "load",      "load_reply",    "ack",     "hello",
    "lookup",     "lookup_reply", "release",    "done",      "stats_request", "stats"};
static_assert(std::size(names) == std::variant_size_v<Message>);

template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsArray : std::false_type {};
template <class T, size_t N> struct IsArray<std::array<T, N>> : std::true_type {};
template <class T> struct IsPair : std::false_type {};
template <class A, class B> struct IsPair<std::pair<A, B>> : std::true_type {};
template <class T> constexpr bool is_binary = std::is_same_v<T, Digest> || std::is_same_v<T, Bytes>;

// ---------------------------------------------------------------- writer
template <class T> json put(const T& v) {
  if constexpr (is_binary<T>) {
    return json::binary(Bytes(v.begin(), v.end()));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return json(v);
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    json list = json::array();
    for (const auto& element : v)
      list.push_back(put(element));
    return list;
  } else if constexpr (IsPair<T>::value) {
    json list = json::array();
    list.push_back(put(v.first));
    list.push_back(put(v.second));
    return list;
  } else {
    json map = json::object();
    auto writer = [&map](const char* name, const auto& field) { map[name] = put(field); };
    fields(writer, v);
    return map;
  }
}

// ---------------------------------------------------------------- reader
[[noreturn]] void bad(const std::string& where, const std::string& what) {
  throw ProtocolError("malformed message: " + where + ": " + what);
}

template <class T> void take_integer(const json& j, T& v, const std::string& where) {
  if (j.is_number_unsigned()) {
    const uint64_t wide = j.get<uint64_t>();
    if (wide > static_cast<uint64_t>(std::numeric_limits<T>::max()))
      bad(where, "number out of range");
    v = static_cast<T>(wide);
  } else if (j.is_number_integer()) {
    const int64_t wide = j.get<int64_t>();
    if (std::is_unsigned_v<T> || wide < static_cast<int64_t>(std::numeric_limits<T>::min()))
      bad(where, "number out of range");
    v = static_cast<T>(wide);
  } else {
    bad(where, "not an integer");
  }
}

template <class T> void take(const json& j, T& v, const std::string& where) {
  if constexpr (is_binary<T>) {
    if (!j.is_binary()) bad(where, "not a byte string");
    const auto& bytes = j.get_binary();
    if constexpr (std::is_same_v<T, Digest>) {
      if (bytes.size() != v.size()) bad(where, "not 32 bytes");
      std::copy(bytes.begin(), bytes.end(), v.begin());
    } else {
      v.assign(bytes.begin(), bytes.end());
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!j.is_boolean()) bad(where, "not a truth value");
    v = j.get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!j.is_number()) bad(where, "not a number");
    v = j.get<T>();
  } else if constexpr (std::is_integral_v<T>) {
    take_integer(j, v, where);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!j.is_string()) bad(where, "not a text");
    v = j.get<std::string>();
  } else if constexpr (IsVector<T>::value) {
    if (!j.is_array()) bad(where, "not a list");
    v.resize(j.size());
    for (size_t i = 0; i < v.size(); ++i)
      take(j[i], v[i], where);
  } else if constexpr (IsArray<T>::value) {
    if (!j.is_array() || j.size() != v.size())
      bad(where, "not a list of " + std::to_string(v.size()));
    for (size_t i = 0; i < v.size(); ++i)
      take(j[i], v[i], where);
  } else if constexpr (IsPair<T>::value) {
    if (!j.is_array() || j.size() != 2) bad(where, "not a pair");
    take(j[0], v.first, where);
    take(j[1], v.second, where);
  } else {
    if (!j.is_object()) bad(where, "not a map");
    size_t known = j.count("type"); // only the outermost map has it
    auto reader = [&](const char* name, auto& field) {
      const auto it = j.find(name);
      if (it == j.end()) bad(where, std::string("field ") + name + " is missing");
      ++known;
      take(*it, field, where + "." + name);
    };
    fields(reader, v);
    if (known != j.size()) bad(where, "unknown field");
  }
}

template <size_t I = 0> Message take_message(const json& j, const std::string& type) {
  if constexpr (I == std::variant_size_v<Message>) {
    throw ProtocolError("malformed message: unknown type \"" + type + "\"");
  } else {
    if (type != names[I]) return take_message<I + 1>(j, type);
    std::variant_alternative_t<I, Message> m;
    take(j, m, type);
    return m;
  }
}

} // namespace

const char* message_name(const Message& message) { return names[message.index()]; }

Bytes encode(const Message& message) {
  json map = std::visit([](const auto& m) { return put(m); }, message);
  map["type"] = message_name(message);
  return json::to_cbor(map);
}

Message decode(std::span<const uint8_t> body) {
  json map;
  try {
    map = json::from_cbor(body.begin(), body.end());
  } catch (const json::exception& e) {
    throw ProtocolError(std::string("malformed message: ") + e.what());
  }
  if (!map.is_object()) throw ProtocolError("malformed message: not a map");
  const auto type = map.find("type");
  if (type == map.end() || !type->is_string()) throw ProtocolError("malformed message: no type");
  return take_message(map, type->get<std::string>());
}

} // namespace hitproof::engine
