// Text of a recording, made safe for where it is shown. A recording may hold any bytes: names that
// a watched program gave, cut in the middle of a character, or made by somebody who means harm.
// Each function takes any bytes and answers valid UTF-8.
#pragma once

#include <string>

namespace hitproof::cli {

// Control characters and broken UTF-8, made visible as '?': no text of an archive may move the
// cursor of whoever reads it.
std::string printable(const std::string& text);

// A field as RFC 4180 wants it.
std::string csv_field(const std::string& text);
// The same for words: what a spreadsheet would take for a formula gets an apostrophe in front.
std::string csv_words(const std::string& text);

std::string latex_text(const std::string& text);

// For text and for quoted attributes of XML and HTML. Line breaks stay, other controls do not: XML
// 1.0 knows no way to write them.
std::string xml_text(const std::string& text);

// A path as the path of a relative URI reference (RFC 3986).
std::string uri_path(const std::string& path);

} // namespace hitproof::cli
