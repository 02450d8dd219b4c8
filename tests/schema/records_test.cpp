#include "schema/record_table.h"
#include "schema/records.h"
#include "temp_dir.h"

#include <gtest/gtest.h>
#include <set>

namespace hitproof::schema {
namespace {

TEST(Records, TableOfTheListMatchesTheStructs) {
  const RecordInfo* info = record_info(rec::transfer_page::type);
  ASSERT_NE(info, nullptr);
  EXPECT_STREQ(info->name, "transfer_page");
  EXPECT_EQ(info->bytes, sizeof(rec::transfer_page));
  EXPECT_STREQ(info->fields.back().name, "held");
  EXPECT_EQ(info->fields.back().offset, offsetof(rec::transfer_page, held));
  EXPECT_EQ(info->fields.back().kind, FieldKind::u16);
}

TEST(Records, NamesAndNumbersAreUnique) {
  std::set<std::string> names;
  std::set<int> types;
  for (const RecordInfo& record : all_records()) {
    EXPECT_TRUE(names.insert(record.name).second) << record.name;
    EXPECT_TRUE(types.insert(record.type).second) << record.name;
    std::set<std::string> fields{"process", "thread", "seq", "t_ns"};
    for (const FieldInfo& field : record.fields) {
      EXPECT_TRUE(fields.insert(field.name).second) << record.name << "." << field.name;
      EXPECT_LE(field.offset + field.bytes, record.bytes);
      EXPECT_STRNE(field.unit, "") << record.name << "." << field.name;
      EXPECT_STRNE(field.meaning, "") << record.name << "." << field.name;
    }
  }
}

TEST(Records, UnknownNumbersHaveNoRecord) {
  EXPECT_EQ(record_info(0), nullptr);
  EXPECT_EQ(record_info(255), nullptr);
  EXPECT_EQ(record_info(65535), nullptr);
}

TEST(Records, TextIsCutAndPadded) {
  rec::hook hook;
  set_text(hook.name, std::string(100, 'x'));
  EXPECT_EQ(get_text(hook.name), std::string(48, 'x'));
  set_text(hook.name, "cuMemcpyAsync");
  EXPECT_EQ(get_text(hook.name), "cuMemcpyAsync");
  EXPECT_EQ(hook.name[47], '\0');
}

// The committed file is what people read; it must be what the program does. To renew it after a
// change of the list: build schema_records_sql and redirect its output to schema/records.sql.
TEST(Records, CommittedSqlIsUpToDate) { EXPECT_EQ(read_all(HITPROOF_RECORDS_SQL), records_sql()); }

} // namespace
} // namespace hitproof::schema
