// Tables for a paper: booktabs, captions and labels; the rest as comments.
#include "cli/escape.h"
#include "cli/formats/formats.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace hitproof::cli {
namespace {

class LatexOutput : public Output {
 public:
  explicit LatexOutput(std::ostream& stream) : out_(stream) {}
  void heading(const std::string& text) override { out_ << "% " << comment(text) << '\n'; }
  void line(const std::string& text) override { out_ << "% " << comment(text) << '\n'; }
  void detail(const std::string& text) override { out_ << "%   " << comment(text) << '\n'; }
  void verdict(const std::string& sentence, const std::string&) override { line(sentence); }

  void table(const audit::Table& table) override {
    out_ << "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{"
         << latex_text(table.title) << "}\n\\label{tab:" << label_of(table.id) << "}\n"
         << (table.columns.size() > 7 ? "\\scriptsize\\setlength{\\tabcolsep}{1.5pt}"
                                      : "\\footnotesize\\setlength{\\tabcolsep}{3pt}")
         << "\n\\begin{tabular}{";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out_ << (table.columns[i].number ? "r" : is_long(table, i) ? "p{.42\\linewidth}" : "l");
    out_ << "}\n\\toprule\n";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out_ << (i ? " & " : "") << stacked(table.columns[i]);
    out_ << " \\\\\n";
    out_ << "\\midrule\n";
    for (const auto& row : table.rows)
      print_row(row);
    out_ << "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
  }

  std::string suffix() const override { return "tex"; }

 private:
  static std::string comment(const std::string& text) { return printable(text); }
  // A column's name in short lines, its unit below: eleven columns have to fit on a page.
  static std::string stacked(const audit::Column& column) {
    std::vector<std::string> lines;
    std::istringstream words(column.name);
    for (std::string word; words >> word;) {
      const bool fits = !lines.empty() && lines.back().size() + word.size() < 12;
      if (fits)
        lines.back() += " " + word;
      else
        lines.push_back(word);
    }
    if (!column.unit.empty()) lines.push_back("(" + column.unit + ")");
    std::string out;
    for (const std::string& line : lines)
      out += (out.empty() ? "" : "\\\\") + latex_text(line);
    if (lines.size() < 2) return out;
    return std::string("\\shortstack[") + (column.number ? "r" : "l") + "]{" + out + "}";
  }
  // Sentences are set as paragraphs, or the table would leave the page.
  static bool is_long(const audit::Table& table, std::size_t column) {
    return std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return column < row.size() && row[column].size() > 48;
    });
  }
  void print_row(const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      // A bracket or star behind the end of the row before would be read as its argument.
      const bool argument = i == 0 && !row[i].empty() && (row[i][0] == '[' || row[i][0] == '*');
      out_ << (i ? " & " : argument ? "{}" : "") << latex_text(row[i]);
    }
    out_ << " \\\\\n";
  }
  // Tables of several archives have the same names; a label may stand once.
  std::string label_of(const std::string& id) {
    const int n = ++labels_[id];
    return n == 1 ? id : id + "-" + std::to_string(n);
  }

  std::ostream& out_;
  std::map<std::string, int> labels_;
};

} // namespace

std::unique_ptr<Output> make_latex_output(std::ostream& stream) {
  return std::make_unique<LatexOutput>(stream);
}

} // namespace hitproof::cli
