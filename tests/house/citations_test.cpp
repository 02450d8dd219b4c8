// A reader who checks us follows every citation: a comment or document that names a document of
// ours names one that is here, and a section or heading that it has; what docs/model.md and
// docs/studies.md say holds them, the files and tests, is here too.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace hitproof {
namespace {

namespace fs = std::filesystem;

const fs::path house = HITPROOF_SOURCE_DIR;
const std::set<std::string> rooms = {"audit",  "cli",    "cmake",  "docs",    "engine", "kernels",
                                     "poison", "probes", "schema", "scripts", "tests"};

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has_ending(const fs::path& path, const std::set<std::string>& endings) {
  return endings.count(path.extension()) > 0;
}

bool is_code(const fs::path& path) {
  return has_ending(path, {".h", ".cpp", ".cu", ".cuh", ".def", ".inc"});
}

// Files without comments of the C family are read whole.
bool is_read(const fs::path& path) {
  return is_code(path) ||
         has_ending(path, {".md", ".py", ".sh", ".sql", ".cmake", ".toml", ".1"}) ||
         path.filename() == "CMakeLists.txt";
}

std::vector<fs::path> tree() {
  std::vector<fs::path> files = {house / "README.md", house / "CMakeLists.txt", house / "Makefile"};
  for (const std::string& room : rooms)
    for (const auto& item : fs::recursive_directory_iterator(house / room))
      if (item.is_regular_file() && is_read(item.path())) files.push_back(item.path());
  return files;
}

// Comments of a source of the C family, each run of lines as one text.
std::string comments_of(const std::string& code) {
  std::string out;
  for (std::size_t i = 0; i < code.size();) {
    if (code.compare(i, 2, "//") == 0) {
      std::size_t end = code.find('\n', i);
      if (end == std::string::npos) end = code.size();
      const std::size_t text = code.find_first_not_of("/!<", i);
      if (text < end) out += code.substr(text, end - text);
      i = end;
    } else if (code.compare(i, 2, "/*") == 0) {
      const std::size_t end = std::min(code.find("*/", i), code.size());
      out += code.substr(i + 2, end - i - 2) + "\n\n";
      i = end + 2;
    } else if (code.compare(i, 2, "R\"") == 0) {
      const std::size_t open = code.find('(', i);
      const std::string close = ")" + code.substr(i + 2, open - i - 2) + "\"";
      i = std::min(code.find(close, open), code.size()) + close.size();
    } else if (code[i] == '"' || (code[i] == '\'' && (i == 0 || std::isalnum(code[i - 1]) == 0))) {
      const char quote = code[i];
      for (++i; i < code.size() && code[i] != quote && code[i] != '\n'; ++i)
        if (code[i] == '\\') ++i;
      ++i;
    } else {
      if (code[i] == '\n') {
        out += '\n';
      } else if (code[i] != ' ') {
        out += '\f'; // code between two comments parts them
      }
      ++i;
    }
  }
  return std::regex_replace(out, std::regex("\f+"), "\f");
}

struct Headings {
  std::set<std::string> numbers, titles, anchors;
};

// As GitHub makes the anchor of a heading: lower case, without punctuation, hyphens for spaces.
std::string anchor_of(const std::string& title) {
  std::string anchor;
  for (const char c : title) {
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

Headings headings_of(const std::string& document) {
  static const std::regex heading(R"(^#{1,6} +(.*[^ ]) *$)"), number(R"(^(\d+(\.\d+)*)\.? )");
  Headings found;
  bool fenced = false;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    std::smatch match;
    if (fenced || !std::regex_match(line, match, heading)) continue;
    const std::string title = match[1];
    found.titles.insert(title);
    found.anchors.insert(anchor_of(title));
    if (std::regex_search(title, match, number)) found.numbers.insert(match[1]);
  }
  return found;
}

// Sections named behind a citation: "2.3", "2.4 and 4.1", "section 7", "sections 1, 5 and 6".
std::vector<std::string> sections_behind(const std::string& rest) {
  static const std::regex form(
      R"(^`?\)?,? (?:(sections? )(\d+(?:\.\d+)*)|(\d+(?:\.\d+)+))((?:(?:, (?:and )?| and | to )\d+(?:\.\d+)*)*))");
  static const std::regex one(R"(\d+(?:\.\d+)*)");
  std::vector<std::string> found;
  std::smatch match;
  if (!std::regex_search(rest, match, form)) return found;
  found.push_back(match[2].matched ? match[2] : match[3]);
  const std::string more = match[4];
  for (std::sregex_iterator it(more.begin(), more.end(), one), end; it != end; ++it)
    found.push_back(it->str());
  return found;
}

struct Check {
  fs::path root;
  std::vector<std::string> complaints;
  std::size_t citations = 0, sections = 0;
  std::map<fs::path, Headings> known = {};

  const Headings& headings(const fs::path& path) {
    const auto [at, fresh] = known.try_emplace(path);
    if (fresh) at->second = headings_of(contents(path));
    return at->second;
  }

  void has(const std::set<std::string>& list, const std::string& what, const fs::path& file,
           const std::string& cited) {
    ++sections;
    if (list.count(what) == 0)
      complaints.push_back(file.string() + " cites \"" + what + "\" of " + cited +
                           ", which has no such section");
  }

  // `file` is relative to the root.
  void read(const fs::path& file, const std::string& text) {
    static const std::regex citation(R"(([A-Za-z0-9_./-]*[A-Za-z0-9_-]\.md)(?![A-Za-z0-9_]))");
    static const std::regex line_end(R"([ \t]*\n[ \t]*)"), anchor(R"(^#([A-Za-z0-9_-]+))"),
        quoted(R"(^`?\)?, "([^"]+)\")"), own(R"(\]\(#([A-Za-z0-9_-]+)\))");
    const std::string flat =
        std::regex_replace(is_code(file) ? comments_of(text) : text, line_end, " ");
    for (std::sregex_iterator it(flat.begin(), flat.end(), citation), end; it != end; ++it) {
      const std::string cited = it->str(1);
      if (cited.starts_with("//")) continue; // of another house: a URL
      ++citations;
      const std::string rest =
          flat.substr(static_cast<std::size_t>(it->position() + it->length()), 200);
      fs::path found;
      for (const fs::path& place : {root / cited, root / file.parent_path() / cited})
        if (found.empty() && fs::is_regular_file(place)) found = place;
      if (found.empty()) {
        complaints.push_back(file.string() + " cites " + cited + ", which is not here");
        continue;
      }
      for (const std::string& number : sections_behind(rest))
        has(headings(found).numbers, number, file, cited);
      std::smatch match;
      if (std::regex_search(rest, match, anchor))
        has(headings(found).anchors, match[1], file, cited);
      if (std::regex_search(rest, match, quoted))
        has(headings(found).titles, match[1], file, cited);
    }
    if (file.extension() != ".md") return;
    for (std::sregex_iterator it(flat.begin(), flat.end(), own), end; it != end; ++it)
      has(headings_of(text).anchors, it->str(1), file, "itself");
  }
};

TEST(Citations, EveryDocumentAndSectionThatIsCitedIsHere) {
  Check check{house, {}};
  for (const fs::path& file : tree())
    check.read(fs::relative(file, house), contents(file));
  for (const std::string& complaint : check.complaints)
    ADD_FAILURE() << complaint;
  EXPECT_GT(check.citations, 100U) << "the scan did not find the tree";
  EXPECT_GT(check.sections, 40U);
}

std::vector<std::string> complaints_of(const fs::path& root, const std::string& file,
                                       const std::string& text) {
  Check check{root, {}};
  check.read(file, text);
  return check.complaints;
}

TEST(Citations, TheScanCanFail) {
  const fs::path root = fs::path(testing::TempDir()) / "hitproof-citations";
  fs::create_directories(root / "docs");
  std::ofstream(root / "docs/a.md")
      << "# A\n\n## 2. Two parts\n\n### 2.1 First\n\n```\n# 9.9 no heading\n```\n";
  for (const char* right :
       {"// docs/a.md 2.1.\n", "// (docs/a.md, section 2).\n",
        "// docs/a.md, sections 2 and\n// 2.1\n",
        "const char* s = \"docs/none.md\"; // not a comment\n", "// docs/a.md, \"2.1 First\"\n",
        "/// as in docs/a.md#2-two-parts\n", "// https://example.org/none.md\n"})
    EXPECT_TRUE(complaints_of(root, "engine/a.h", right).empty()) << right;
  EXPECT_TRUE(complaints_of(root, "docs/b.md", "see [a](a.md#21-first)").empty());
  for (const char* wrong :
       {"// docs/none.md\n", "int a; // a.md\n", "/* docs/none.md */\n", "// docs/a.md 2.2.\n",
        "// docs/a.md, section 3\n", "// (docs/a.md 2.1 and 9.9).\n",
        "// docs/a.md, section\n  // 7\n", "// docs/a.md, \"Second\"\n", "// docs/a.md#second\n",
        "// docs/a.md 9.9\n", "f('\"'); // docs/none.md\n", "g(R\"(\")\"); // docs/none.md\n"})
    EXPECT_EQ(complaints_of(root, "engine/a.h", wrong).size(), 1U) << wrong;
  EXPECT_EQ(complaints_of(root, "docs/b.md", "see [a](#none), `docs/none.md`").size(), 2U);
  fs::remove_all(root);
}

// Whoever looks for a document finds it in the README's list; the pages of the rules are in theirs.
TEST(Citations, TheReadmeListsEveryDocument) {
  const std::string readme = contents(house / "README.md");
  std::size_t documents = 0;
  for (const fs::path& file : tree()) {
    const std::string name = fs::relative(file, house).string();
    if (file.extension() != ".md" || name == "README.md") continue;
    if (name.starts_with("docs/rules/") && name != "docs/rules/README.md") continue;
    ++documents;
    EXPECT_NE(readme.find("](" + name + ")"), std::string::npos) << name << " is not in the README";
  }
  EXPECT_GT(documents, 10U);
}

// The tests of the tree as suite.name.
std::set<std::string> tests_of_the_house() {
  static const std::regex test(R"(TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\))");
  std::set<std::string> names;
  for (const auto& item : fs::recursive_directory_iterator(house / "tests")) {
    if (item.path().extension() != ".cpp") continue;
    const std::string text = contents(item.path());
    for (std::sregex_iterator it(text.begin(), text.end(), test), end; it != end; ++it)
      names.insert(it->str(1) + "." + it->str(2));
  }
  return names;
}

// What stands between back ticks and names a file or test that is not here.
std::vector<std::string> missing_in(const std::string& document,
                                    const std::set<std::string>& tests) {
  static const std::regex named("`([A-Za-z0-9_./-]+)`"), test(R"([A-Z]\w*\.[A-Z]\w*)");
  std::vector<std::string> missing;
  for (std::sregex_iterator it(document.begin(), document.end(), named), end; it != end; ++it) {
    const std::string name = it->str(1);
    const bool path =
        name.find('/') != std::string::npos && rooms.count(name.substr(0, name.find('/'))) > 0;
    if (path ? !fs::exists(house / name) : std::regex_match(name, test) && tests.count(name) == 0)
      missing.push_back(name);
  }
  return missing;
}

TEST(Citations, WhatHoldsTheDocumentsIsHere) {
  const std::set<std::string> tests = tests_of_the_house();
  EXPECT_GT(tests.size(), 300U);
  for (const char* document : {"docs/model.md", "docs/studies.md"}) {
    const std::string text = contents(house / document);
    EXPECT_GT(text.size(), 5000U) << document;
    for (const std::string& name : missing_in(text, tests))
      ADD_FAILURE() << document << " names " << name << ", which is not here";
  }
  // The control.
  EXPECT_TRUE(
      missing_in("`tests/house`, `docs/house.md`, `Citations.TheScanCanFail`, `S = 1`", tests)
          .empty());
  EXPECT_EQ(missing_in("`tests/nowhere.cpp` and `Citations.NoSuchTest`", tests).size(), 2U);
}

} // namespace
} // namespace hitproof
