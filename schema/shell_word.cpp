#include "schema/shell_word.h"

namespace hitproof::schema {
namespace {

// Not "=": the start of a command may set a variable, and zsh looks up what follows.
constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789/._-+:@,";

} // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out;
  if (text.find('!') != std::string::npos) {
    for (const char c : text)
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return "'" + out + "'";
  }
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$' || c == '`') out += '\\';
    out += c;
  }
  return "\"" + out + "\"";
}

} // namespace hitproof::schema
