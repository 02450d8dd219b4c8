// The one output: what each format makes of the same table.
#include "cli/escape.h"
#include "cli/output.h"

#include <gtest/gtest.h>
#include <sstream>

namespace hitproof::cli {
namespace {

audit::Table sample() {
  return {"sample",
          "Bytes & pages",
          {{"name", "", false}, {"moved", "bytes"}},
          {{"layers_3", "1,024"}, {"a\"b", "7"}},
          {}};
}

std::string rendered(Format format, bool color = false) {
  std::ostringstream text;
  const auto out = make_output(format, text, color);
  out->table(sample());
  out->verdict("PASS: all is well.", "hitproof verify x");
  return text.str();
}

TEST(Output, TextAlignsColumnsAndEndsWithTheNextCommand) {
  const std::string text = rendered(Format::text);
  EXPECT_NE(text.find("  name      moved\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  layers_3  1,024\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  a\"b           7\n"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 24), "next: hitproof verify x\n");
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(rendered(Format::text, true).find("\033[1;32mPASS"), std::string::npos);
}

TEST(Output, EmptyTableSaysSo) {
  std::ostringstream text;
  audit::Table t = sample();
  t.rows.clear();
  make_output(Format::text, text)->table(t);
  EXPECT_NE(text.str().find("(none)"), std::string::npos);
}

// Numbers are plain: whoever reads the file with a program wants no grouping.
TEST(Output, CsvQuotesAndNamesUnits) {
  EXPECT_EQ(rendered(Format::csv), "name,moved [bytes]\r\nlayers_3,1024\r\n\"a\"\"b\",7\r\n");
}

TEST(Output, LatexIsBooktabsAndEscaped) {
  const std::string text = rendered(Format::latex);
  EXPECT_NE(text.find("\\caption{Bytes \\& pages}"), std::string::npos);
  EXPECT_NE(text.find("\\begin{tabular}{lr}"), std::string::npos);
  EXPECT_NE(text.find("layers\\_3 & 1,024 \\\\"), std::string::npos);
  EXPECT_NE(text.find("\\midrule"), std::string::npos);
}

TEST(Output, ControlCharactersAndBrokenTextBecomeVisible) {
  EXPECT_EQ(printable("a\033[2Jb"), "a?[2Jb");
  EXPECT_EQ(printable("\xff"), "?");
  EXPECT_EQ(printable("\xc2\x9b"), "?");
  EXPECT_EQ(printable("Gr\xc3\xbc\xc3\x9f"), "Gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("cut \xe2\x82"), "cut ??");
  EXPECT_EQ(latex_text("50% of {a}_b \\ ~"),
            "50\\% of \\{a\\}\\_b \\textbackslash{} \\textasciitilde{}");
}

} // namespace
} // namespace hitproof::cli
