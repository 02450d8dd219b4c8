#include "engine/front/completions.h"

#include "engine/front/tokenizer.h"

#include <nlohmann/json.hpp>

namespace hitproof::engine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& field, const std::string& message) {
  throw ApiError(400, "invalid_request_error", message, field);
}

// A value for a message: short, whatever was sent.
std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

bool boolean(const json& body, const char* field) {
  const auto found = body.find(field);
  if (found == body.end() || found->is_null()) return false;
  if (!found->is_boolean())
    refuse(field, std::string(field) + " must be true or false, got " + shown(*found));
  return found->get<bool>();
}

int32_t token_id(const json& value, size_t index, int vocabulary) {
  const std::string where = "prompt[" + std::to_string(index) + "]";
  if (!value.is_number_integer())
    refuse("prompt", where + " must be a token id (an integer), got " + shown(value));
  // An unsigned number beyond int64 would come out negative from get<int64_t>: it is out of range
  // either way.
  const auto id = value.get<int64_t>();
  if (id < 0 || id >= vocabulary)
    refuse("prompt", where + " is " + shown(value) + ", outside the vocabulary: ids go from 0 to " +
                         std::to_string(vocabulary - 1));
  return static_cast<int32_t>(id);
}

std::vector<int32_t> prompt_ids(const json& prompt, int vocabulary) {
  if (prompt.is_string()) {
    if (!encodes_text(vocabulary))
      refuse("prompt", "this model's vocabulary of " + std::to_string(vocabulary) +
                           " ids is too small for text; send the prompt as an array of token ids");
    auto ids = encode(prompt.get_ref<const std::string&>());
    if (ids.empty()) refuse("prompt", "prompt is empty; send at least one token");
    return ids;
  }
  if (!prompt.is_array())
    refuse("prompt", "prompt must be a string or an array of token ids, got " + shown(prompt));
  if (prompt.empty()) refuse("prompt", "prompt is empty; send at least one token");
  if (prompt[0].is_array() || prompt[0].is_string()) {
    if (prompt.size() > 1)
      refuse("prompt", "one prompt a request is supported, got " + std::to_string(prompt.size()));
    return prompt_ids(prompt[0], vocabulary);
  }
  std::vector<int32_t> ids;
  ids.reserve(prompt.size());
  for (size_t i = 0; i < prompt.size(); ++i)
    ids.push_back(token_id(prompt[i], i, vocabulary));
  return ids;
}

int32_t max_tokens_of(const json& body) {
  const auto found = body.find("max_tokens");
  if (found == body.end() || found->is_null()) return 16;
  if (!found->is_number_integer())
    refuse("max_tokens", "max_tokens must be an integer, got " + shown(*found));
  const auto value = found->get<int64_t>();
  if (value < 1 || value > INT32_MAX)
    refuse("max_tokens",
           "max_tokens must be at least 1 and fit the model's limit, got " + shown(*found));
  return static_cast<int32_t>(value);
}

// Fields whose usual values ask for nothing, and whose other values would change the answer.
void check_unsupported(const json& body) {
  const auto number = [&](const char* field, double wanted, const char* why) {
    const auto found = body.find(field);
    if (found == body.end() || found->is_null()) return;
    if (!found->is_number())
      refuse(field, std::string(field) + " must be a number, got " + shown(*found));
    if (found->get<double>() != wanted)
      refuse(field, std::string(field) + " " + shown(*found) + " is not supported: " + why);
  };
  number("temperature", 0, "decoding is greedy; leave it out or send 0");
  number("n", 1, "one completion a request");
  number("best_of", 1, "one completion a request");
  number("presence_penalty", 0, "leave it out or send 0");
  number("frequency_penalty", 0, "leave it out or send 0");
  const auto nothing = [&](const char* field, const char* why) {
    const auto found = body.find(field);
    if (found == body.end() || found->is_null() || *found == json(false)) return;
    if ((found->is_array() || found->is_string()) && found->empty()) return;
    refuse(field, std::string(field) + " is not supported: " + why);
  };
  nothing("echo", "the prompt is not repeated; leave it out");
  nothing("stop", "a request ends at max_tokens or at the end-of-sequence id; leave it out");
  nothing("suffix", "leave it out");
  nothing("logprobs", "the margin of each token is in `hitproof`; leave it out");
}

