// The texts of a continuation study, written anew from a seed for any length: what stands in them
// is computed, so every statement in them holds.
//
//   ledger  English: bookings of an account with the balance after each
//   rules   Chinese: three rules applied in order to a number, step by step
//   code    English about Python: small functions and what they return, with the reason
#pragma once

#include <cstdint>
#include <string>

namespace hitproof::cli {

// Exactly `bytes` bytes of UTF-8. `name` tells the texts of one template apart and stands, with the
// template, within the first 64 bytes; `name` has at most 24 characters. Where the length would cut
// a character, the text ends before it and is filled with full stops. An unknown template is an
// empty text of that length, which no valid plan asks for.
std::string prompt_text(const std::string& prompt_template, const std::string& name,
                        std::size_t bytes, std::uint64_t seed);

} // namespace hitproof::cli
