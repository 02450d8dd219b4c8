#include "kernels/model/mla.h"

#include <cfloat>

#include "kernels/model/numeric.h"
#include "reference.h"

namespace hitproof::kernels {
namespace {

using testing::Doubles;
using testing::Floats;

TEST(LatentRecord, SizesOfThePresets) {
  EXPECT_EQ(latent_record_bytes({512, 128, 64}), 656);
  EXPECT_EQ(latent_record_bytes({16, 8, 4}), 32);
  EXPECT_EQ(latent_record_bytes({8, 8, 0}), 12);
  EXPECT_EQ(latent_record_bytes({16, 0, 0}), 64);
}

TEST(LatentRecord, BytesFollowTheScheme) {
  for (const LatentRecord rec : {LatentRecord{16, 8, 4}, LatentRecord{512, 128, 64},
                                 LatentRecord{8, 8, 0}, LatentRecord{32, 16, 3}}) {
    Floats c = testing::normal(rec.latent, 71, 3.0f);
    for (int i = 0; i < rec.tile; ++i) c[i] *= 1e-3f;
    const int bytes = latent_record_bytes(rec);
    std::vector<uint8_t> record(bytes + 1, 0xee);
    mla_pack_record(rec, c.data(), record.data());
    EXPECT_EQ(record[bytes], 0xee);
    Floats back(rec.latent);
    mla_unpack_record(rec, record.data(), back.data());
    for (int t = 0; t < rec.latent / rec.tile; ++t) {
      float top = 0.0f, scale;
      for (int i = 0; i < rec.tile; ++i) top = std::max(top, std::fabs(c[t * rec.tile + i]));
      std::memcpy(&scale, &record[rec.latent + 4 * t], 4);
      EXPECT_EQ(scale, top / 448.0f);
      for (int i = t * rec.tile; i < (t + 1) * rec.tile; ++i) {
        const float code = testing::e4m3(c[i] / scale);
        EXPECT_EQ(e4m3_to_float(record[i]), code);
        EXPECT_EQ(back[i], code * scale);
        EXPECT_NEAR(back[i], c[i], top / 16);
      }
    }
    for (int i = bytes - 2 * rec.rope_zeros; i < bytes; ++i) EXPECT_EQ(record[i], 0);
  }
}

TEST(LatentRecord, ZerosHaveTheLeastScale) {
  const LatentRecord rec{16, 8, 4};
  const Floats c(16, 0.0f);
  std::vector<uint8_t> record(32);
  mla_pack_record(rec, c.data(), record.data());
  float scale;
  std::memcpy(&scale, &record[16], 4);
  EXPECT_EQ(scale, FLT_MIN);
  Floats back(16, 1.0f);
  mla_unpack_record(rec, record.data(), back.data());
  EXPECT_EQ(back, c);
}

TEST(LatentCache, AppendLoadGatherThroughThePageTable) {
  const LatentRecord rec{16, 8, 4};
  const int block = 12, tokens = 31;
  std::vector<uint8_t> memory(8 * 500, 0xab);
  const std::vector<int32_t> table = {5, 1, 7};
  const PagedCache cache{memory.data(), 500, table.data(), block};
  const Floats c = testing::normal(tokens * 16, 72);
  mla_append(rec, c.data(), 16, 0, 10, cache);
  mla_append(rec, &c[10 * 16], 16, 10, 21, cache);
  Floats all(tokens * 16);
  mla_load(rec, cache, 0, tokens, all.data());
  for (int t = 0; t < tokens; ++t) {
    std::vector<uint8_t> record(32);
    Floats want(16);
    mla_pack_record(rec, &c[t * 16], record.data());
    mla_unpack_record(rec, record.data(), want.data());
    EXPECT_TRUE(testing::same_bits(want.data(), &all[t * 16], 16));
    EXPECT_EQ(std::memcmp(record.data(), &memory[table[t / block] * 500 + t % block * 32], 32), 0);
  }
  const std::vector<int32_t> ids = {30, 0, 11, 12, 24};
  Floats some(ids.size() * 16), part(20 * 16);
  mla_gather(rec, cache, ids.data(), 5, some.data());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(testing::same_bits(&some[i * 16], &all[ids[i] * 16], 16));
  }
  mla_load(rec, cache, 7, 20, part.data());
  EXPECT_TRUE(testing::same_bits(part.data(), &all[7 * 16], part.size()));
}

Doubles reference_attend(const Floats& q, const Floats& latents, const std::vector<int32_t>& ids,
                         int heads, int latent, double scale) {
  Doubles out(static_cast<size_t>(heads) * latent);
  for (int h = 0; h < heads; ++h) {
    Doubles s(ids.size());
    double top = -1e300, total = 0.0;
    for (size_t j = 0; j < ids.size(); ++j) {
      for (int d = 0; d < latent; ++d) s[j] += double{q[h * latent + d]} * latents[ids[j] * latent + d];
      s[j] *= scale;
      top = std::max(top, s[j]);
    }
    for (double& v : s) total += v = std::exp(v - top);
    for (size_t j = 0; j < ids.size(); ++j) {
      for (int d = 0; d < latent; ++d) out[h * latent + d] += s[j] / total * latents[ids[j] * latent + d];
    }
  }
  return out;
}

TEST(SparseAttention, MatchesTheFormula) {
  for (const int latent : {8, 16, 24, 128}) {
    for (const int count : {1, 2, 7, 8, 9, 63, 64, 65, 259}) {
      for (const int block : {8, 64, 128}) {
        const int heads = 2, context = 400;
        const Floats latents = testing::normal(context * latent, 81);
        const Floats q = testing::normal(heads * latent, 82, 2.0f);
        std::vector<int32_t> ids(count);
        for (int i = 0; i < count; ++i) ids[i] = (i * 37 + 5) % context;
        Floats out(heads * latent), workspace(mla_workspace_floats(latent, block));
        mla_attend(q.data(), heads * latent, 1, heads, latent, 0.25f, latents.data(), ids.data(),
                   count, &count, block, out.data(), heads * latent, workspace.data());
        EXPECT_LT(testing::relative_error(
                      out, reference_attend(q, latents, ids, heads, latent, 0.25)), 3e-6)
            << latent << ' ' << count << ' ' << block;
      }
    }
  }
}

TEST(SparseAttention, EmptySelectionAndHugeScores) {
  const int latent = 16;
  const Floats latents = testing::normal(4 * latent, 83, 1e4f);
  Floats q = testing::normal(latent, 84, 1e4f), out(latent, 7.0f);
  Floats workspace(mla_workspace_floats(latent, 64));
  int count = 0;
  mla_attend(q.data(), latent, 1, 1, latent, 1.0f, latents.data(), nullptr, 0, &count, 64,
             out.data(), latent, workspace.data());
  EXPECT_EQ(out, Floats(latent, 0.0f));
  count = 4;
  mla_attend(q.data(), latent, 1, 1, latent, 1.0f, latents.data(), nullptr, 0, &count, 64,
             out.data(), latent, workspace.data());
  EXPECT_LT(testing::relative_error(out, reference_attend(q, latents, {0, 1, 2, 3}, 1, latent, 1.0)),
            1e-5);
}

TEST(SparseAttention, RowsAreIndependentAndGatheredTokensAreTheSame) {
  const int latent = 16, heads = 3, rows = 7, context = 100, width = 70;
  const Floats latents = testing::normal(context * latent, 85);
  const Floats q = testing::normal(rows * heads * latent, 86);
  std::vector<int32_t> ids(rows * width), counts(rows);
  for (int r = 0; r < rows; ++r) {
    counts[r] = 10 * r + 1;
    for (int i = 0; i < width; ++i) ids[r * width + i] = (i * 13 + r) % context;
  }
  const int stride = heads * latent;
  Floats out(rows * stride), workspace(mla_workspace_floats(latent, 32));
  mla_attend(q.data(), stride, rows, heads, latent, 0.2f, latents.data(), ids.data(), width,
             counts.data(), 32, out.data(), stride, workspace.data());
  for (int r = 0; r < rows; ++r) {
    Floats gathered(counts[r] * latent), one(&q[r * stride], &q[r * stride] + stride);
    for (int i = 0; i < counts[r]; ++i) {
      std::copy_n(&latents[ids[r * width + i] * latent], latent, &gathered[i * latent]);
    }
    // In place, tokens in order.
    mla_attend(one.data(), stride, 1, heads, latent, 0.2f, gathered.data(), nullptr, 0, &counts[r],
               32, one.data(), stride, workspace.data());
    EXPECT_TRUE(testing::same_bits(one.data(), &out[r * stride], stride)) << r;
  }
}

}  // namespace
}  // namespace hitproof::kernels
