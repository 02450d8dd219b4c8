// Paths that prove an order, as each format shows them.
#include "audit/shown_paths.h"
#include "cli/escape.h"
#include "cli/formats/figures.h"
#include "cli/output.h"
#include "tests/cli/hostile.h"
#include "tests/cli/well_formed.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace hitproof::cli::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string document(Format format, const audit::Dossier& dossier) {
  std::ostringstream text;
  const auto out = make_output(format, text);
  out->archive(dossier);
  out->finish();
  return text.str();
}

audit::OrderPath long_path(std::size_t records) {
  audit::OrderPath path = hostile_dossier().report.rules[3].paths[0];
  while (path.records.size() < records) {
    audit::PathRecord next = path.records.back();
    next.at_ms += .0001;
    next.end_ms = next.at_ms;
    ++next.seq;
    path.records.push_back(next);
  }
  return path;
}

TEST(ShownPaths, ThePageHasWordsAndAPictureOfEach) {
  const std::string text = document(Format::html, hostile_dossier());
  EXPECT_THAT(text, HasSubstr("Paths that prove the order"));
  EXPECT_THAT(text, HasSubstr("<span class=\"mark pass\">proved</span>"));
  EXPECT_THAT(text, HasSubstr("<span class=\"mark inconclusive\">not proved</span>"));
  EXPECT_THAT(text, HasSubstr("rank 0: 5 records lead from the step that wrote its pages to its "
                              "copies."));
  EXPECT_THAT(text, HasSubstr("the longest way that was found has 2 records."));
  EXPECT_THAT(text, HasSubstr("<title>The path that orders save 562949953421312</title>"));
  EXPECT_THAT(text, HasSubstr("<title>As far as a path orders load 562949953421312</title>"));
  EXPECT_THAT(text, HasSubstr("<li value=\"5\">"));
  audit::Dossier none = hostile_dossier();
  none.report.rules[3].paths.clear();
  EXPECT_THAT(document(Format::html, none), Not(HasSubstr("Paths that prove the order")));
}

TEST(ShownPaths, OfALongOneBeginAndEndAreShownAndTheRestIsCounted) {
  const audit::OrderPath path = long_path(1000);
  const std::vector<std::size_t> shown = audit::shown_of(path);
  ASSERT_EQ(shown.size(), 40u);
  EXPECT_EQ(shown[29], 29u);
  EXPECT_EQ(shown[30], 990u);
  EXPECT_EQ(audit::shown_of(long_path(40)).size(), 40u);
  EXPECT_THAT(audit::sentence_of(path), AllOf(HasSubstr("1,000 records lead"),
                                              HasSubstr("960 records between are left out")));
  EXPECT_THAT(audit::sentence_of(long_path(40)), Not(HasSubstr("left out")));
  audit::Dossier d = hostile_dossier();
  d.report.rules[3].paths = {path};
  EXPECT_THAT(document(Format::html, d),
              AllOf(HasSubstr("<li value=\"30\">"), Not(HasSubstr("<li value=\"31\">")),
                    HasSubstr("<li value=\"991\">"), HasSubstr("960 records between")));
  EXPECT_EQ(audit::path_table(d.report).rows.size(), 40u);
}

TEST(ShownPaths, ThePictureHasALaneEachAndNoTwoDotsOnOnePlace) {
  for (const std::size_t records : {5, 40, 1000}) {
    const audit::OrderPath path = long_path(records);
    const Picture picture = path_figure(path, hostile_dossier().timeline);
    std::vector<double> x;
    std::map<double, int> levels;
    std::set<std::pair<double, double>> dots;
    for (const Shape& s : picture.shapes())
      if (s.kind == Shape::circle) dots.insert({s.a, s.b});
    std::size_t joined = 0;
    for (const Shape& s : picture.shapes()) {
      if (s.kind == Shape::line && s.classes == "b" && dots.contains({s.a, s.b})) ++joined;
      if (s.kind != Shape::circle) continue;
      x.push_back(s.a);
      ++levels[s.b];
      EXPECT_GE(s.a, 0);
      EXPECT_LE(s.a, picture.width());
    }
    EXPECT_EQ(levels.size(), 4u) << "two threads and a stream of each process";
    const std::size_t shown = audit::shown_of(path).size();
    EXPECT_EQ(x.size(), shown);
    EXPECT_EQ(joined, shown - (records > 40 ? 2 : 1)) << "nothing joins over what is left out";
    EXPECT_LT(x[3], x[2]) << "the wait began before the synchronisation";
    std::sort(x.begin(), x.end());
    for (std::size_t i = 1; i < x.size(); ++i)
      EXPECT_GT(x[i], x[i - 1] + 5);
  }
  EXPECT_THAT(path_figure(long_path(40), {}).description(), HasSubstr("set apart"));
  audit::OrderPath single = long_path(5);
  single.records.resize(1);
  EXPECT_TRUE(path_figure(single, {}).empty());
}

