#include "cli/output.h"

#include <algorithm>

namespace hitproof::cli {
namespace {

// Columns on a terminal: bytes that continue a UTF-8 character take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string head_of(const audit::Column& column, const char* open, const char* close) {
  return column.unit.empty() ? column.name : column.name + open + column.unit + close;
}

class TextOutput : public Output {
 public:
  TextOutput(std::ostream& stream, bool color) : out_(stream), color_(color) {}

  void heading(const std::string& text) override {
    out_ << '\n' << paint("1", printable(text)) << "\n";
  }
  void line(const std::string& text) override { out_ << printable(text) << '\n'; }
  void detail(const std::string& text) override { out_ << "    " << printable(text) << '\n'; }

  void table(const audit::Table& table) override {
    heading(table.title);
    if (table.rows.empty()) {
      line("  (none)");
      return;
    }
    std::vector<std::size_t> widths;
    for (const auto& column : table.columns)
      widths.push_back(width_of(column.name));
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
        widths[i] = std::max(widths[i], width_of(printable(row[i])));
      }
    }
    std::vector<std::string> names;
    std::size_t total = 0;
    for (const auto& column : table.columns)
      names.push_back(column.name);
    for (const std::size_t w : widths)
      total += w + 2;
    print_row(table, names, widths);
    out_ << "  " << std::string(total > 2 ? total - 2 : 0, '-') << '\n';
    for (const auto& row : table.rows)
      print_row(table, row, widths);
  }

  void verdict(const std::string& sentence, const std::string& next_command) override {
    const char* code = sentence.rfind("PASS", 0) == 0   ? "1;32"
                       : sentence.rfind("FAIL", 0) == 0 ? "1;31"
                                                        : "1;33";
    out_ << '\n' << paint(code, printable(sentence)) << '\n';
    if (!next_command.empty()) out_ << "next: " << printable(next_command) << '\n';
  }

  std::string suffix() const override { return "txt"; }

 private:
  void print_row(const audit::Table& table, const std::vector<std::string>& row,
                 const std::vector<std::size_t>& widths) {
    std::string text = "  ";
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      const std::string cell = printable(row[i]);
      const std::string space(widths[i] - std::min(widths[i], width_of(cell)), ' ');
      text += table.columns[i].number ? space + cell : cell + space;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out_ << text << '\n';
  }

  std::string paint(const char* code, const std::string& text) const {
    return color_ ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
  }

  std::ostream& out_;
  bool color_;
};

// Tables alone, units in the column names; what is talk in text has no place in a CSV file.
class CsvOutput : public Output {
 public:
  explicit CsvOutput(std::ostream& stream) : out_(stream) {}
  void heading(const std::string&) override {}
  void line(const std::string&) override {}
  void detail(const std::string&) override {}
  void verdict(const std::string&, const std::string&) override {}

  void table(const audit::Table& table) override {
    std::vector<std::string> names;
    for (const auto& column : table.columns)
      names.push_back(head_of(column, " [", "]"));
    print_row(names);
    for (const auto& row : table.rows)
      print_row(row);
  }

  std::string suffix() const override { return "csv"; }

 private:
  void print_row(const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out_ << (i ? "," : "") << csv_field(row[i]);
    out_ << "\r\n";
  }
  std::ostream& out_;
};

class LatexOutput : public Output {
 public:
  explicit LatexOutput(std::ostream& stream) : out_(stream) {}
  void heading(const std::string& text) override { out_ << "% " << comment(text) << '\n'; }
  void line(const std::string& text) override { out_ << "% " << comment(text) << '\n'; }
  void detail(const std::string& text) override { out_ << "%   " << comment(text) << '\n'; }
  void verdict(const std::string& sentence, const std::string&) override { line(sentence); }

  void table(const audit::Table& table) override {
    out_ << "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{"
         << latex_text(table.title) << "}\n\\label{tab:" << table.id << "}\n\\begin{tabular}{";
    for (const auto& column : table.columns)
      out_ << (column.number ? 'r' : 'l');
    out_ << "}\n\\toprule\n";
    std::vector<std::string> names;
    for (const auto& column : table.columns)
      names.push_back(head_of(column, " (", ")"));
    print_row(names);
    out_ << "\\midrule\n";
    for (const auto& row : table.rows)
      print_row(row);
    out_ << "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
  }

  std::string suffix() const override { return "tex"; }

 private:
  static std::string comment(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return text;
  }
  void print_row(const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out_ << (i ? " & " : "") << latex_text(row[i]);
    out_ << " \\\\\n";
  }
  std::ostream& out_;
};

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
  return length;
}

} // namespace

std::unique_ptr<Output> make_output(Format format, std::ostream& stream, bool color) {
  switch (format) {
  case Format::csv:
    return std::make_unique<CsvOutput>(stream);
  case Format::latex:
    return std::make_unique<LatexOutput>(stream);
  case Format::text:
    break;
  }
  return std::make_unique<TextOutput>(stream, color);
}

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
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
    case '\\':
      out += "\\textbackslash{}";
      break;
    case '~':
      out += "\\textasciitilde{}";
      break;
    case '^':
      out += "\\textasciicircum{}";
      break;
    case '<':
      out += "\\textless{}";
      break;
    case '>':
      out += "\\textgreater{}";
      break;
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}':
      out += '\\';
      out += c;
      break;
    default:
      out += c;
    }
  }
  return out;
}

} // namespace hitproof::cli
