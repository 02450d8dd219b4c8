#include "kernels/model/cpu.h"

namespace hitproof::kernels {

bool cpu_supported() noexcept { return cpu_support_message()[0] == '\0'; }

const char* cpu_support_message() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) {
    return "this processor lacks AVX2; the model's kernels need x86-64-v3 (AVX2, FMA, F16C, BMI2)";
  }
  if (!__builtin_cpu_supports("fma")) {
    return "this processor lacks FMA; the model's kernels need x86-64-v3 (AVX2, FMA, F16C, BMI2)";
  }
  // Every processor with AVX2 and BMI2 also has F16C; older compilers cannot ask for F16C by name.
  if (!__builtin_cpu_supports("bmi2")) {
    return "this processor lacks BMI2; the model's kernels need x86-64-v3 (AVX2, FMA, F16C, BMI2)";
  }
  return "";
#else
  return "the model's kernels need an x86-64 processor with AVX2, FMA, F16C and BMI2";
#endif
}

}  // namespace hitproof::kernels
