// A strict little reader of XML: what the formats write must pass it, whatever names a recording
// holds.
#pragma once

#include <string>
#include <vector>

namespace hitproof::cli::testing {

struct Element {
  std::string name, parent;
  std::vector<std::pair<std::string, std::string>> attributes; // values as they stand, escaped
};

// Empty where `text` is well-formed XML in valid UTF-8, else what is wrong and where. `elements`,
// where given, gets every element in order.
std::string xml_problem(const std::string& text, std::vector<Element>* elements = nullptr);

// Empty where `text` is valid UTF-8 without control characters but line breaks.
std::string utf8_problem(const std::string& text);

// The fields of an RFC 4180 file.
std::vector<std::vector<std::string>> csv_rows(const std::string& text);

} // namespace hitproof::cli::testing
