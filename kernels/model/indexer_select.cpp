#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/model/indexer.h"
#include "kernels/model/simd.h"

namespace hitproof::kernels {
namespace {

constexpr int row_group = 6;

int padded16(int n) { return (n + 15) / 16 * 16; }

// Floats to integers of the same order; both zeros alike, NaN lowest. Lanes past n are lowest too:
// no search threshold reaches them because thresholds stay above the lowest integer.
void make_keys(const float* scores, int n, int32_t* keys) {
  const __m256i lowest = _mm256_set1_epi32(std::numeric_limits<int32_t>::min());
  for (int i = 0; i < n; i += 8) {
    const int count = std::min(8, n - i);
    const __m256 x = simd::add(simd::load_head(scores + i, count), _mm256_setzero_ps());
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i flip =
        _mm256_and_si256(_mm256_srai_epi32(bits, 31), _mm256_set1_epi32(0x7fffffff));
    __m256i key = _mm256_xor_si256(bits, flip);
    key = _mm256_blendv_epi8(key, lowest, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
    key = _mm256_blendv_epi8(lowest, key, simd::head_mask(count));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + i), key);
  }
}

__m256i load_keys(const int32_t* keys) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys));
}

int count_above(const int32_t* keys, int n, int32_t threshold) {
  const __m256i t = _mm256_set1_epi32(threshold);
  __m256i even = _mm256_setzero_si256(), odd = even;
  int i = 0;
  for (; i + 8 < n; i += 16) {
    even = _mm256_sub_epi32(even, _mm256_cmpgt_epi32(load_keys(keys + i), t));
    odd = _mm256_sub_epi32(odd, _mm256_cmpgt_epi32(load_keys(keys + i + 8), t));
  }
  if (i < n) even = _mm256_sub_epi32(even, _mm256_cmpgt_epi32(load_keys(keys + i), t));
  even = _mm256_add_epi32(even, odd);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(even), _mm256_extracti128_si256(even, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_cvtsi128_si32(sum);
}

// Indices of keys above t, and the first `ties` of those equal to it, ascending.
int collect(const int32_t* keys, int n, int32_t threshold, int ties, int32_t* out) {
  const __m256i t = _mm256_set1_epi32(threshold);
  int found = 0;
  for (int i = 0; i < n; i += 8) {
    const __m256i key = load_keys(keys + i);
    unsigned mask = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(key, t))));
    unsigned equal = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(key, t))));
    if (n - i < 8) equal &= (1u << (n - i)) - 1u;
    while (equal != 0 && ties > 0) {
      mask |= equal & (0u - equal);
      equal &= equal - 1;
      --ties;
    }
    for (; mask != 0; mask &= mask - 1) out[found++] = i + std::countr_zero(mask);
  }
  return found;
}

int select_keys(const int32_t* keys, int n, int topk, int32_t* selected) {
  // The least t with at most topk keys above it, by bisection of (low, high]. A t with exactly topk
  // above it ends the search early: nothing is tied across the border then.
  int32_t most = keys[0], least = keys[0];
  for (int i = 1; i < n; ++i) {
    most = std::max(most, keys[i]);
    least = std::min(least, keys[i]);
  }
  int64_t low = int64_t{least} - 1;
  int64_t high = most;
  int above = 0;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const int count = count_above(keys, n, static_cast<int32_t>(middle));
    if (count > topk) {
      low = middle;
    } else {
      high = middle;
      above = count;
      if (count == topk) break;
    }
  }
  return collect(keys, n, static_cast<int32_t>(high), topk - above, selected);
}

}  // namespace

int indexer_topk(const float* scores, int pools, int topk, int32_t* selected,
                 int32_t* keys) noexcept {
  if (pools <= topk) {
    for (int i = 0; i < pools; ++i) selected[i] = i;
    return std::max(pools, 0);
  }
  if (topk <= 0) return 0;
  make_keys(scores, pools, keys);
  return select_keys(keys, pools, topk, selected);
}

size_t indexer_select_workspace_floats(int packed_pools) noexcept {
  return static_cast<size_t>(row_group + 1) * padded16(packed_pools);
}

void indexer_select(const IndexerShape& shape, const float* codes, int64_t codes_stride,
                    const float* folded, int64_t folded_stride, int64_t first,
                    const int64_t* positions, int rows, const float* packed, int packed_pools,
                    int topk, int block, int32_t* pools_out, int64_t pools_stride, int32_t* counts,
                    float* workspace) noexcept {
  const int64_t stride = padded16(packed_pools);
  int32_t* keys = reinterpret_cast<int32_t*>(workspace + row_group * stride);
  for (int begin = 0; begin < rows; begin += row_group) {
    const int count = std::min(row_group, rows - begin);
    int visible[row_group];
    int most = 0;
    for (int r = 0; r < count; ++r) {
      visible[r] = visible_pools(positions == nullptr ? first + begin + r : positions[begin + r]);
      most = std::max(most, visible[r]);
    }
    if (most > topk) {
      indexer_scores(shape, codes + begin * codes_stride, codes_stride,
                     folded + begin * folded_stride, folded_stride, count, packed, packed_pools,
                     most, block, workspace, stride);
    }
    for (int r = 0; r < count; ++r) {
      counts[begin + r] = indexer_topk(workspace + r * stride, visible[r], topk,
                                       pools_out + (begin + r) * pools_stride, keys);
    }
  }
}

int indexer_expand(const int32_t* pools, int pool_count, int64_t t, int32_t* ids,
                   int width) noexcept {
  const __m128i offsets = _mm_setr_epi32(0, 1, 2, 3);
  for (int i = 0; i < pool_count; ++i) {
    const __m128i base = _mm_set1_epi32(pools[i] * index_pool);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(ids + int64_t{i} * index_pool),
                     _mm_add_epi32(base, offsets));
  }
  int count = pool_count * index_pool;
  for (int64_t token = (t + 1) / index_pool * index_pool; token <= t; ++token) {
    ids[count++] = static_cast<int32_t>(token);
  }
  std::fill(ids + count, ids + width, -1);
  return count;
}

}  // namespace hitproof::kernels
