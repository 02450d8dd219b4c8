#include "cli/escape.h"

#include <cstdio>

namespace hitproof::cli {
namespace {

// Length of the well-formed UTF-8 character at `at`, 0 where there is none.
std::size_t character_at(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, halves of surrogate pairs, and what lies beyond the last character.
  const unsigned second = byte(at + 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

// Both characters that are no XML although they are UTF-8.
bool is_noncharacter(const std::string& text, std::size_t at) {
  return text.compare(at, 3, "\xef\xbf\xbe") == 0 || text.compare(at, 3, "\xef\xbf\xbf") == 0;
}

} // namespace

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_at(text, at);
    const auto c = static_cast<unsigned char>(text[at]);
    // C1 controls hide behind 0xc2 0x80..0x9f.
    const bool c1 = length == 2 && c == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (length == 0 || c < 0x20 || c == 0x7f || c1) {
      out += '?';
      at += length == 0 ? 1 : length;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

std::string latex_text(const std::string& text) {
  const std::string shown = printable(text);
  std::string out;
  for (std::size_t at = 0; at < shown.size();) {
    const std::size_t length = character_at(shown, at);
    const char c = shown[at];
    const auto byte = static_cast<unsigned char>(c);
    if (length != 1) {
      // pdflatex knows the letters of Latin-1, but for four that need another font encoding, and
      // few beyond; an unknown one would stop it.
      const std::string letter = shown.substr(at, length);
      const bool known = byte == 0xc3 && letter != "\xc3\x90" && letter != "\xc3\x9e" &&
                         letter != "\xc3\xb0" && letter != "\xc3\xbe";
      out += known ? letter : "?";
    } else if (c == '\\' || c == '~' || c == '^' || c == '<' || c == '>' || c == '|' || c == '"') {
      out += c == '\\'  ? "\\textbackslash{}"
             : c == '~' ? "\\textasciitilde{}"
             : c == '^' ? "\\textasciicircum{}"
             : c == '<' ? "\\textless{}"
             : c == '>' ? "\\textgreater{}"
             : c == '|' ? "\\textbar{}"
                        : "\\char34{}";
    } else if (std::string("&%$#_{}").find(c) != std::string::npos) {
      out += '\\';
      out += c;
    } else {
      out += c;
      // Two of these would run together into a dash or another mark.
      if (c == '-' || c == '`' || c == '\'' || c == ',' || c == '?' || c == '!') {
        if (at + 1 < shown.size() && std::string("-`',<>").find(shown[at + 1]) != std::string::npos)
          out += "{}";
      }
    }
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string csv_words(const std::string& text) {
  const std::string shown = printable(text);
  const bool formula = shown.size() > 1 && std::string("=+-@").find(shown[0]) != std::string::npos;
  return csv_field(formula ? "'" + shown : shown);
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = character_at(text, at);
    if (c == '\n' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\'') {
      out += c == '<'    ? "&lt;"
             : c == '>'  ? "&gt;"
             : c == '&'  ? "&amp;"
             : c == '"'  ? "&quot;"
             : c == '\n' ? "\n"
                         : "&#39;";
      ++at;
    } else {
      const std::size_t taken = length == 0 ? 1 : length;
      out += length == 0 || is_noncharacter(text, at) ? "?" : printable(text.substr(at, taken));
      at += taken;
    }
  }
  return out;
}

std::string uri_path(const std::string& path) {
  static const std::string kept =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string out;
  for (const char c : path) {
    char code[8];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    out += kept.find(c) != std::string::npos ? std::string(1, c) : code;
  }
  return out;
}

} // namespace hitproof::cli
