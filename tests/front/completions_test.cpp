#include "engine/front/completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hitproof::engine {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const ApiLimits limits{"glm5-next-micro", 300};

ApiError refusal(const std::string& body) {
  try {
    parse_completion(body, limits);
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << "accepted: " << body;
  return {0, "", ""};
}

TEST(Completions, TakesIdsAndText) {
  EXPECT_THAT(parse_completion(R"({"prompt":[1,2,299],"max_tokens":4})", limits).prompt,
              testing::ElementsAre(1, 2, 299));
  EXPECT_THAT(parse_completion(R"({"prompt":"ab"})", limits).prompt,
              testing::ElementsAre(3 + 'a', 3 + 'b'));
  EXPECT_THAT(parse_completion(R"({"prompt":[[5,6]]})", limits).prompt, testing::ElementsAre(5, 6));
  const auto r =
      parse_completion(R"({"model":"glm5-next-micro","prompt":[1],"stream":true,"ignore_eos":true,
      "temperature":0.0,"seed":42,"unheard_of":{"x":1},"stop":null,"n":1,"return_token_ids":true})",
                       limits);
  EXPECT_TRUE(r.stream && r.ignore_eos && r.return_token_ids);
  EXPECT_EQ(r.max_tokens, 16);
}

struct BadBody {
  const char* body;
  const char* field;
  const char* says;
};

TEST(Completions, SaysWhatIsWrongAndWhatWouldBeRight) {
  const BadBody bodies[] = {
      {"{\"prompt\": [1,", "", "not JSON: byte"},
      {"[1,2]", "", "must be a JSON object"},
      {"", "", "not JSON"},
      {"{}", "prompt", "prompt is missing"},
      {R"({"prompt":[]})", "prompt", "empty"},
      {R"({"prompt":""})", "prompt", "empty"},
      {R"({"prompt":7})", "prompt", "string or an array"},
      {R"({"prompt":[1,300]})", "prompt",
       "prompt[1] is 300, outside the vocabulary: ids go from 0 to 299"},
      {R"({"prompt":[-1]})", "prompt", "outside the vocabulary"},
      {R"({"prompt":[18446744073709551615]})", "prompt", "outside the vocabulary"},
      {R"({"prompt":[1.5]})", "prompt", "must be a token id"},
      {R"({"prompt":[1,"a"]})", "prompt", "prompt[1] must be a token id"},
      {R"({"prompt":["a","b"]})", "prompt", "one prompt a request"},
      {R"({"prompt":[1],"max_tokens":0})", "max_tokens", "at least 1"},
      {R"({"prompt":[1],"max_tokens":-3})", "max_tokens", "at least 1"},
      {R"({"prompt":[1],"max_tokens":"8"})", "max_tokens", "must be an integer"},
      {R"({"prompt":[1],"max_tokens":99999999999})", "max_tokens", "limit"},
      {R"({"prompt":[1],"temperature":0.7})", "temperature", "greedy"},
      {R"({"prompt":[1],"temperature":"cold"})", "temperature", "must be a number"},
      {R"({"prompt":[1],"stream":"yes"})", "stream", "true or false"},
      {R"({"prompt":[1],"n":2})", "n", "one completion"},
      {R"({"prompt":[1],"stop":["x"]})", "stop", "not supported"},
      {R"({"prompt":[1],"echo":true})", "echo", "not supported"},
      {R"({"prompt":[1],"logprobs":1})", "logprobs", "margin"},
  };
  for (const BadBody& bad : bodies) {
    const ApiError error = refusal(bad.body);
    EXPECT_EQ(error.status, 400) << bad.body;
    EXPECT_EQ(error.param, bad.field) << bad.body;
    EXPECT_THAT(error.what(), HasSubstr(bad.says)) << bad.body;
  }
  EXPECT_EQ(refusal(R"({"model":"other","prompt":[1]})").status, 404);
}

TEST(Completions, TextNeedsAVocabularyForIt) {
  try {
    parse_completion(R"({"prompt":"ab"})", {"m", 128});
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_THAT(error.what(), HasSubstr("array of token ids"));
  }
}

TEST(Completions, ErrorsHaveOpenAiShape) {
  const json body = json::parse(error_body(refusal(R"({"prompt":[300]})")));
  EXPECT_EQ(body["error"]["type"], "invalid_request_error");
  EXPECT_EQ(body["error"]["param"], "prompt");
  EXPECT_EQ(body["error"]["code"], 400);
  // A message may quote bytes that are no text.
  EXPECT_NO_THROW(json::parse(error_body({400, "invalid_request_error", "\xFF"})));
  EXPECT_TRUE(
      json::parse(error_body({503, "service_unavailable_error", "x"}))["error"]["param"].is_null());
}

TEST(Completions, AnswersCarryIdsDigestsAndUsage) {
  TokenEvent event;
  event.tokens = {5, 6};
  event.logits.resize(2);
  event.logits[1][0] = 0xAB;
  event.margin = {0.5f, 0.25f};
  event.finish = FinishReason::length;
  const AnswerHead head{17, 1000, "m"};
  const std::vector<int32_t> prompt = {1, 2, 3};
  const json body = json::parse(completion_body(head, "xy", event, &prompt, {3, 2, 1}));
  EXPECT_EQ(body["id"], "cmpl-17");
  EXPECT_EQ(body["object"], "text_completion");
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["token_ids"], json({5, 6}));
  EXPECT_EQ(choice["prompt_token_ids"], json({1, 2, 3}));
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["hitproof"]["logits_sha256"][1], "ab" + std::string(62, '0'));
  EXPECT_EQ(choice["hitproof"]["margin"][1], 0.25);
  EXPECT_EQ(body["usage"]["total_tokens"], 5);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 1);
  event.finish = FinishReason::none;
  const json chunk = json::parse(chunk_body(head, "x", event, nullptr));
  EXPECT_TRUE(chunk["choices"][0]["finish_reason"].is_null());
  EXPECT_FALSE(chunk["choices"][0].contains("prompt_token_ids"));
  EXPECT_TRUE(json::parse(usage_chunk_body(head, {3, 2, 1}))["choices"].empty());
}

} // namespace
} // namespace hitproof::engine
