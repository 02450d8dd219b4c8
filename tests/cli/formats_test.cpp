// Every format, given names that mean harm: what comes out is well-formed, says what went in, and
// has the structure that its readers ask for.
#include "audit/rule.h"
#include "cli/escape.h"
#include "cli/output.h"
#include "tests/cli/hostile.h"
#include "tests/cli/well_formed.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace hitproof::cli::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string document(Format format, const std::vector<audit::Dossier>& dossiers) {
  std::ostringstream text;
  const auto out = make_output(format, text);
  for (const auto& d : dossiers)
    out->archive(d);
  out->finish();
  return text.str();
}

TEST(Formats, TheReaderOfXmlCanFail) {
  EXPECT_EQ(xml_problem("<a b=\"1\"><c/>&amp;</a>"), "");
  for (const char* bad : {"<a>", "<a></b>", "<a b=1/>", "<a>&</a>", "<a b=\"<\"/>", "<a/><b/>",
                          "<a>\x01</a>", "<a>\xff</a>", "<a b=\"1\" b=\"2\"/>", "text"}) {
    EXPECT_NE(xml_problem(bad), "") << bad;
  }
}

TEST(Formats, JsonKeepsValuesAndTraces) {
  const json j = json::parse(document(Format::json, {hostile_dossier(), hostile_dossier()}));
  ASSERT_EQ(j["archives"].size(), 2u);
  const json& a = j["archives"][0];
  EXPECT_EQ(a["tables"][0]["columns"][1]["unit"], "bytes");
  EXPECT_EQ(a["tables"][0]["rows"][0][1], 1234567);
  EXPECT_TRUE(a["tables"][0]["rows"][1][1].is_null());
  EXPECT_EQ(a["tables"][0]["rows"][2][1], "12 of 12");
  EXPECT_EQ(a["tables"][0]["traces"][0][1]["statement"], "SELECT 1234567;");
  EXPECT_EQ(a["rules"][0]["figures"][0]["trace"]["source"], "pages.sql");
  EXPECT_THAT(a["rules"][0]["findings"][0]["words"].get<std::string>(),
              HasSubstr("<script>alert(1)</script> & 50% of {a}_b $x$"));
}

TEST(Formats, CsvCellsComeBack) {
  const auto rows = csv_rows(document(Format::csv, {hostile_dossier()}));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0][1], "moved [bytes]");
  EXPECT_EQ(rows[1][0], printable(hostile));
  EXPECT_EQ(rows[1][1], "1234567");
  EXPECT_EQ(rows[2][1], "-");
  EXPECT_EQ(rows[3][0], "'=1+1") << "a spreadsheet would compute it";
  for (const auto& row : rows)
    EXPECT_EQ(row.size(), 2u);
}

TEST(Formats, LatexEscapesEveryCommand) {
  const std::string text = document(Format::latex, {hostile_dossier(), hostile_dossier()});
  EXPECT_EQ(utf8_problem(text), "");
  EXPECT_THAT(text, HasSubstr("50\\% of \\{a\\}\\_b \\$x\\$ \\#1 "
                              "\\textasciitilde{}\\textasciicircum{}\\textbackslash{}"));
  EXPECT_THAT(text, HasSubstr("{}[x]")) << "a bracket at the begin of a row is an argument";
  EXPECT_THAT(text, HasSubstr("\\label{tab:sample-2}")) << "labels stand once";
  EXPECT_THAT(text, Not(HasSubstr("\xe6\xbc\xa2"))) << "pdflatex has no such letter";
  EXPECT_THAT(text, HasSubstr("Gr\xc3\xbc\xc3\x9f"));
}

TEST(Formats, LatexMakesAPdf) {
  if (std::system("command -v pdflatex >/dev/null") != 0)
    GTEST_SKIP() << "no pdflatex on this machine";
  if (std::system("kpsewhich booktabs.sty >/dev/null") != 0)
    GTEST_SKIP() << "no booktabs on this machine";
  std::string folder = (std::filesystem::temp_directory_path() / "hitproof-latex-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/paper.tex")
      << "\\documentclass{article}\n\\usepackage{booktabs,array,graphicx}\n\\begin{document}\n"
      << document(Format::latex, {hostile_dossier(), hostile_dossier()}) << "\\end{document}\n";
  const std::string command = "cd " + folder +
                              " && pdflatex -interaction=nonstopmode "
                              "-halt-on-error paper.tex >log.txt 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << folder;
  EXPECT_TRUE(std::filesystem::file_size(folder + "/paper.pdf") > 1000);
  std::filesystem::remove_all(folder);
}