ordered_json choice(const std::string& text, const TokenEvent& event,
                    const std::vector<int32_t>* prompt) {
  ordered_json logits = ordered_json::array();
  static constexpr char digits[] = "0123456789abcdef";
  for (const auto& digest : event.logits) {
    std::string hex;
    for (const uint8_t byte : digest) {
      hex.push_back(digits[byte >> 4]);
      hex.push_back(digits[byte & 15]);
    }
    logits.push_back(std::move(hex));
  }
  ordered_json out = {{"index", 0}, {"text", text}, {"logprobs", nullptr}};
  out["finish_reason"] =
      event.finish == FinishReason::none ? ordered_json() : ordered_json(finish_name(event.finish));
  out["token_ids"] = event.tokens;
  if (prompt) out["prompt_token_ids"] = *prompt;
  out["hitproof"] = {{"logits_sha256", std::move(logits)}, {"margin", event.margin}};
  return out;
}

ordered_json head_json(const AnswerHead& head) {
  return {{"id", "cmpl-" + std::to_string(head.request)},
          {"object", "text_completion"},
          {"created", head.created},
          {"model", head.model}};
}

ordered_json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

} // namespace

CompletionRequest parse_completion(const std::string& text, const ApiLimits& limits) {
  json body;
  try {
    body = json::parse(text);
  } catch (const json::parse_error& error) {
    refuse({},
           "the body is not JSON: byte " + std::to_string(error.byte) +
               " is unexpected; send an object such as {\"prompt\": [1, 2, 3], \"max_tokens\": 8}");
  }
  if (!body.is_object()) refuse({}, "the body must be a JSON object, got " + shown(body));
  if (const auto model = body.find("model"); model != body.end() && !model->is_null()) {
    if (!model->is_string()) refuse("model", "model must be a string, got " + shown(*model));
    if (model->get_ref<const std::string&>() != limits.model)
      throw ApiError(404, "not_found_error",
                     "model " + shown(*model) + " is not served here; this is \"" + limits.model +
                         "\"",
                     "model");
  }
  const auto prompt = body.find("prompt");
  if (prompt == body.end())
    refuse("prompt", "prompt is missing: send a string or an array of token ids");
  check_unsupported(body);
  CompletionRequest request;
  request.prompt = prompt_ids(*prompt, limits.vocabulary);
  request.max_tokens = max_tokens_of(body);
  request.stream = boolean(body, "stream");
  request.ignore_eos = boolean(body, "ignore_eos");
  request.return_token_ids = boolean(body, "return_token_ids");
  return request;
}

std::string completion_body(const AnswerHead& head, const std::string& text,
                            const TokenEvent& tokens, const std::vector<int32_t>* prompt_ids,
                            const Usage& usage) {
  ordered_json body = head_json(head);
  body["choices"] = ordered_json::array({choice(text, tokens, prompt_ids)});
  body["usage"] = usage_json(usage);
  return body.dump();
}

std::string chunk_body(const AnswerHead& head, const std::string& text, const TokenEvent& tokens,
                       const std::vector<int32_t>* prompt_ids) {
  ordered_json body = head_json(head);
  body["choices"] = ordered_json::array({choice(text, tokens, prompt_ids)});
  return body.dump();
}

std::string usage_chunk_body(const AnswerHead& head, const Usage& usage) {
  ordered_json body = head_json(head);
  body["choices"] = ordered_json::array();
  body["usage"] = usage_json(usage);
  return body.dump();
}

std::string error_body(const ApiError& error) {
  const ordered_json body = {
      {"error",
       {{"message", error.what()},
        {"type", error.type},
        {"param", error.param.empty() ? ordered_json() : ordered_json(error.param)},
        {"code", error.status}}}};
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string models_body(const ApiLimits& limits, int64_t created, int max_positions) {
  const ordered_json model = {{"id", limits.model},
                              {"object", "model"},
                              {"created", created},
                              {"owned_by", "hitproof"},
                              {"max_model_len", max_positions}};
  return ordered_json{{"object", "list"}, {"data", ordered_json::array({model})}}.dump();
}

std::string finish_name(FinishReason reason) {
  switch (reason) {
  case FinishReason::length:
    return "length";
  case FinishReason::stop:
    return "stop";
  case FinishReason::aborted:
    return "abort";
  case FinishReason::none:
    break;
  }
  return "none";
}

} // namespace hitproof::engine
