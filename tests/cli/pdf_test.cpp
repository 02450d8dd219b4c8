// The figures as PDF: a file whose parts are where its table says, that holds what the picture
// shows, and that other people's readers take.
#include "cli/formats/figures.h"
#include "cli/formats/ink.h"
#include "cli/formats/pdf.h"
#include "cli/formats/svg.h"
#include "cli/output.h"
#include "tests/cli/hostile.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace hitproof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Empty where each object begins where the cross-reference table says, each stream is as long as it
// says, strings and dictionaries are closed; else what is wrong.
std::string pdf_problem(const std::string& pdf) {
  if (pdf.rfind("%PDF-1.4\n", 0) != 0) return "no header";
  if (pdf.size() < 6 || pdf.substr(pdf.size() - 6) != "%%EOF\n") return "no end";
  const auto stands = [&](std::size_t at, const std::string& text) {
    return at < pdf.size() && pdf.compare(at, text.size(), text) == 0;
  };
  const std::size_t mark = pdf.rfind("startxref\n");
  if (mark == std::string::npos) return "no startxref";
  const std::size_t table = std::stoul(pdf.substr(mark + 10));
  if (!stands(table, "xref\n0 ")) return "startxref does not lead to the table";
  const std::size_t count = std::stoul(pdf.substr(table + 7));
  const std::size_t entries = pdf.find('\n', table + 7) + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string entry = pdf.substr(entries + 20 * i, 20);
    if (entry.size() != 20 || entry.substr(entry.size() - 2) != " \n") return "an entry's form";
    if (i == 0) continue;
    const std::size_t at = std::stoul(entry.substr(0, 10));
    const std::string head = std::to_string(i) + " 0 obj\n";
    if (!stands(at, head)) return "object " + std::to_string(i) + " is not there";
  }
  const std::size_t length = pdf.find("/Length "), stream = pdf.find("stream\n", length);
  const std::size_t size = std::stoul(pdf.substr(length + 8));
  if (!stands(stream + 7 + size, "\nendstream\n")) return "the stream's length";
  int strings = 0, dictionaries = 0;
  for (std::size_t at = pdf.find('\n', 10); at < table; ++at) {
    if (pdf[at] == '\\')
      ++at;
    else if (pdf[at] == '(')
      ++strings;
    else if (pdf[at] == ')')
      --strings;
    else if (strings == 0 && pdf.compare(at, 2, "<<") == 0)
      ++dictionaries, ++at;
    else if (strings == 0 && pdf.compare(at, 2, ">>") == 0)
      --dictionaries, ++at;
    if (strings < 0 || strings > 1 || dictionaries < 0) return "a string or dictionary";
  }
  return strings == 0 && dictionaries == 0 ? "" : "something is left open";
}

Picture small() {
  Picture p(200, 100, "A (small) title", "what it shows");
  p.text(10, 20, "small", "left (1)");
  p.text(190, 20, "strong", "right", "end");
  p.line(0, 50, 200, 50, "rule");
  p.rect(20, 60, 30, 10, "m1", "a tip");
  p.circle(100, 70, 5, "c1 point");
  return p;
}

TEST(Pdf, TheReaderCanFail) {
  const std::string good = pdf_of(small());
  ASSERT_EQ(pdf_problem(good), "");
  const auto changed = [&](const std::string& what, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(what), what.size(), to);
    return pdf_problem(bad);
  };
  EXPECT_NE(changed("2 0 obj", "2  0 obj"), "");
  EXPECT_NE(changed("/Length ", "/Length 1"), "");
  EXPECT_NE(changed("\\(small\\)", "(small"), "");
  EXPECT_NE(changed("startxref\n", "startxref\n1"), "");
  EXPECT_NE(pdf_problem(good.substr(0, good.size() - 20)), "");
}

