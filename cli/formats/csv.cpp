// Tables as RFC 4180 wants them, units in the column names.
#include "cli/escape.h"
#include "cli/formats/formats.h"

namespace hitproof::cli {
namespace {

// What is talk in text has no place in a CSV file.
class CsvOutput : public Output {
 public:
  explicit CsvOutput(std::ostream& stream) : out_(stream) {}
  void heading(const std::string&) override {}
  void line(const std::string&) override {}
  void detail(const std::string&) override {}
  void verdict(const std::string&, const std::string&) override {}

  void table(const audit::Table& table) override {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out_ << (i ? "," : "") << csv_field(printable(head_of(table.columns[i], " [", "]")));
    out_ << "\r\n";
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < row.size(); ++i)
        out_ << (i ? "," : "") << cell(row[i], i < table.columns.size() && table.columns[i].number);
      out_ << "\r\n";
    }
  }

  std::string suffix() const override { return "csv"; }

 private:
  // Numbers are plain, so that a program reads them as numbers; the rest is words.
  static std::string cell(const std::string& text, bool number) {
    return number && is_number(text) ? plain_number(text) : csv_words(text);
  }
  std::ostream& out_;
};

} // namespace

std::unique_ptr<Output> make_csv_output(std::ostream& stream) {
  return std::make_unique<CsvOutput>(stream);
}

} // namespace hitproof::cli