TEST(Formats, HtmlIsOneFileWithoutForeignMarkup) {
  const std::string text = document(Format::html, {hostile_dossier()});
  EXPECT_EQ(utf8_problem(text), "");
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt; &amp; 50%"));
  for (const char* link :
       {"src=", "href=", "url(", "@import", "<link", "<iframe", "http-equiv=\"refresh"})
    EXPECT_THAT(text, Not(HasSubstr(link))) << "the page loads something";
  for (const char* part : {"name=\"viewport\"", "prefers-color-scheme:dark", "@media print",
                           "default-src 'none'", "<html lang=\"en\">"})
    EXPECT_THAT(text, HasSubstr(part));
  // Void elements apart, the body is XML: every tag is closed, every attribute quoted.
  const std::size_t from = text.find("<main>");
  const std::size_t to = text.find("</body>");
  EXPECT_EQ(xml_problem("<body>" + text.substr(from, to - from) + "</body>"), "");
  for (std::size_t at = text.find("<svg"); at != std::string::npos;
       at = text.find("<svg", at + 1)) {
    const std::string picture = text.substr(at, text.find("</svg>", at) - at);
    EXPECT_THAT(picture, HasSubstr("role=\"img\""));
    EXPECT_THAT(picture, HasSubstr("<title>"));
    EXPECT_THAT(picture, HasSubstr("<desc>"));
  }
}

TEST(Formats, EverySvgIsWellFormed) {
  const audit::Dossier d = hostile_dossier();
  std::ostringstream nowhere;
  const auto parts = make_output(Format::svg, nowhere)->parts(d);
  EXPECT_THAT(parts, ::testing::ElementsAre("boundary", "coverage", "timings", "timeline"));
  for (const std::string& part : parts) {
    std::ostringstream text;
    make_output(Format::svg, text)->part(d, part);
    // The style is text with '>' and quotes, which XML allows.
    EXPECT_EQ(xml_problem(text.str()), "") << part;
  }
}

TEST(Formats, TheTimingFigureNamesASimulatedDevice) {
  audit::Dossier d = hostile_dossier();
  d.report.device = "sim";
  std::ostringstream text;
  make_output(Format::svg, text)->part(d, "timings");
  const std::string title = text.str().substr(text.str().find("<title>"), 200);
  EXPECT_THAT(title, HasSubstr("device sim (simulated"));
}

// The structure that readers of JUnit files agree on (junit-10.xsd of the xUnit plugin).
TEST(Formats, JunitHasTheCommonStructure) {
  std::vector<Element> elements;
  const std::string text = document(Format::junit, {hostile_dossier()});
  ASSERT_EQ(xml_problem(text, &elements), "") << text;
  const std::map<std::string, std::set<std::string>> children = {
      {"", {"testsuites"}},
      {"testsuites", {"testsuite"}},
      {"testsuite", {"properties", "testcase", "system-out"}},
      {"properties", {"property"}},
      {"testcase", {"skipped", "failure"}}};
  const std::map<std::string, std::set<std::string>> attributes = {
      {"testsuites", {"name", "tests", "failures", "errors"}},
      {"testsuite", {"name", "tests", "failures", "errors", "skipped"}},
      {"property", {"name", "value"}},
      {"testcase", {"name", "classname"}},
      {"failure", {"type", "message"}},
      {"skipped", {"message"}}};
  std::map<std::string, int> count;
  for (const Element& e : elements) {
    ++count[e.name];
    ASSERT_TRUE(children.count(e.parent)) << e.parent;
    EXPECT_TRUE(children.at(e.parent).count(e.name)) << e.name << " in " << e.parent;
    for (const auto& [key, value] : e.attributes)
      EXPECT_TRUE(attributes.at(e.name).count(key)) << e.name << " " << key;
    if (e.name == "testsuite") {
      EXPECT_EQ(e.attributes[1].second, "4");
      EXPECT_EQ(e.attributes[2].second, "1");
      EXPECT_EQ(e.attributes[4].second, "2");
    }
  }
  EXPECT_EQ(count["testcase"], 4);
  EXPECT_EQ(count["failure"], 1);
  EXPECT_EQ(count["skipped"], 2);
  EXPECT_THAT(text, HasSubstr("[copy]")) << "the witness stands in the failure";
}