TEST(ShownPaths, NumbersOfDotsDoNotLieOnEachOther) {
  for (const std::size_t records : {5, 40, 1000}) {
    std::map<double, double> ends; // by line of text
    std::size_t numbers = 0;
    std::vector<Shape> texts;
    const Picture picture = path_figure(long_path(records), hostile_dossier().timeline);
    for (const Shape& s : picture.shapes())
      if (s.kind == Shape::text && s.classes == "small") texts.push_back(s);
    std::sort(texts.begin(), texts.end(), [](const Shape& a, const Shape& b) { return a.a < b.a; });
    for (const Shape& s : texts) {
      if (const auto before = ends.find(s.b); before != ends.end()) {
        EXPECT_LE(before->second, s.a) << s.words;
      }
      ends[s.b] = s.a + 4.7 * static_cast<double>(s.words.size()); // digits of 8.5
      EXPECT_LE(ends[s.b], picture.width());
      ++numbers;
    }
    EXPECT_GE(numbers, records == 5 ? 5u : 15u) << "not all have room";
  }
}

TEST(ShownPaths, ProcessesHaveTheirNamesInThePicture) {
  const audit::Dossier d = hostile_dossier();
  std::string words;
  const Picture picture = path_figure(d.report.rules[3].paths[0], d.timeline);
  for (const Shape& s : picture.shapes())
    words += s.words + "\n";
  EXPECT_THAT(words, HasSubstr("rank 3, process 200, thread 201"));
  EXPECT_THAT(words, HasSubstr("process 200, stream 7"));
}

TEST(ShownPaths, TablesHaveARowARecord) {
  const audit::Table table = audit::path_table(hostile_dossier().report);
  std::ostringstream text;
  make_output(Format::csv, text)->table(table);
  const auto rows = csv_rows(text.str());
  ASSERT_EQ(rows.size(), 8u) << "five of the proved path, two of the other one";
  EXPECT_THAT(rows[0], ElementsAre("path", "proved", "rank", "record", "at [ms]", "call", "row"));
  EXPECT_EQ(rows[1][0], "save 562949953421312");
  EXPECT_EQ(rows[1][5], printable(hostile));
  EXPECT_EQ(rows[2][6], "order_op 100.101.2");
  EXPECT_THAT(rows[7], ::testing::Contains("no"));
  EXPECT_EQ(table.notes.size(), 3u);
  for (std::size_t column : {2, 3, 4})
    EXPECT_EQ(table.traces[0][column].source, "hitproof audit out/" + hostile + " --json");
  EXPECT_TRUE(audit::path_table({}).rows.empty());
}

// What Perfetto does with an arrow's end: events in the order of time, those of one time in the
// order of the file; an end belongs to the innermost slice that is open on its track then.
std::map<std::int64_t, std::vector<json>> arrows_of(const json& trace) {
  std::vector<json> events;
  for (const json& e : trace["traceEvents"])
    if (e["ph"] != "M") events.push_back(e);
  std::stable_sort(events.begin(), events.end(), [](const json& a, const json& b) {
    return a["ts"].get<double>() < b["ts"].get<double>();
  });
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<json>> open;
  std::map<std::int64_t, std::vector<json>> arrows;
  for (const json& e : events) {
    auto& stack = open[{e["pid"], e["tid"]}];
    while (!stack.empty() && stack.back()["ts"].get<double>() + stack.back()["dur"].get<double>() <=
                                 e["ts"].get<double>())
      stack.pop_back();
    if (e["ph"] == "X")
      stack.push_back(e);
    else if (e["cat"] == "order")
      arrows[e["id"]].push_back(stack.empty() ? json() : stack.back());
  }
  return arrows;
}

TEST(ShownPaths, ArrowsOfATraceBindToTheSlicesThatTheyJoin) {
  const json trace = json::parse(document(Format::perfetto, hostile_dossier()));
  const auto arrows = arrows_of(trace);
  ASSERT_EQ(arrows.size(), 4u) << "of the proved path alone";
  std::vector<std::pair<double, double>> joined;
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u);
    for (const json& end : ends) {
      ASSERT_FALSE(end.is_null()) << "no slice is open there";
      EXPECT_EQ(end["cat"], "ordering call");
      EXPECT_EQ(end["name"], printable(hostile));
    }
    joined.emplace_back(ends[0]["ts"], ends[1]["ts"]);
  }
  EXPECT_THAT(joined, ElementsAre(std::pair(1000., 2000.), std::pair(2000., 3000.),
                                  std::pair(2500., 3000.), std::pair(2500., 5000.)));
  const json& said = trace["otherData"]["order"];
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0]["shown"], 5);
  EXPECT_EQ(said[0]["of"], "save");
}

TEST(ShownPaths, ATraceOfALongPathSaysWhatItLeavesOut) {
  audit::Dossier d = hostile_dossier();
  d.report.rules[3].paths = {long_path(1000)};
  d.timeline.paths.clear();
  audit::add_paths(d.timeline, d.report);
  const json trace = json::parse(document(Format::perfetto, d));
  EXPECT_EQ(arrows_of(trace).size(), 38u) << "none over what is left out";
  EXPECT_EQ(trace["otherData"]["order"][0]["shown"], 40);
  EXPECT_EQ(trace["otherData"]["order"][0]["records"], 1000);
}

} // namespace
} // namespace hitproof::cli::testing
