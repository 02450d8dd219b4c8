// The seven choices that fix the order of floating-point sums in the model's kernels.
// Two runs agree bit for bit only if all seven agree; a run records the ones that it used.
#pragma once

#include <array>

namespace hitproof::kernels {

// Each value is a block or chunk size in elements of what is summed. A block that is larger than
// the sum is one block. All but kda_chunk are positive multiples of 8.
struct KernelProfile {
  int kda_chunk = 0;      // prefill: 0 = token by token; 16, 32 or 64 = chunked form of that chunk
  int mla_block = 64;     // tokens per block of the running softmax
  int indexer_block = 32; // channels per partial sum of a query-key product
  int moe_block = 64;     // input channels per partial sum inside an expert
  int gemm_kblock = 256;  // input channels per partial sum of a projection
  int mhc_block = 256;    // stream values per partial sum of the mHC mapping
  int norm_block = 64;    // values per partial sum of a mean or variance

  friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

struct ProfileField {
  const char* name;
  int KernelProfile::*member;
};

// Names in the order in which records, plans and tables list them.
inline constexpr std::array<ProfileField, 7> profile_fields = {{
    {"kda_chunk", &KernelProfile::kda_chunk},
    {"mla_block", &KernelProfile::mla_block},
    {"indexer_block", &KernelProfile::indexer_block},
    {"moe_block", &KernelProfile::moe_block},
    {"gemm_kblock", &KernelProfile::gemm_kblock},
    {"mhc_block", &KernelProfile::mhc_block},
    {"norm_block", &KernelProfile::norm_block},
}};

// nullptr where every value is one that the kernels accept, else the name of the first bad field.
constexpr const char* profile_bad_field(const KernelProfile& p) {
  if (p.kda_chunk != 0 && p.kda_chunk != 16 && p.kda_chunk != 32 && p.kda_chunk != 64) {
    return profile_fields[0].name;
  }
  for (std::size_t i = 1; i < profile_fields.size(); ++i) {
    const int v = p.*profile_fields[i].member;
    if (v <= 0 || v % 8 != 0) return profile_fields[i].name;
  }
  return nullptr;
}

}  // namespace hitproof::kernels
