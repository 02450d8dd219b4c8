// The OpenAI completions interface as text: requests in, answers, stream chunks and errors out. No
// sockets here.
//
// Promises: a body that is not exactly understood is refused with the field's name, what is wrong
// with it and what would be right; fields that are unknown are ignored, fields that are known but
// not supported are refused where they ask for something. Answers carry, beside OpenAI's fields,
// `token_ids` and `hitproof` {logits_sha256, margin} in each choice, one value a token.
#pragma once

#include "engine/front/request_stream.h"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace hitproof::engine {

/// An answer other than success, in OpenAI's form.
struct ApiError : std::runtime_error {
  ApiError(int http_status, std::string api_type, std::string message, std::string field = {})
      : std::runtime_error(message), status(http_status), type(std::move(api_type)),
        param(std::move(field)) {}
  int status;
  std::string
      type; // invalid_request_error, not_found_error, service_unavailable_error, internal_error
  std::string param; // field at fault, empty where none
};

struct ApiLimits {
  std::string model;
  int vocabulary = 0;
};

struct CompletionRequest {
  std::vector<int32_t> prompt;
  int32_t max_tokens = 16;
  bool stream = false;
  bool ignore_eos = false;
  bool return_token_ids = false; // adds prompt_token_ids; the generated ids are always there
};

/// Throws ApiError (400; 404 for another model's name).
CompletionRequest parse_completion(const std::string& body, const ApiLimits& limits);

/// What one request's answers have in common.
struct AnswerHead {
  uint64_t request = 0;
  int64_t created = 0; // seconds since 1970
  std::string model;
};

struct Usage {
  int32_t prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0;
};

/// A finished answer; `tokens` is all events of the request in one.
std::string completion_body(const AnswerHead& head, const std::string& text,
                            const TokenEvent& tokens, const std::vector<int32_t>* prompt_ids,
                            const Usage& usage);
/// One chunk of a stream, without the "data: " around it.
std::string chunk_body(const AnswerHead& head, const std::string& text, const TokenEvent& tokens,
                       const std::vector<int32_t>* prompt_ids);
/// The last chunk: no choices, the usage.
std::string usage_chunk_body(const AnswerHead& head, const Usage& usage);
std::string error_body(const ApiError& error);
std::string models_body(const ApiLimits& limits, int64_t created, int max_positions);

/// name of a finish reason in an answer: "length", "stop", "abort"
std::string finish_name(FinishReason reason);

} // namespace hitproof::engine
