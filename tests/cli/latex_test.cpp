// The tables of real archives as a paper: LaTeX takes all of them, and none leaves the page.
#include "audit/together.h"
#include "cli/output.h"
#include "tests/audit/fixture.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

namespace hitproof::cli::testing {
namespace {

using namespace audit;
using namespace audit::testing;

Dossier dossier_of(const std::string& dir) {
  auto made = make_dossier(dir);
  if (!made.ok()) throw std::runtime_error(made.status().to_string());
  return std::move(made).value();
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string missing_tool() {
  if (std::system("command -v pdflatex >/dev/null") != 0) return "pdflatex";
  for (const char* file : {"booktabs.sty", "array.sty", "graphicx.sty"}) {
    if (std::system((std::string("kpsewhich ") + file + " >/dev/null").c_str()) != 0) return file;
  }
  return "";
}

// The log of a paper with `body`; empty where LaTeX gave up.
std::string log_of(const std::string& folder, const std::string& body) {
  std::ofstream(folder + "/paper.tex")
      << "\\documentclass{article}\n\\usepackage{booktabs,array,graphicx}\n"
         "\\begin{document}\n"
      << body << "\\end{document}\n";
  const std::string command = "cd " + folder +
                              " && rm -f paper.pdf && pdflatex -interaction=nonstopmode "
                              "-halt-on-error paper.tex >said.txt 2>&1";
  return std::system(command.c_str()) == 0 ? contents(folder + "/paper.log") : "";
}

// What sticks out of the text by more than two points.
std::vector<std::string> too_wide(const std::string& log) {
  static const std::regex overfull(R"(Overfull \\hbox \(([0-9.]+)pt too wide\)[^\n]*)");
  std::vector<std::string> out;
  for (std::sregex_iterator it(log.begin(), log.end(), overfull), end; it != end; ++it) {
    if (std::stod((*it)[1]) > 2) out.push_back(it->str());
  }
  return out;
}

TEST(Latex, AllTablesMakeAPaper) {
  if (const std::string tool = missing_tool(); !tool.empty())
    GTEST_SKIP() << "no " << tool << " on this machine (texlive-latex-base, -recommended)";
  ScratchDir first, second, full, folder;
  write_archive(first.path(), small_spec());
  write_archive(second.path(), small_spec());
  StudySpec spec = small_spec();
  spec.full_lookup = true;
  write_archive(full.path(), spec);
  const Dossier one = dossier_of(first.path()), two = dossier_of(second.path()),
                other = dossier_of(full.path());
  auto mixed = put_together({one, other}, {{"strict", "full"}, false});
  auto repeated = put_together({one, two}, {{"run-1", "run-2"}, true});
  ASSERT_TRUE(mixed.ok()) << mixed.status().to_string();
  ASSERT_TRUE(repeated.ok()) << repeated.status().to_string();
  std::ostringstream body;
  const auto out = make_output(Format::latex, body);
  std::set<std::string> ids;
  for (const Dossier& d : {one, other, *mixed, *repeated}) {
    out->archive(d);
    for (const Table& t : d.tables)
      ids.insert(t.id);
    body << "\\clearpage\n";
  }
  // The paper's Tables 2 to 7.
  for (const char* id : {"conditions", "numerical_control", "boundary_before_after", "regression",
                         "continuations", "performance"})
    EXPECT_TRUE(ids.count(id)) << id;
  const std::string log = log_of(folder.path(), body.str());
  ASSERT_FALSE(log.empty()) << contents(folder.path() + "/said.txt");
  EXPECT_EQ(too_wide(log), std::vector<std::string>());
  EXPECT_EQ(contents(folder.path() + "/paper.pdf").substr(0, 5), "%PDF-");
  EXPECT_EQ(log.find("multiply defined"), std::string::npos) << "a label stands twice";
}

// The control of too_wide, and that the widest table still fits.
TEST(Latex, ATableThatLeavesThePageIsSeen) {
  if (const std::string tool = missing_tool(); !tool.empty())
    GTEST_SKIP() << "no " << tool << " on this machine (texlive-latex-base, -recommended)";
  ScratchDir folder;
  Table wide{"wide", "Wide", {}, {{}}, {}};
  for (int i = 0; i < 20; ++i) {
    wide.columns.push_back({"aconspicuouslylongword", ""});
    wide.rows[0].push_back("1,234,567,890");
  }
  std::ostringstream body;
  make_output(Format::latex, body)->table(wide);
  EXPECT_EQ(too_wide(log_of(folder.path(), body.str())), std::vector<std::string>());
  std::string unfitted = body.str();
  const std::string fit = "\\ifdim\\wd0>\\linewidth";
  ASSERT_NE(unfitted.find(fit), std::string::npos);
  unfitted.replace(unfitted.find(fit), fit.size(), "\\iffalse");
  EXPECT_FALSE(too_wide(log_of(folder.path(), unfitted)).empty());
}

TEST(Latex, NotesStandUnderTheirTable) {
  Table t{"t", "T", {{"a", "", false}}, {{"x"}}, {}, {"50% of it_all is missing."}};
  std::ostringstream text;
  make_output(Format::latex, text)->table(t);
  const std::string out = text.str();
  EXPECT_LT(out.find("\\end{tabular}"), out.find("50\\% of it\\_all is missing."));
  EXPECT_LT(out.find("50\\% of it"), out.find("\\end{table}"));
}

} // namespace
} // namespace hitproof::cli::testing
