// Text for a terminal: aligned columns, colour where it is wanted, the next command at the end.
#include "cli/escape.h"
#include "cli/formats/formats.h"

#include <algorithm>

namespace hitproof::cli {
namespace {

// Columns on a terminal: bytes that continue a UTF-8 character take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
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
    for (const std::string& note : table.notes)
      line("  " + note);
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

} // namespace

std::unique_ptr<Output> make_text_output(std::ostream& stream, bool color) {
  return std::make_unique<TextOutput>(stream, color);
}

} // namespace hitproof::cli
