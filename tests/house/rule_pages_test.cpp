// The pages of the rules against the sources: every violation has one entry, in the page of its
// rule, with its effect, its sentence and controls that exist; and no identifier ever goes away.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace hitproof {
namespace {

namespace fs = std::filesystem;
using Texts = std::map<std::string, std::string>; // identifier -> words

const fs::path house = HITPROOF_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::smatch> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return {std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()};
}

std::set<std::string> quoted_names(const std::string& text) {
  std::set<std::string> names;
  for (const auto& m : matches(text, "`([^`]+)`"))
    names.insert(m[1]);
  return names;
}

std::string one_line(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

std::vector<std::string> rules() {
  const std::string text = read(house / "audit/CMakeLists.txt");
  std::smatch found;
  std::vector<std::string> names;
  if (!std::regex_search(text, found, std::regex("set\\(rules ([a-z ]+)\\)"))) return names;
  std::istringstream words(found[1].str());
  for (std::string name; words >> name;)
    names.push_back(name);
  return names;
}

// The sentences of audit/rules/<rule>.cpp by violation.
Texts sentences(const std::string& rule) {
  const std::string text = read(house / "audit/rules" / (rule + ".cpp"));
  const auto begin = text.find("Sentence sentences[]"), end = text.find("\n};", begin);
  const std::string list = text.substr(begin, end - begin);
  Texts found;
  for (const auto& m : matches(list, R"re(\{"([a-z_]+)",\s*((?:"[^"]*"\s*)+))re")) {
    const std::string literals = m[2];
    for (const auto& part : matches(literals, "\"([^\"]*)\""))
      found[m[1]] += part[1];
  }
  return found;
}

// The effects that the queries of a rule state, by violation.
Texts effects(const std::string& rule) {
  Texts found;
  for (const auto& item : fs::directory_iterator(house / "audit/rules")) {
    const std::string stem = item.path().stem();
    if (item.path().extension() != ".sql" || stem.substr(0, stem.find('_')) != rule) continue;
    const std::string text = read(item.path());
    for (const auto& m : matches(
             text, R"re(SELECT '([a-z_]+)'(?: AS violation)?,\s*(?:'([a-z]+)'|CASE WHEN ops))re"))
      found[m[1]] = m[2].matched ? m[2].str() : "fail, or inconclusive";
  }
  return found;
}

// Violation -> controls of a rule, as the selftest has them.
std::multimap<std::string, std::string> mutations(const std::string& rule) {
  std::multimap<std::string, std::string> found;
  for (const auto& item : fs::directory_iterator(house / "audit/selftest")) {
    if (item.path().extension() != ".cpp") continue;
    const std::string text = read(item.path());
    for (const auto& m :
         matches(text, "\\{\"([a-z_]+)\",\\s*\"" + rule + "\",\\s*\"([a-z_]*)\""))
      found.emplace(m[2], m[1]);
  }
  return found;
}

// A case of a test, written Suite.Case.
bool is_test(const std::string& name) {
  const auto dot = name.find('.');
  if (dot == std::string::npos) return false;
  const std::string heading = "TEST(" + name.substr(0, dot) + ", " + name.substr(dot + 1) + ")";
  for (const char* room : {"tests/audit", "tests/archive"})
    for (const auto& item : fs::directory_iterator(house / room))
      if (item.path().extension() == ".cpp" && read(item.path()).find(heading) != std::string::npos)
        return true;
  return false;
}

struct Entry {
  std::string effect, sentence, controls;
};

// The entries of a page by the identifier in their heading.
std::map<std::string, Entry> entries(const std::string& page) {
  std::map<std::string, Entry> found;
  const std::regex heading("### `([^`]+)`");
  std::sregex_iterator at(page.begin(), page.end(), heading), end;
  for (; at != end; ++at) {
    const auto begin = static_cast<std::size_t>(at->position() + at->length());
    const std::string text = page.substr(begin, page.find("\n#", begin) - begin);
    Entry& entry = found[(*at)[1]];
    std::smatch m;
    if (std::regex_search(text, m, std::regex("\\*\\*(\\w+)(, or inconclusive)?"))) {
      entry.effect = m[1].str() + m[2].str();
      entry.effect[0] = static_cast<char>(std::tolower(entry.effect[0]));
    }
    for (const auto& line : matches(text, "\n> ([^\n]*)"))
      entry.sentence += (entry.sentence.empty() ? "" : " ") + line[1].str();
    const auto controls = text.find("\nControl: ");
    if (controls != std::string::npos) entry.controls = one_line(text.substr(controls + 10));
  }
  return found;
}