TEST(Formats, SarifHasWhatCodeScanningAsksFor) {
  // Reports need not hold every rule, nor in the order of the list.
  audit::Dossier d = hostile_dossier();
  std::reverse(d.report.rules.begin(), d.report.rules.end());
  const json j = json::parse(document(Format::sarif, {d}));
  EXPECT_EQ(j["version"], "2.1.0");
  const json& run = j["runs"][0];
  const json& driver = run["tool"]["driver"];
  EXPECT_EQ(driver["name"], "hitproof");
  ASSERT_EQ(driver["rules"].size(), audit::all_rules().size()) << "one object a family";
  for (const json& rule : driver["rules"]) {
    for (const char* key : {"shortDescription", "fullDescription", "help"})
      EXPECT_FALSE(rule[key]["text"].get<std::string>().empty()) << key;
    EXPECT_LE(rule["fullDescription"]["text"].get<std::string>().size(), 1024u);
  }
  ASSERT_EQ(run["results"].size(), 2u);
  for (const json& result : run["results"]) {
    const json& rule = driver["rules"][result["ruleIndex"].get<std::size_t>()];
    EXPECT_EQ(rule["id"], result["ruleId"]);
    EXPECT_EQ(result["locations"].size(), 1u);
    const json& physical = result["locations"][0]["physicalLocation"];
    EXPECT_EQ(physical["region"]["startLine"], 1);
    const std::string uri = physical["artifactLocation"]["uri"];
    EXPECT_EQ(uri.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-._~/%"),
              std::string::npos)
        << uri;
    EXPECT_EQ(result["partialFingerprints"]["hitproofFinding/v1"].get<std::string>().size(), 64u);
  }
  EXPECT_EQ(run["results"][0]["level"], "warning");
  EXPECT_EQ(run["results"][1]["level"], "error");
}

TEST(Formats, FingerprintsStandOnNamesAlone) {
  const auto print_of = [](const audit::Dossier& d) {
    return json::parse(document(
        Format::sarif, {d}))["runs"][0]["results"][0]["partialFingerprints"]["hitproofFinding/v1"]
        .get<std::string>();
  };
  audit::Dossier other = hostile_dossier();
  audit::Finding& f = other.report.rules[0].findings[0];
  f.count = 99;
  f.words = "other words";
  f.first.transfer = 12345;
  f.first.at_ns = 99;
  std::reverse(f.witness.begin(), f.witness.end());
  f.witness[0].process = 4711;
  other.report.path = "elsewhere";
  EXPECT_EQ(print_of(hostile_dossier()), print_of(other));
  f.violation = "content_differs";
  EXPECT_NE(print_of(hostile_dossier()), print_of(other));
}

TEST(Formats, PerfettoSlicesNestAndArrowsMeetTheirSlices) {
  const json j = json::parse(document(Format::perfetto, {hostile_dossier(), hostile_dossier()}));
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<double, double>>> tracks;
  std::map<std::int64_t, std::vector<json>> flows;
  for (const json& e : j["traceEvents"]) {
    ASSERT_TRUE(e.contains("ph") && e.contains("pid") && e.contains("tid")) << e;
    if (e["ph"] == "X") tracks[{e["pid"], e["tid"]}].emplace_back(e["ts"], e["dur"]);
    if (e["ph"] == "s" || e["ph"] == "f") flows[e["id"]].push_back(e);
  }
  EXPECT_EQ(tracks.size(), 12u) << "two saves that overlap lie on two tracks";
  for (const auto& [track, slices] : tracks) {
    for (const auto& a : slices) {
      for (const auto& b : slices) {
        const bool apart = a.first + a.second <= b.first || b.first + b.second <= a.first;
        const bool nested = (a.first <= b.first && b.first + b.second <= a.first + a.second) ||
                            (b.first <= a.first && a.first + a.second <= b.first + b.second);
        EXPECT_TRUE(apart || nested);
      }
    }
  }
  EXPECT_EQ(flows.size(), 10u) << "a wait and four steps of a path in each archive";
  for (const auto& [id, ends] : flows) {
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_LE(ends[0]["ts"], ends[1]["ts"]);
    for (const json& end : ends) {
      bool inside = false;
      for (const auto& [begin, lasts] : tracks[{end["pid"], end["tid"]}])
        inside |= begin <= end["ts"] && end["ts"] <= begin + lasts;
      EXPECT_TRUE(inside) << end;
    }
  }
  EXPECT_EQ(j["otherData"]["thinned"][0]["all"], 20) << "what was thinned is said";
}

} // namespace
} // namespace hitproof::cli::testing
