#include "engine/model/geometry.h"

#include <gtest/gtest.h>
#include <set>
#include <stdexcept>

namespace hitproof::engine {
namespace {

CacheGeometry at_tp4(const char* preset) { return CacheGeometry(find_preset(preset), 4, 1); }

TEST(Geometry, TinyHasTheFiguresOfTheStudy) {
  const CacheGeometry g = at_tp4("tiny");
  EXPECT_EQ(g.record_bytes, 32u);
  EXPECT_EQ(g.state_bytes, 53760u);
  EXPECT_EQ(g.mla_page, 57344u);
  EXPECT_EQ(g.mla_page % 4096, 0u);
  EXPECT_EQ(g.block_tokens, 1792);
  EXPECT_EQ(g.index_page, 16128u);
  EXPECT_EQ(g.tail_bytes, 512u);
  EXPECT_EQ(g.attention_bytes(), 881664u);
  EXPECT_EQ(g.state_and_tail_bytes(), 1955840u);
}

TEST(Geometry, MicroHasTheFiguresOfTheStudy) {
  const CacheGeometry g = at_tp4("micro");
  EXPECT_EQ(g.record_bytes, 12u);
  EXPECT_EQ(g.state_bytes, 1408u);
  EXPECT_EQ(g.mla_page, 1536u);
  EXPECT_EQ(g.block_tokens, 128);
}

TEST(Geometry, PaperHasTheReleasedModelsCache) {
  const CacheGeometry g = at_tp4("paper");
  EXPECT_EQ(g.record_bytes, 656u);
  EXPECT_EQ(g.state_bytes, 1097728u);
  EXPECT_EQ(g.conv_bytes, 49152u);
  EXPECT_EQ(g.recurrent_bytes, 1048576u);
  EXPECT_EQ(g.state(0).page_bytes - g.state(0).content_bytes, 77824u);
  EXPECT_EQ(g.block_tokens, 1792);
  EXPECT_EQ(g.mla_page, 1175552u);
  EXPECT_EQ(g.index_page, 59136u);
  EXPECT_EQ(g.tail_bytes, 2048u);
  EXPECT_EQ(g.bytes_per_block(), 14816256u);
  EXPECT_EQ(g.state_and_tail_bytes(), 39993344u);
}

// Without drafts, and with seven at two ranks: the block size reported from another deployment
// (docs/model.md 4.2).
TEST(Geometry, BlockSizeFollowsRecordAndDrafts) {
  ModelConfig c = find_preset("paper");
  EXPECT_EQ(CacheGeometry(c, 4, 0).block_tokens, 1664);
  EXPECT_EQ(CacheGeometry(c, 2, 7).block_tokens, 3584);
  c.latent_tile = 512;
  c.record_padding = 0; // 516 bytes
  EXPECT_EQ(CacheGeometry(c, 2, 7).record_bytes, 516u);
}

// docs/model.md 4.1 and 4.2, written out for the released model's cache with one draft token:
//   S = 65,536 (64 / TP) + 6 (8,192 / TP) (3 + k), block = 128 ceil(S / (128 a)), a = 656 bytes;
//   33 bytes of pooled keys a token, in pages of 64 pools where 64 divides them, else of 32.
struct Figures {
  int tp;
  uint64_t state, block, index_page_pools;
};

TEST(Geometry, PagesFollowTheNumberOfRanks) {
  for (const Figures& f : {Figures{1, 4390912, 6784, 32},
                           {2, 2195456, 3456, 32},
                           {4, 1097728, 1792, 64},
                           {8, 548864, 896, 32}}) {
    const auto ranks = static_cast<uint64_t>(f.tp);
    ASSERT_EQ(65536 * (64 / ranks) + 6 * (8192 / ranks) * (3 + 1), f.state);
    ASSERT_GE(f.block * 656, f.state);
    ASSERT_LT((f.block - 128) * 656, f.state);
    const CacheGeometry g(find_preset("paper"), f.tp, 1);
    EXPECT_EQ(g.state_bytes, f.state) << f.tp;
    EXPECT_EQ(static_cast<uint64_t>(g.block_tokens), f.block) << f.tp;
    EXPECT_EQ(g.mla_page, f.block * 656) << f.tp;
    EXPECT_EQ(g.index_page, f.block * 33) << f.tp;
    EXPECT_EQ(static_cast<uint64_t>(g.pools_per_index_page), f.index_page_pools) << f.tp;
    EXPECT_EQ(g.tail_bytes, 2048u) << f.tp; // not divided among ranks
    EXPECT_EQ(g.state(0).page_bytes, g.mla_page) << f.tp;
    EXPECT_EQ(g.bytes_per_block(), 12 * f.block * (656 + 33)) << f.tp;
    EXPECT_EQ(g.entries.size(), 70u) << f.tp;
  }
}

class Entries : public ::testing::TestWithParam<const char*> {};

TEST_P(Entries, SeventyInSixGroups) {
  const CacheGeometry g = at_tp4(GetParam());
  ASSERT_EQ(g.entries.size(), static_cast<size_t>(num_cache_entries));
  int per_group[num_transfer_groups] = {};
  std::set<std::string> names;
  for (size_t i = 0; i < g.entries.size(); ++i) {
    const CacheEntry& e = g.entries[i];
    EXPECT_EQ(e.index, static_cast<int>(i));
    EXPECT_LE(e.content_bytes, e.page_bytes);
    EXPECT_LE(e.page_bytes, e.page_stride);
    EXPECT_EQ(e.key_scope, e.layer == ModelConfig::mtp_layer ? 1 : 0);
    ++per_group[e.transfer_group];
    names.insert(e.name);
  }
  EXPECT_EQ(names.size(), 70u);
  const int expected[num_transfer_groups] = {12, 12, 12, 12, 11, 11};
  for (int i = 0; i < num_transfer_groups; ++i)
    EXPECT_EQ(per_group[i], expected[i]) << i;
  EXPECT_EQ(g.mla(0).name, "layers.3.mla");
  EXPECT_EQ(g.mla(11).layer, 45);
  EXPECT_EQ(g.indexer(0).kind, EntryKind::indexer);
  EXPECT_EQ(g.state(33).layer, 44);
  EXPECT_EQ(g.tail(11).name, "layers.45.tail");
}

INSTANTIATE_TEST_SUITE_P(Geometry, Entries, ::testing::Values("tiny", "paper"));

TEST(Geometry, StateLayersAliasMlaRegionsByTheirPlaceInTheGroup) {
  const CacheGeometry g = at_tp4("tiny");
  for (int m = 0; m < 34; ++m) {
    EXPECT_EQ(g.state(m).region, m / 3);
    EXPECT_EQ(g.state(m).engine_group, 2 + m % 3);
    EXPECT_EQ(g.state(m).page_stride, g.mla(0).page_stride);
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(g.tail(i).region, g.indexer(i).region);
    EXPECT_EQ(g.tail(i).region_kind, RegionKind::indexer);
    EXPECT_EQ(g.tail(i).page_stride, g.indexer(i).page_stride);
  }
}

TEST(Geometry, PooledKeysAndScalesFillAnIndexerPage) {
  for (const char* preset : {"micro", "tiny", "paper"}) {
    const ModelConfig c = find_preset(preset);
    const CacheGeometry g(c, 4, 1);
    std::set<uint64_t> bytes;
    for (int s = 0; s < g.pools_per_block; ++s) {
      for (int i = 0; i < c.index_dim; ++i)
        bytes.insert(g.pooled_key_offset(s) + static_cast<uint64_t>(i));
      for (uint64_t i = 0; i < 4; ++i)
        bytes.insert(g.pooled_scale_offset(s) + i);
    }
    EXPECT_EQ(bytes.size(), g.index_page) << preset;
    EXPECT_EQ(*bytes.rbegin(), g.index_page - 1) << preset;
  }
  // A page of the released model: 64 keys of 128 bytes, then 64 scales.
  const CacheGeometry g = at_tp4("paper");
  EXPECT_EQ(g.pooled_key_offset(64), 8448u);
  EXPECT_EQ(g.pooled_scale_offset(0), 8192u);
}

TEST(Geometry, TailIsKeysThenGatesByRingSlot) {
  const CacheGeometry g = at_tp4("paper");
  EXPECT_EQ(g.tail_offset(0, 1), 256u);
  EXPECT_EQ(g.tail_offset(1, 0), 1024u);
}

TEST(Geometry, RejectsDimensionsThatDoNotFit) {
  ModelConfig c = find_preset("tiny");
  EXPECT_THROW(CacheGeometry(c, 5, 1), std::invalid_argument);
  c.index_dim = 24;
  EXPECT_THROW(CacheGeometry(c, 4, 1), std::invalid_argument);
}

} // namespace
} // namespace hitproof::engine