TEST(Pdf, HoldsWhatThePictureShows) {
  const std::string pdf = pdf_of(small());
  EXPECT_THAT(pdf, HasSubstr("/MediaBox [0 0 200 100 ]"));
  EXPECT_THAT(pdf, HasSubstr("(left \\(1\\)) Tj"));
  EXPECT_THAT(pdf, HasSubstr("10 80 Td")) << "y runs upwards";
  EXPECT_THAT(pdf, HasSubstr("/F2 10 Tf"));
  EXPECT_THAT(pdf, HasSubstr("20 30 30 10 re f")) << "a rectangle from its lower corner";
  EXPECT_THAT(pdf, HasSubstr("0 50 m 200 50 l S"));
  EXPECT_THAT(pdf, HasSubstr("/Title (A \\(small\\) title)"));
  EXPECT_THAT(pdf, HasSubstr("/ca 0.35"));
  EXPECT_THAT(pdf, HasSubstr("/ca 0.45"));
  EXPECT_THAT(pdf, Not(HasSubstr("a tip"))) << "nobody points at paper";
  EXPECT_EQ(pdf, pdf_of(small())) << "equal pictures, equal bytes";
}

// H 722, I 278, T 611, P 667, R 722, O 778 twice, F 611.
TEST(Pdf, TextIsAsWideAsItsLetters) {
  EXPECT_DOUBLE_EQ(text_width("HITPROOF", 1000, false), 5167);
  EXPECT_DOUBLE_EQ(text_width("il", 1000, false), 444);
  EXPECT_DOUBLE_EQ(text_width("il", 1000, true), 556);
  EXPECT_DOUBLE_EQ(text_width("Gr\xc3\xbc\xc3\x9f", 1000, false), 778 + 333 + 556 + 556);
}

TEST(Pdf, EveryFigureOfAHostileArchiveIsValid) {
  const audit::Dossier d = hostile_dossier();
  const auto figures = figures_of(d);
  ASSERT_EQ(figures.size(), 4u);
  for (const auto& [name, picture] : figures) {
    const std::string pdf = pdf_of(picture);
    EXPECT_EQ(pdf_problem(pdf), "") << name;
    std::ostringstream text;
    make_output(Format::pdf, text)->part(d, name);
    EXPECT_EQ(text.str(), pdf) << name;
  }
}

// A class without a look would be black on paper and on screen.
TEST(Pdf, EveryClassOfAFigureHasALook) {
  std::set<std::string> known;
  for (const Look& look : looks())
    known.insert(look.name);
  auto figures = figures_of(hostile_dossier());
  figures.emplace_back("witness", witness_figure(hostile_dossier().report.rules[0].findings[0]));
  const audit::Dossier d = hostile_dossier();
  for (const audit::OrderPath& path : d.report.rules[3].paths)
    figures.emplace_back("path", path_figure(path, d.timeline));
  for (const auto& [name, picture] : figures) {
    for (const Shape& s : picture.shapes()) {
      std::istringstream list(s.classes);
      for (std::string word; list >> word;)
        EXPECT_TRUE(known.count(word)) << word << " in " << name;
    }
  }
}

TEST(Pdf, OtherProgramsTakeIt) {
  std::string tool;
  for (const char* name : {"qpdf", "mutool", "pdfinfo"}) {
    if (std::system((std::string("command -v ") + name + " >/dev/null").c_str()) == 0) {
      tool = name;
      break;
    }
  }
  if (tool.empty()) GTEST_SKIP() << "no qpdf, mutool or pdfinfo on this machine";
  std::string folder = (std::filesystem::temp_directory_path() / "hitproof-pdf-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const auto& [name, picture] : figures_of(hostile_dossier())) {
    const std::string path = folder + "/" + name + ".pdf";
    std::ofstream(path, std::ios::binary) << pdf_of(picture);
    const std::string command = tool == "qpdf"     ? "qpdf --check " + path
                                : tool == "mutool" ? "mutool info " + path
                                                   : "pdfinfo " + path;
    EXPECT_EQ(std::system((command + " >" + folder + "/log 2>&1").c_str()), 0) << command;
    // The control: the same file with its table moved is complained about.
    std::string broken = pdf_of(picture);
    broken.insert(20, "      ");
    std::ofstream(path, std::ios::binary) << broken;
    if (tool == "qpdf") {
      EXPECT_NE(std::system((command + " >" + folder + "/log 2>&1").c_str()), 0);
    }
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace hitproof::cli::testing
