#include "schema/status.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <memory>

namespace hitproof::schema {
namespace {

TEST(Status, OkByDefault) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().to_string(), "ok");
  EXPECT_TRUE(Status().with_context("opening").ok());
}

TEST(Status, SaysCodeAndMessage) {
  const Status status = Status(Code::corruption, "bad magic").with_context("a.hpj");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), Code::corruption);
  EXPECT_EQ(status.to_string(), "corruption: a.hpj: bad magic");
}

TEST(Status, SortsErrno) {
  EXPECT_EQ(Status::from_errno(ENOSPC, "write").code(), Code::no_space);
  EXPECT_EQ(Status::from_errno(EFBIG, "write").code(), Code::no_space);
  EXPECT_EQ(Status::from_errno(ENOENT, "open x").code(), Code::not_found);
  EXPECT_EQ(Status::from_errno(EIO, "open x").code(), Code::io_error);
  for (const int refusal : {EMFILE, ENFILE, ENOMEM, EAGAIN, EACCES, EPERM, EROFS})
    EXPECT_EQ(Status::from_errno(refusal, "open x").code(), Code::refused) << refusal;
  EXPECT_NE(Status::from_errno(EACCES, "open x").message().find("open x"), std::string::npos);
  EXPECT_NE(Status::from_errno(EMFILE, "open x").message().find("ulimit -n"), std::string::npos);
  EXPECT_NE(Status::from_errno(EFBIG, "write").message().find("ulimit -f"), std::string::npos);
}

TEST(Result, HoldsValueOrReason) {
  Result<std::unique_ptr<int>> value(std::make_unique<int>(7));
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(**value, 7);
  EXPECT_EQ(*std::move(value).value(), 7);
  const Result<int> none(Status(Code::busy, "taken"));
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(none.code(), Code::busy);
}

TEST(Result, AnOkStatusIsNoValue) { EXPECT_FALSE(Result<int>(Status()).ok()); }

} // namespace
} // namespace hitproof::schema
