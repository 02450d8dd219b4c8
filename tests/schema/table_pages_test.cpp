// Reading tables from the pages of the file: the same rows as by statements, an error where the
// form is another one, and never anything else, whatever the bytes are.
#include "schema/table_pages.h"
#include "tests/schema/temp_dir.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sqlite3.h>

namespace hitproof::schema {
namespace {

const std::vector<std::string> columns = {"t_ns",     "process", "thread",  "seq",
                                          "transfer", "content", "nonzero", "entry"};

// Numbers of every length that a row can have, negative ones among them.
std::uint64_t some_number(std::mt19937_64& random) {
  const std::uint64_t n = random() >> (random() % 64);
  return random() % 4 == 0 ? ~n : n;
}

void write_recording(const std::string& dir, int rows) {
  std::mt19937_64 random(7);
  auto recording = Recording::open_new(dir);
  ASSERT_TRUE(recording.ok());
  ASSERT_TRUE(recording->begin().ok());
  for (int i = 0; i < rows; ++i) {
    rec::page_digest d;
    d.transfer = some_number(random);
    d.nonzero = some_number(random);
    d.entry = static_cast<std::uint16_t>(random());
    for (std::uint8_t& byte : d.content)
      byte = static_cast<std::uint8_t>(random());
    const Origin origin{static_cast<std::uint32_t>(i % 3), static_cast<std::uint32_t>(random() % 5),
                        static_cast<std::uint32_t>(i), some_number(random)};
    ASSERT_TRUE(recording->insert(d, origin).ok());
  }
  ASSERT_TRUE(recording->commit().ok());
  ASSERT_TRUE(recording->close("completed").ok());
}

void run_sql(const std::string& dir, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir + "/data/recording.sqlite").c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

Code code_of_reading(const std::string& dir) {
  auto recording = Recording::open_existing(dir);
  if (!recording.ok()) return recording.code();
  const auto map = TableMap::of(*recording);
  if (!map.ok()) return map.code();
  auto pages = TablePages::open(*map, "page_digest", columns);
  if (!pages.ok()) return pages.code();
  while (pages->next()) {
  }
  return pages->status().code();
}

TEST(TablePages, GiveTheRowsOfTheStatements) {
  const TempDir dir;
  write_recording(dir.path(), 30000);
  auto recording = Recording::open_existing(dir.path());
  ASSERT_TRUE(recording.ok());
  const auto map = TableMap::of(*recording);
  ASSERT_TRUE(map.ok()) << map.status().to_string();
  auto pages = TablePages::open(*map, "page_digest", columns);
  ASSERT_TRUE(pages.ok()) << pages.status().to_string();
  auto q = recording->query("SELECT t_ns, process, thread, seq, transfer, content, nonzero, entry, "
                            "rowid FROM page_digest ORDER BY rowid");
  std::size_t seen = 0;
  while (pages->next()) {
    const PageRows& page = pages->page();
    for (std::size_t i = 0; i < page.rows(); ++i, ++seen) {
      ASSERT_TRUE(q->next());
      for (int c = 0; c < 8; ++c) {
        const auto n = static_cast<std::size_t>(c);
        if (columns[n] == "content")
          ASSERT_EQ(q->blob(c), std::string(reinterpret_cast<const char*>(page.digests(n)[i]), 32));
        else
          ASSERT_EQ(q->integer(c), page.integers(n)[i]) << columns[n];
      }
      ASSERT_EQ(q->integer(8), page.rowids()[i]);
    }
  }
  EXPECT_TRUE(pages->status().ok());
  EXPECT_EQ(seen, 30000u);
  auto none = TablePages::open(*map, "copy", {"transfer"});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(!none->next() || none->page().rows() == 0);
  EXPECT_TRUE(none->status().ok());
}

// What statements convert or follow elsewhere is not read here, and said to be so.
TEST(TablePages, LeaveAnotherFormToTheStatements) {
  const char* const changes[] = {"UPDATE page_digest SET nonzero = 'many' WHERE rowid = 100",
                                 "UPDATE page_digest SET nonzero = 1.5 WHERE rowid = 100",
                                 "UPDATE page_digest SET content = 'none' WHERE rowid = 100",
                                 "UPDATE page_digest SET content = zeroblob(31) WHERE rowid = 100",
                                 "UPDATE page_digest SET page = zeroblob(40000) WHERE rowid = 100",
                                 "DROP TABLE page_digest",
                                 "ALTER TABLE page_digest RENAME COLUMN nonzero TO zero"};
  for (const char* change : changes) {
    SCOPED_TRACE(change);
    const TempDir dir;
    write_recording(dir.path(), 200);
    EXPECT_EQ(code_of_reading(dir.path()), Code::ok);
    run_sql(dir.path(), change);
    EXPECT_EQ(code_of_reading(dir.path()), Code::unsupported);
  }
}

// Any byte may be any other: rows or an error, and nothing beyond the page is touched (the build
// with address checks shows it).
TEST(TablePages, SurviveEveryByte) {
  const TempDir dir;
  write_recording(dir.path(), 500);
  const std::string path = dir.path() + "/data/recording.sqlite";
  auto recording = Recording::open_existing(dir.path());
  ASSERT_TRUE(recording.ok());
  const auto map = TableMap::of(*recording);
  ASSERT_TRUE(map.ok());
  std::ifstream in(path, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  std::mt19937_64 random(11);
  std::size_t errors = 0;
  for (int round = 0; round < 3000; ++round) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto at = static_cast<std::streamoff>(random() % good.size());
    // Half of the changes go where the structure of a page is.
    const std::streamoff place = round % 2 == 0 ? at : at / 16384 * 16384 + at % 64;
    file.seekp(place).put(static_cast<char>(random()));
    file.close();
    auto pages = TablePages::open(*map, "page_digest", columns);
    if (pages.ok()) {
      std::size_t rows = 0;
      while (pages->next())
        rows += pages->page().rows();
      errors += !pages->status().ok();
      EXPECT_LT(rows, 1'000'000u);
    } else {
      ++errors;
    }
    std::ofstream(path, std::ios::binary | std::ios::in)
        .seekp(place)
        .put(good[static_cast<std::size_t>(place)]);
  }
  EXPECT_GT(errors, 0u);
}

} // namespace
} // namespace hitproof::schema
