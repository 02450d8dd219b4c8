// Latent cache and attention: CUDA against the CPU.
#include "tests/gpu/sides.h"
#include "tests/kernels/reference.h"

namespace hitproof::kernels::testing {
namespace {

using Bytes = std::vector<uint8_t>;

const std::vector<int32_t> table = {5, 1, 7, 3};

struct Cached {
  Bytes region;
  Floats loaded, gathered;
};

Cached append_and_read(const ModelKernels& k, const LatentRecord& rec, int block_tokens,
                       int tokens) {
  Side s(k);
  const int64_t stride = latent_record_bytes(rec) * block_tokens + 6;
  const PagedCache cache{s.room<uint8_t>(static_cast<size_t>(8 * stride)), stride, s.put(table),
                         block_tokens};
  const int c_stride = rec.latent + 3;
  Floats values = normal(static_cast<size_t>(tokens * c_stride), 81, 3.0f);
  for (int i = 0; i < rec.latent; ++i)
    values[static_cast<size_t>(c_stride + i)] = 0.0f;
  const float* c = s.put(values);
  const int half = tokens / 2;
  s.k.mla_append(nullptr, rec, c, c_stride, 0, half, cache);
  s.k.mla_append(nullptr, rec, c + half * c_stride, c_stride, half, tokens - half, cache);
  const size_t latent = static_cast<size_t>(rec.latent);
  float* loaded = s.room<float>(latent * static_cast<size_t>(tokens - 3));
  s.k.mla_load(nullptr, rec, cache, 3, tokens - 3, loaded);
  const std::vector<int32_t> ids = {tokens - 1, 0, 1, block_tokens, block_tokens - 1};
  float* gathered = s.room<float>(latent * ids.size());
  s.k.mla_gather(nullptr, rec, cache, s.put(ids), static_cast<int>(ids.size()), gathered);
  return {s.get(cache.base, static_cast<size_t>(8 * stride)),
          s.get(loaded, latent * static_cast<size_t>(tokens - 3)),
          s.get(gathered, latent * ids.size())};
}

TEST(LatentCache, RecordsAndWhatIsReadEqualTheCpu) {
  for (const LatentRecord rec :
       {LatentRecord{512, 128, 64}, LatentRecord{16, 8, 4}, LatentRecord{8, 8, 0},
        LatentRecord{32, 16, 3}, LatentRecord{16, 0, 0}}) {
    const std::string text = shape_text({{"latent", rec.latent}, {"tile", rec.tile}});
    const Cached want = append_and_read(cpu_model_kernels(), rec, 12, 41);
    const Cached got = append_and_read(cuda_table(), rec, 12, 41);
    expect_equal("mla_append", text, got.region, want.region);
    expect_equal("mla_load", text, got.loaded, want.loaded);
    expect_equal("mla_gather", text, got.gathered, want.gathered);
  }
}

void check_attend(int rows, int heads, int latent, int block, int most, bool with_ids) {
  const size_t columns = static_cast<size_t>(heads * latent);
  const Floats q = normal(static_cast<size_t>(rows) * columns, 82);
  const Floats latents = normal(static_cast<size_t>((most + 20) * latent), 83);
  std::vector<int32_t> counts(static_cast<size_t>(rows)), ids;
  std::mt19937 engine(84);
  for (size_t r = 0; r < counts.size(); ++r)
    counts[r] = static_cast<int32_t>(r % 5 == 0 ? static_cast<size_t>(most)
                                                : engine() % static_cast<unsigned>(most + 1));
  counts[1] = 0;
  counts[2] = 1;
  const int ids_stride = most + 1;
  for (int i = 0; i < rows * ids_stride; ++i)
    ids.push_back(static_cast<int32_t>(engine() % static_cast<unsigned>(most + 20)));
  const std::string text = shape_text(
      {{"rows", rows}, {"heads", heads}, {"latent", latent}, {"block", block}, {"most", most}});
  check_rows({"mla_attend", text, rows, [&](Side& s, int first, int count) {
                float* io =
                    s.put(q) + static_cast<ptrdiff_t>(first) * static_cast<ptrdiff_t>(columns);
                const int32_t* own_ids = with_ids ? s.put(ids) + first * ids_stride : nullptr;
                float* workspace =
                    s.room<float>(s.k.mla_workspace_floats(count, heads, latent, block, most));
                s.k.mla_attend(nullptr, io, static_cast<int64_t>(columns), count, heads, latent,
                               0.3f, s.put(latents), own_ids, ids_stride, s.put(counts) + first,
                               most, block, io, static_cast<int64_t>(columns), workspace);
                return s.get(io, static_cast<size_t>(count) * columns);
              }});
}

TEST(Attention, EqualsTheCpuForManyRowsAndForFew) {
  check_attend(40, 4, 16, 64, 200, true);
  check_attend(40, 1, 8, 8, 50, false);
  check_attend(36, 2, 16, 24, 100, true);
  check_attend(36, 4, 512, 64, 300, true);
  check_attend(8, 16, 512, 64, 130, false);
  check_attend(34, 3, 136, 64, 70, true);
  check_attend(40, 4, 64, 4096, 90, true);
}

TEST(Attention, ASelectionOfTheReleasedModelsSizeEqualsTheCpu) {
  check_attend(4, 4, 512, 64, 2051, true);
}

} // namespace
} // namespace hitproof::kernels::testing
