#include "engine/runtime/protocol.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hitproof::engine {
namespace {

using nlohmann::json;

Digest digest(uint8_t first) {
  Digest d{};
  for (size_t i = 0; i < d.size(); ++i)
    d[i] = static_cast<uint8_t>(first + i);
  return d;
}

SeqOrder sequence() {
  SeqOrder s;
  s.request = 7;
  s.start = 1791;
  s.tokens = {4, 4095};
  s.last_is_draft = true;
  s.next_token = -1;
  s.prompt_tokens = 3583;
  s.attention = {{3, 1}, {9, 4294967295u}};
  s.tail = {5, 2};
  s.state[1] = {{6, 1}, {{{7, 1}, {8, 3}}}};
  return s;
}

// One of each, with values at the edges of their types.
std::vector<Message> one_of_each() {
  SaveOrder save_order{(uint64_t{1} << 48) | 3,   7, 1792, digest(1), {3, 1}, {5, 2},
                       {{{6, 1}, {7, 1}, {8, 3}}}};
  LoadOrder load_order{
      5, 7, 0, 3584, {{digest(2), 17}, {digest(3), unknown_token}}, {{3, 1}, {4, 1}}, {5, 2}, {}};
  EntryExport entry;
  entry.name = "layers.45.tail";
  entry.layer = -1;
  entry.shape = {2, 4, 16, 0};
  entry.stride = {64, 16, 1, -1};
  entry.reason = "rebuilt";
  RankStart start{"micro", 18446744073709551615u, 4,    64,     1, {{"chunk", "64"}},
                  true,    "save-no-wait",        "@x", "nccl", 9};
  return {start,
          RankReady{3, digest(4), {{"weights", digest(5)}}, {{"chunk", "64"}}, "sim"},
          Step{11, {sequence(), SeqOrder{}}, {save_order}, {load_order}},
          StepDone{11,
                   {{7, 2, {4, 5}, {digest(6), digest(7)}, {0.25f, 0.0f}, -1}},
                   {{5, 70, 0, false}},
                   {{6, 0, 0, true}}},
          Shutdown{},
          Failure{"why"},
          Register{9, 2, 4, {{"rank", digest(8)}}, {{{1, 2, 3}, 4096}}, {entry}, "", 3},
          Registered{1u << 30},
          Save{5, 7, 0, 1792, {digest(9), 3}, {{69, 1, 3, 1, 0, 1792}}, {9, 9}},
          SaveReply{5, 1, 69, false, {1}},
          Load{5, 7, 0, 3584, {{digest(1), 3}}, {{0, 0, 3, 1, 0, 1792}}, {}},
          LoadReply{5, "not held", {}},
          Ack{5},
          Hello{9},
          Lookup{1, 7, 3584, 1792, true, {{digest(1), 3}, {digest(2), unknown_token}}},
          LookupReply{1, 1792, {{1792, 1792, 3584, 0, 0, 0}}},
          Release{7},
          Done{},
          StatsRequest{},
          Stats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
}

json parts(const Message& m) { return json::from_cbor(encode(m)); }

std::string refusal(const json& j) {
  try {
    (void)decode(json::to_cbor(j));
  } catch (const ProtocolError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Protocol, EveryMessageComesBackEqual) {
  const auto messages = one_of_each();
  ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].index(), i);
    EXPECT_TRUE(decode(encode(messages[i])) == messages[i]) << message_name(messages[i]);
  }
}

TEST(Protocol, EveryPrefixOfAMessageIsRefused) {
  const Bytes whole = encode(one_of_each()[2]);
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_THROW((void)decode(std::span(whole).first(n)), ProtocolError) << n;
}

TEST(Protocol, NoFlippedByteCrashes) {
  for (const Message& m : one_of_each()) {
    const Bytes whole = encode(m);
    for (size_t i = 0; i < whole.size(); ++i) {
      Bytes spoiled = whole;
      spoiled[i] ^= 0x55;
      try {
        (void)decode(spoiled);
      } catch (const ProtocolError&) {
      }
    }
  }
}

TEST(Protocol, AMissingFieldIsNamed) {
  json j = parts(one_of_each()[2]);
  j["seqs"][0].erase("start");
  EXPECT_NE(refusal(j).find("field start is missing"), std::string::npos) << refusal(j);
}

TEST(Protocol, AnUnknownFieldIsRefused) {
  json j = parts(Ack{1});
  j["colour"] = 1;
  EXPECT_NE(refusal(j).find("unknown field"), std::string::npos);
}

TEST(Protocol, AnUnknownTypeIsNamed) {
  json j = parts(Ack{1});
  j["type"] = "nack";
  EXPECT_NE(refusal(j).find("\"nack\""), std::string::npos);
  EXPECT_NE(refusal(json::object()).find("no type"), std::string::npos);
  EXPECT_NE(refusal(json::array()).find("not a map"), std::string::npos);
}

TEST(Protocol, NumbersOutsideTheirTypeAreRefused) {
  json page = parts(one_of_each()[8]);
  page["pages"][0]["entry"] = 70000;
  EXPECT_NE(refusal(page).find("save.pages.entry: number out of range"), std::string::npos)
      << refusal(page);
  json negative = parts(Ack{1});
  negative["transfer"] = -1;
  EXPECT_NE(refusal(negative).find("out of range"), std::string::npos);
  json start = parts(one_of_each()[2]);
  start["seqs"][0]["start"] = 3000000000u;
  EXPECT_NE(refusal(start).find("out of range"), std::string::npos);
}

TEST(Protocol, DigestsHave32Bytes) {
  json j = parts(one_of_each()[8]);
  j["key"]["key"] = json::binary({1, 2, 3});
  EXPECT_NE(refusal(j).find("not 32 bytes"), std::string::npos);
  j["key"]["key"] = "text";
  EXPECT_NE(refusal(j).find("not a byte string"), std::string::npos);
}

} // namespace
} // namespace hitproof::engine
