// Tables for a paper: booktabs, captions and labels; the rest as comments.
#include "cli/escape.h"
#include "cli/formats/formats.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
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
    const bool small = table.columns.size() > 7;
    const std::vector<double> widths = paragraph_widths(table, small ? 3.5 : 4.1);
    out_ << "% needs \\usepackage{booktabs,array,graphicx}\n\\begin{table}\n\\centering\n\\caption{"
         << latex_text(table.title) << "}\n\\label{tab:" << label_of(table.id) << "}\n"
         << (small ? "\\scriptsize" : "\\footnotesize") << "\\setlength{\\tabcolsep}{"
         << (table.columns.size() > 9 ? "1.5pt}" : "3pt}") << "\n\\sbox0{\\begin{tabular}{";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      char column[80];
      std::snprintf(column, sizeof column, ">{\\raggedright\\arraybackslash}p{%.2f\\linewidth}",
                    widths[i]);
      out_ << (widths[i] > 0 ? column : table.columns[i].number ? "r" : "l");
    }
    out_ << "}\n\\toprule\n";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out_ << (i ? " & " : "") << stacked(table.columns[i]);
    out_ << " \\\\\n";
    out_ << "\\midrule\n";
    for (const auto& row : table.rows)
      print_row(row, widths);
    if (table.rows.empty()) out_ << "\\multicolumn{" << table.columns.size() << "}{l}{none} \\\\\n";
    // What is still larger than the page is made smaller as a whole.
    out_ << "\\bottomrule\n\\end{tabular}}%\n"
            "\\ifdim\\wd0>\\linewidth\\sbox0{\\resizebox{\\linewidth}{!}{\\usebox0}}\\fi\n"
            "\\ifdim\\dimexpr\\ht0+\\dp0\\relax>.8\\textheight"
            "\\sbox0{\\resizebox*{!}{.8\\textheight}{\\usebox0}}\\fi\n\\usebox0\n";
    for (const std::string& note : table.notes) {
      out_ << "\\par\\smallskip\\parbox{\\linewidth}{\\scriptsize\\raggedright " << latex_text(note)
           << "}\n";
    }
    out_ << "\\end{table}\n";
  }

  std::string suffix() const override { return "tex"; }

 private:
  static std::string comment(const std::string& text) { return printable(text); }
  // A column's name in short lines, its unit below: eleven columns have to fit on a page.
  static std::vector<std::string> lines_of(const audit::Column& column) {
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
    return lines;
  }
  static std::string stacked(const audit::Column& column) {
    const std::vector<std::string> lines = lines_of(column);
    std::string out;
    for (const std::string& line : lines)
      out += (out.empty() ? "" : "\\\\") + latex_text(line);
    if (lines.size() < 2) return out;
    // A table of its own and no \shortstack, which would touch the rule above.
    return std::string("\\begin{tabular}[b]{@{}") + (column.number ? "r" : "l") + "@{}}" + out +
           "\\end{tabular}";
  }
  // Of each column, as a part of the line, 0 for as wide as it needs. Sentences are set as
  // paragraphs, then the longest other words, until the table fits a line of a letter page;
  // `letter` is about how wide a letter is, in points.
  static std::vector<double> paragraph_widths(const audit::Table& table, double letter) {
    constexpr double line = 345, least = .25, narrowest = .16, widest = .5;
    constexpr std::size_t sentence = 48, short_word = 16;
    std::vector<double> lengths, widths(table.columns.size(), 0);
    double used = 0;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::size_t longest = 0;
      for (const std::string& head : lines_of(table.columns[c]))
        longest = std::max(longest, head.size());
      for (const auto& row : table.rows)
        longest = std::max(longest, c < row.size() ? row[c].size() : 0);
      lengths.push_back(static_cast<double>(longest));
      used += letter * lengths.back() + 6;
    }
    double paragraphs = 0;
    for (;;) {
      std::size_t next = lengths.size();
      for (std::size_t c = 0; c < lengths.size(); ++c) {
        if (table.columns[c].number || widths[c] > 0 || lengths[c] <= short_word) continue;
        if (next == lengths.size() || lengths[c] > lengths[next]) next = c;
      }
      if (next == lengths.size()) break;
      if (lengths[next] <= sentence && used + paragraphs * least * line <= line) break;
      used -= letter * lengths[next];
      widths[next] = 1;
      ++paragraphs;
    }
    const double share = std::clamp((line - used) / line / paragraphs, narrowest, widest);
    for (double& width : widths)
      width = width > 0 ? share : 0;
    return widths;
  }
  // Text of a paragraph in which names may be broken behind their parts and digests anywhere.
  static std::string breakable(const std::string& text) {
    constexpr std::size_t longest = 16;
    std::string out;
    std::size_t run = 0; // letters and digits without a break
    for (std::size_t at = 0; at < text.size(); ++at) {
      const bool plain = std::isalnum(static_cast<unsigned char>(text[at])) != 0;
      // The letters of a command are no text: \textbackslash{}.
      const bool command = text[at] == '\\' && at + 1 < text.size() &&
                           std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0;
      if (command) {
        const std::size_t end = text.find('}', at);
        const std::size_t taken = (end == std::string::npos ? text.size() - 1 : end) - at;
        out += text.substr(at, taken);
        at += taken;
      }
      out += text[at];
      run = plain && !command ? run + 1 : 0;
      const bool name = text[at] == '_';
      if (!name && run < longest) continue;
      out += "\\allowbreak{}";
      run = 0;
    }
    return out;
  }
  void print_row(const std::vector<std::string>& row, const std::vector<double>& widths) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      // A bracket or star behind the end of the row before would be read as its argument.
      const bool argument = i == 0 && !row[i].empty() && (row[i][0] == '[' || row[i][0] == '*');
      std::string cell = latex_text(row[i]);
      if (i < widths.size() && widths[i] > 0) cell = breakable(cell);
      out_ << (i ? " & " : argument ? "{}" : "") << cell;
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
