#include "tests/cli/well_formed.h"

#include <cctype>
#include <set>

namespace hitproof::cli::testing {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == ':' ||
         c == '.';
}

// At an ampersand: an entity that XML knows without a document type.
bool is_entity(const std::string& text, std::size_t at) {
  for (const char* known : {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#39;"}) {
    if (text.compare(at, std::string(known).size(), known) == 0) return true;
  }
  return false;
}

struct Reader {
  const std::string& text;
  std::vector<Element>* elements;
  std::size_t at = 0;
  std::vector<std::string> open;
  bool any_root = false;

  std::string wrong(const std::string& what) const {
    return what + " at " + std::to_string(at) + ": " + text.substr(at, 60);
  }

  std::string value(std::string* into) {
    if (at >= text.size() || text[at] != '"') return wrong("attribute without quotes");
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '<') return wrong("'<' in an attribute");
      if (text[at] == '&' && !is_entity(text, at)) return wrong("bare '&' in an attribute");
      *into += text[at];
    }
    ++at;
    return "";
  }

  std::string tag() {
    const bool closing = text[++at] == '/';
    at += closing;
    std::string name;
    while (at < text.size() && is_name(text[at]))
      name += text[at++];
    if (name.empty()) return wrong("tag without a name");
    if (closing) {
      if (open.empty() || open.back() != name)
        return wrong("closes " + name + ", which is not open");
      open.pop_back();
      if (text[at] != '>') return wrong("closing tag does not end");
      ++at;
      return "";
    }
    Element e{name, open.empty() ? "" : open.back(), {}};
    if (open.empty() && any_root) return wrong("second root " + name);
    any_root = true;
    std::set<std::string> seen;
    while (at < text.size() && text[at] != '>' && text[at] != '/') {
      if (!std::isspace(static_cast<unsigned char>(text[at]))) return wrong("no space in the tag");
      while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
        ++at;
      if (text[at] == '>' || text[at] == '/') break;
      std::string key, content;
      while (at < text.size() && is_name(text[at]))
        key += text[at++];
      if (key.empty() || text[at] != '=') return wrong("attribute without a value");
      if (!seen.insert(key).second) return wrong("attribute " + key + " twice");
      ++at;
      if (std::string problem = value(&content); !problem.empty()) return problem;
      e.attributes.emplace_back(key, content);
    }
    const bool empty = at < text.size() && text[at] == '/';
    at += empty;
    if (at >= text.size() || text[at] != '>') return wrong("tag does not end");
    ++at;
    if (elements) elements->push_back(e);
    if (!empty) open.push_back(name);
    return "";
  }

  std::string document() {
    if (text.rfind("<?xml ", 0) == 0) at = text.find("?>") + 2;
    while (at < text.size()) {
      if (text[at] == '<') {
        if (std::string problem = tag(); !problem.empty()) return problem;
        continue;
      }
      if (text[at] == '&' && !is_entity(text, at)) return wrong("bare '&'");
      if (open.empty() && !std::isspace(static_cast<unsigned char>(text[at])))
        return wrong("text outside of the root");
      ++at;
    }
    if (!open.empty()) return "never closed: " + open.back();
    return any_root ? "" : "no element";
  }
};

} // namespace

std::string utf8_problem(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const int more = c < 0x80                ? 0
                     : c >= 0xc2 && c < 0xe0 ? 1
                     : c >= 0xe0 && c < 0xf0 ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : -1;
    if (more < 0) return "no UTF-8 at byte " + std::to_string(i);
    if ((c < 0x20 && c != '\n' && c != '\r') || c == 0x7f)
      return "control character at byte " + std::to_string(i);
    for (int k = 1; k <= more; ++k) {
      const std::size_t at = i + static_cast<std::size_t>(k);
      if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80)
        return "cut character at byte " + std::to_string(i);
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return "";
}

std::string xml_problem(const std::string& text, std::vector<Element>* elements) {
  if (std::string problem = utf8_problem(text); !problem.empty()) return problem;
  return Reader{text, elements, 0, {}, false}.document();
}

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += '"';
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.push_back(std::move(field));
      field.clear();
    } else if (c == '\n') {
      row.push_back(std::move(field));
      field.clear();
      rows.push_back(std::move(row));
      row.clear();
    } else if (c != '\r') {
      field += c;
    }
  }
  return rows;
}

} // namespace hitproof::cli::testing
