#include "engine/model/preset.h"
#include "engine/model/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdexcept>

namespace hitproof::engine {
namespace {

TEST(Preset, EveryPresetHasTheTrueLayerPattern) {
  for (const std::string& name : preset_names()) {
    const ModelConfig c = find_preset(name);
    EXPECT_EQ(c.name, name);
    EXPECT_EQ(c.layers, 45);
    EXPECT_EQ(c.kda_layers(), 34);
    EXPECT_EQ(c.dsa_layers(), 11);
    EXPECT_FALSE(c.is_dsa(44));
    EXPECT_TRUE(c.is_dsa(43));
    EXPECT_EQ(c.kind_index(43), 10);
    EXPECT_EQ(c.kind_index(44), 33);
    EXPECT_EQ(c.kind_index(ModelConfig::mtp_layer), 11);
    EXPECT_EQ(check_config(c, 1), "");
    EXPECT_EQ(check_config(c, 4), "") << name;
  }
}

TEST(Preset, PaperCachesWhatTheReleasedModelCaches) {
  const ModelConfig c = find_preset("paper");
  EXPECT_EQ(c.kda_heads, 64);
  EXPECT_EQ(c.kda_dim, 128);
  EXPECT_EQ(c.conv_width, 4);
  EXPECT_EQ(c.latent, 512);
  EXPECT_EQ(c.latent_tile, 128);
  EXPECT_EQ(c.record_padding, 64);
  EXPECT_EQ(c.index_heads, 32);
  EXPECT_EQ(c.index_dim, 128);
  EXPECT_EQ(c.index_topk, 2048);
  EXPECT_EQ(c.max_positions, 32768);
}

TEST(Preset, UnknownNameListsTheKnownOnes) {
  try {
    find_preset("huge");
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("huge"), testing::HasSubstr("micro"),
                                         testing::HasSubstr("tiny")));
  }
}

TEST(Profile, SevenNamedChoicesAllPinned) {
  const KernelProfile p = KernelProfile::recorded();
  EXPECT_TRUE(p.pinned());
  EXPECT_FALSE(KernelProfile::unpinned().pinned());
  for (const KernelChoice& c : p.choices) {
    EXPECT_FALSE(c.name.empty());
    KernelProfile same = KernelProfile::unpinned();
    EXPECT_NO_THROW(same.set(c.name, c.value));
    EXPECT_EQ(same.value(c.name), c.value);
  }
}

TEST(Profile, RefusesUnknownNamesAndValues) {
  KernelProfile p = KernelProfile::recorded();
  EXPECT_THROW(p.set("kda_chunk", "17"), std::invalid_argument);
  EXPECT_THROW(p.set("kda_chunk", "64x"), std::invalid_argument);
  EXPECT_THROW(p.set("kda_chunk", ""), std::invalid_argument);
  EXPECT_THROW(p.set("warp_count", "4"), std::invalid_argument);
}

} // namespace
} // namespace hitproof::engine
