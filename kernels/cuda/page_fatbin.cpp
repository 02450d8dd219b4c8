#include "kernels/cuda/page_fatbin.h"

#ifdef HITPROOF_PAGE_FATBIN
__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".globl hitproof_page_fatbin_begin\n"
        ".hidden hitproof_page_fatbin_begin\n"
        "hitproof_page_fatbin_begin:\n"
        ".incbin \"" HITPROOF_PAGE_FATBIN "\"\n"
        ".globl hitproof_page_fatbin_end\n"
        ".hidden hitproof_page_fatbin_end\n"
        "hitproof_page_fatbin_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern "C" const unsigned char hitproof_page_fatbin_begin[], hitproof_page_fatbin_end[];
#endif

namespace hitproof::kernels {

std::span<const unsigned char> page_fatbin() noexcept {
#ifdef HITPROOF_PAGE_FATBIN
  return {hitproof_page_fatbin_begin, hitproof_page_fatbin_end};
#else
  return {};
#endif
}

} // namespace hitproof::kernels