// What is wrong with the page of a rule; empty where nothing is.
std::vector<std::string> complaints(const std::string& rule, const std::string& page) {
  std::vector<std::string> wrong;
  const auto say = [&](const std::string& id, const std::string& words) {
    wrong.push_back(id + " " + words);
  };
  const Texts said = sentences(rule), stated = effects(rule);
  const auto known = mutations(rule);
  auto written = entries(page);
  for (const auto& [violation, sentence] : said) {
    const std::string id = rule + "." + violation;
    const auto found = written.find(id);
    if (found == written.end()) {
      say(id, "has no entry");
      continue;
    }
    const Entry entry = found->second;
    written.erase(found);
    if (entry.sentence != sentence)
      say(id, "says '" + entry.sentence + "' where the rule says '" + sentence + "'");
    const auto effect = stated.find(violation);
    if (effect != stated.end() && effect->second != entry.effect)
      say(id, "has effect '" + entry.effect + "'");
    if (effect == stated.end() && entry.effect.empty()) say(id, "has no effect");
    std::set<std::string> controls = quoted_names(entry.controls);
    const bool none = entry.controls.rfind("none", 0) == 0;
    if (none != controls.empty()) say(id, "must name a control or say that there is none");
    const auto [first, last] = known.equal_range(violation);
    for (auto it = first; it != last; ++it)
      if (controls.erase(it->second) == 0) say(id, "does not name its control " + it->second);
    for (const std::string& control : controls)
      if (!is_test(control)) say(id, "names a control that does not exist: " + control);
  }
  for (const auto& [id, entry] : written)
    say(id, "is no violation of rule " + rule);
  return wrong;
}

fs::path page_of(const std::string& rule) { return house / "docs/rules" / (rule + ".md"); }

TEST(RulePages, HaveEveryViolationWithEffectSentenceAndControl) {
  ASSERT_EQ(rules().size(), 11U);
  for (const std::string& rule : rules()) {
    ASSERT_TRUE(fs::exists(page_of(rule))) << page_of(rule);
    ASSERT_FALSE(sentences(rule).empty()) << rule;
    for (const std::string& words : complaints(rule, read(page_of(rule))))
      ADD_FAILURE() << page_of(rule) << ": " << words;
  }
}

TEST(RulePages, TheCheckCanFail) {
  const std::string page = read(page_of("poison"));
  const auto broken = [&](const std::string& what, const std::string& with) {
    std::string text = page;
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    if (at != std::string::npos) text.replace(at, what.size(), with);
    return complaints("poison", text).size();
  };
  EXPECT_EQ(complaints("poison", page).size(), 0U);
  EXPECT_EQ(broken("### `poison.residue`", "### `poison.remains`"), 2U);
  EXPECT_EQ(broken("**Fail.**", "**Note.**"), 1U);
  EXPECT_EQ(broken("were never written", "were not written"), 1U);
  EXPECT_EQ(broken("`poison_residue`", "`poison_residues`"), 2U);
}

TEST(RulePages, NameTheBrokenEnginesAndHarmlessChanges) {
  const std::string breaks = read(house / "cli/data/breaks.toml");
  int expected = 0;
  for (const std::string& rule : rules()) {
    const std::string page = read(page_of(rule));
    const auto broken = page.find("## Broken engines"),
               harmless = page.find("## What must not disturb it");
    ASSERT_NE(broken, std::string::npos) << rule;
    ASSERT_NE(harmless, std::string::npos) << rule;
    std::set<std::string> named = quoted_names(page.substr(broken));
    named.erase("cli/data/breaks.toml");
    for (
        const auto& m : matches(
            breaks,
            R"re(name = "([^"]+)"[^\[]*\nwhat[^\n]*\nmust = \[([^\]]*)\](\nnever_pass = \[[^\]]*\])?)re"))
      if ((m[2].str() + m[3].str()).find('"' + rule + '"') != std::string::npos) {
        EXPECT_EQ(named.erase(m[1]), 1U) << rule << " does not name " << m[1];
        ++expected;
      }
    EXPECT_TRUE(named.empty()) << rule << " names a broken engine that it need not refuse: "
                               << *named.begin();
    std::set<std::string> changes = quoted_names(page.substr(harmless, broken - harmless)), known;
    const auto all = mutations(rule);
    const auto [first, last] = all.equal_range("");
    for (auto it = first; it != last; ++it)
      known.insert(it->second);
    EXPECT_EQ(changes, known) << rule;
  }
  EXPECT_GE(expected, 12) << "the scan did not find the broken engines";
}

// Others name violations by these identifiers: a line is added, and never changed or removed.
TEST(RuleIdentifiers, AreThoseThatWereGivenOut) {
  std::vector<std::string> listed, present;
  std::istringstream lines(read(house / "audit/rules/identifiers.txt"));
  for (std::string line; std::getline(lines, line);)
    listed.push_back(line);
  for (const std::string& rule : rules())
    for (const auto& [violation, words] : sentences(rule))
      present.push_back(rule + "." + violation);
  std::sort(present.begin(), present.end());
  EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()));
  EXPECT_GE(listed.size(), 138U) << "an identifier was taken back";
  EXPECT_EQ(listed, present)
      << "gone: restore it; new: add its line to audit/rules/identifiers.txt";
}

} // namespace
} // namespace hitproof
