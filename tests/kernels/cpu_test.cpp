#include "kernels/model/cpu.h"

#include <gtest/gtest.h>

#include "kernels/model/profile.h"

namespace hitproof::kernels {
namespace {

TEST(Cpu, SaysNothingWhereAllIsThere) {
  EXPECT_EQ(cpu_supported(), cpu_support_message()[0] == '\0');
  EXPECT_TRUE(cpu_supported()) << cpu_support_message();
}

TEST(Profile, AcceptsItsDefaultsAndNamesTheFirstBadField) {
  KernelProfile p;
  EXPECT_EQ(profile_bad_field(p), nullptr);
  p.norm_block = 12;
  EXPECT_STREQ(profile_bad_field(p), "norm_block");
  p.kda_chunk = 8;
  EXPECT_STREQ(profile_bad_field(p), "kda_chunk");
  EXPECT_EQ(profile_fields.size(), 7u);
}

}  // namespace
}  // namespace hitproof::kernels
