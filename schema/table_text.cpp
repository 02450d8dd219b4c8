#include "schema/table_text.h"

#include <algorithm>

namespace hitproof::schema {
namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view digits = "0123456789";

std::string in_case(std::string_view text, char first, char shift) {
  std::string out(text);
  for (char& c : out)
    if (c >= first && c < first + 26) c = static_cast<char>(c + shift);
  return out;
}
std::string upper(std::string_view text) { return in_case(text, 'a', 'A' - 'a'); }
std::string lower(std::string_view text) { return in_case(text, 'A', 'a' - 'A'); }

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) { advance(); }

  Result<std::vector<TableText>> run() {
    std::vector<TableText> tables;
    while (!token_.empty() && !failed_) {
      tables.push_back(table());
      if (!take(";") && !token_.empty()) fail();
    }
    if (failed_)
      return Status(Code::invalid_argument,
                    "its definition says " + at_ + ", which no table of a recording does");
    return tables;
  }

 private:
  void skip_blanks() {
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
      std::string_view end;
      if (rest_.starts_with("--"))
        end = "\n";
      else if (rest_.starts_with("/*"))
        end = "*/";
      else
        return;
      const std::size_t at = rest_.find(end, 2);
      rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
    }
  }

  void advance() {
    skip_blanks();
    std::size_t length = rest_.empty() ? 0 : 1;
    if (!rest_.empty() && (rest_[0] == '"' || rest_[0] == '\'')) {
      const std::size_t end = rest_.find(rest_[0], 1);
      length = end == std::string_view::npos ? rest_.size() : end + 1;
    } else if (!rest_.empty() && letters.find(rest_[0]) != std::string_view::npos) {
      while (length < rest_.size() && (letters.find(rest_[length]) != std::string_view::npos ||
                                       digits.find(rest_[length]) != std::string_view::npos))
        ++length;
    } else if (!rest_.empty() && digits.find(rest_[0]) != std::string_view::npos) {
      length = std::min(rest_.find_first_not_of(digits), rest_.size());
    }
    token_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  void fail() {
    if (!failed_)
      at_ = token_.empty() ? "too little" : "'" + std::string(token_.substr(0, 80)) + "'";
    failed_ = true;
  }
  bool take(std::string_view word) {
    if (failed_ || upper(token_) != word) return false;
    advance();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail();
  }

  std::string name() {
    std::string_view word = token_;
    if (word.size() > 2 && word.front() == '"' && word.back() == '"')
      word = word.substr(1, word.size() - 2);
    else if (word.empty() || letters.find(word[0]) == std::string_view::npos)
      fail();
    if (!failed_) advance();
    return lower(word);
  }

  ColumnText column(int* keys) {
    ColumnText c;
    c.name = name();
    for (const char* type : {"INTEGER", "TEXT", "BLOB", "REAL"})
      if (c.type.empty() && take(type)) c.type = type;
    while (!failed_ && token_ != "," && token_ != ")") {
      if (take("NOT")) {
        need("NULL");
        c.not_null = true;
      } else if (take("PRIMARY")) {
        need("KEY");
        c.key = ++*keys;
      } else if (take("DEFAULT")) {
        take("-");
        const bool literal = !token_.empty() && (token_[0] == '\'' ||
                                                 digits.find(token_[0]) != std::string_view::npos);
        if (!literal && upper(token_) != "NULL") fail();
        if (!failed_) advance();
      } else {
        fail();
      }
    }
    return c;
  }

  TableText table() {
    TableText t;
    need("CREATE");
    need("TABLE");
    if (take("IF")) {
      need("NOT");
      need("EXISTS");
    }
    t.name = name();
    need("(");
    int keys = 0;
    do {
      if (!take("PRIMARY")) {
        t.columns.push_back(column(&keys));
        continue;
      }
      need("KEY");
      need("(");
      do {
        const std::string key = name();
        for (ColumnText& c : t.columns)
          if (c.name == key) c.key = ++keys;
      } while (take(","));
      need(")");
    } while (take(","));
    need(")");
    if (take("WITHOUT")) {
      need("ROWID");
      t.without_rowid = true;
    }
    return t;
  }

  std::string_view rest_, token_;
  bool failed_ = false;
  std::string at_;
};

} // namespace

const ColumnText* TableText::find(std::string_view column) const {
  const auto at = std::find_if(columns.begin(), columns.end(),
                               [&](const ColumnText& c) { return c.name == column; });
  return at != columns.end() ? &*at : nullptr;
}

Result<std::vector<TableText>> parse_tables(std::string_view sql) { return Parser(sql).run(); }

} // namespace hitproof::schema
