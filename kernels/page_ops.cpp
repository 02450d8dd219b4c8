#include "kernels/page_ops.h"

#include <bit>
#include <cstring>
#include <immintrin.h>

namespace hitproof::kernels {
namespace {

// Lanes i..i+3 of poison_whiten, given (index + 1) * golden for each lane.
inline __m256i whiten4(__m256i x) {
  x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
  return _mm256_xor_si256(x, _mm256_slli_epi64(x, 21));
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

inline __m256i first_lanes() {
  return _mm256_set_epi64x(static_cast<long long>(4 * golden), static_cast<long long>(3 * golden),
                           static_cast<long long>(2 * golden), static_cast<long long>(golden));
}

inline __m256i load(const unsigned char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

inline const unsigned char* bytes(const void* p) { return static_cast<const unsigned char*>(p); }

} // namespace

CompareResult page_compare(const void* a, const void* b, std::size_t n) {
  CompareResult result;
  const unsigned char* x = bytes(a);
  const unsigned char* y = bytes(b);
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const unsigned equal =
        static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(x + i), load(y + i))));
    if (equal == 0xffffffffu) continue;
    if (result.first < 0) result.first = static_cast<std::int64_t>(i) + std::countr_one(equal);
    result.differ += static_cast<std::uint64_t>(32 - std::popcount(equal));
  }
  for (; i < n; ++i) {
    if (x[i] == y[i]) continue;
    if (result.first < 0) result.first = static_cast<std::int64_t>(i);
    ++result.differ;
  }
  return result;
}

std::uint64_t count_nonzero_bytes(const void* data, std::size_t n) {
  const unsigned char* x = bytes(data);
  const __m256i zero = _mm256_setzero_si256();
  std::uint64_t count = 0;
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const unsigned zeros =
        static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(x + i), zero)));
    count += static_cast<std::uint64_t>(32 - std::popcount(zeros));
  }
  for (; i < n; ++i)
    count += x[i] != 0;
  return count;
}

void poison_fill(void* dst, std::size_t n, std::uint64_t key) {
  unsigned char* out = static_cast<unsigned char*>(dst);
  const std::size_t words = n / poison_word_bytes;
  const __m256i keys = _mm256_set1_epi64x(static_cast<long long>(key));
  const __m256i set = _mm256_set1_epi64x(static_cast<long long>(poison_set_bits));
  const __m256i step = _mm256_set1_epi64x(static_cast<long long>(4 * golden));
  __m256i lane = first_lanes();
  std::size_t w = 0;
  for (; w + 4 <= words; w += 4, lane = _mm256_add_epi64(lane, step)) {
    const __m256i word = _mm256_or_si256(_mm256_xor_si256(keys, whiten4(lane)), set);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + w * poison_word_bytes), word);
  }
  for (; w * poison_word_bytes < n; ++w) {
    const std::uint64_t word = poison_word(key, w);
    const std::size_t left = n - w * poison_word_bytes;
    std::memcpy(out + w * poison_word_bytes, &word,
                left < poison_word_bytes ? left : poison_word_bytes);
  }
}

PoisonCount poison_count(const void* data, std::size_t n, std::size_t content_n,
                         std::uint64_t key) {
  PoisonCount result;
  const unsigned char* in = bytes(data);
  const std::size_t words = n / poison_word_bytes;
  const std::size_t content_words = content_n / poison_word_bytes;
  const __m256i keys = _mm256_set1_epi64x(static_cast<long long>(key));
  const __m256i set = _mm256_set1_epi64x(static_cast<long long>(poison_set_bits));
  const __m256i step = _mm256_set1_epi64x(static_cast<long long>(4 * golden));
  const auto found = [&](std::size_t w) {
    if (result.first < 0) result.first = static_cast<std::int64_t>(w * poison_word_bytes);
    ++result.words;
    if (w < content_words) ++result.content_words;
  };
  __m256i lane = first_lanes();
  std::size_t w = 0;
  for (; w + 4 <= words; w += 4, lane = _mm256_add_epi64(lane, step)) {
    const __m256i word = _mm256_or_si256(_mm256_xor_si256(keys, whiten4(lane)), set);
    const __m256i equal = _mm256_cmpeq_epi64(word, load(in + w * poison_word_bytes));
    const int mask = _mm256_movemask_pd(_mm256_castsi256_pd(equal));
    if (mask == 0) continue;
    for (std::size_t k = 0; k < 4; ++k) {
      if (mask & (1 << k)) found(w + k);
    }
  }
  for (; w < words; ++w) {
    std::uint64_t word;
    std::memcpy(&word, in + w * poison_word_bytes, sizeof word);
    if (word == poison_word(key, w)) found(w);
  }
  const std::uint64_t last = poison_word(key, words);
  unsigned char expected[poison_word_bytes];
  std::memcpy(expected, &last, sizeof last);
  for (std::size_t i = words * poison_word_bytes; i < n; ++i) {
    result.tail_bytes += in[i] == expected[i % poison_word_bytes];
  }
  return result;
}

void strided_gather(const void* base, const StridedBlock& block, void* out) {
  const unsigned char* in = bytes(base);
  unsigned char* to = static_cast<unsigned char*>(out);
  const std::size_t size = block.element_bytes;
  for (std::uint32_t h = 0; h < block.halves; ++h) {
    for (std::uint32_t s = 0; s < block.slots; ++s) {
      const std::size_t row =
          std::size_t{h} * block.stride_half + std::size_t{s} * block.stride_slot;
      if (block.stride_channel == 1) {
        std::memcpy(to, in + row * size, block.channels * size);
        to += block.channels * size;
        continue;
      }
      for (std::uint32_t c = 0; c < block.channels; ++c, to += size) {
        std::memcpy(to, in + (row + std::size_t{c} * block.stride_channel) * size, size);
      }
    }
  }
}

std::uint64_t count_nonzero_elements(const void* data, std::size_t n, std::size_t element_bytes) {
  const unsigned char* x = bytes(data);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < n; ++i, x += element_bytes) {
    bool any = false;
    for (std::size_t b = 0; b < element_bytes; ++b)
      any |= x[b] != 0;
    count += any;
  }
  return count;
}

std::uint64_t count_equal_elements(const void* a, const void* b, std::size_t n,
                                   std::size_t element_bytes) {
  const unsigned char* x = bytes(a);
  const unsigned char* y = bytes(b);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < n; ++i, x += element_bytes, y += element_bytes) {
    count += std::memcmp(x, y, element_bytes) == 0;
  }
  return count;
}

} // namespace hitproof::kernels
