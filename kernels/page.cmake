# Page operations (CPU twins). Static and position independent: they also live in the preload library.
hitproof_library(hitproof_kernels_page page_ops.cpp)
target_compile_options(hitproof_kernels_page PRIVATE -mavx2 -O3)
