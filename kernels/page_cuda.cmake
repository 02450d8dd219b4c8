# Device twins of the page operations. Compiled by nvcc into one fatbin and embedded as bytes, so that
# what carries them links no CUDA library. Without nvcc nothing is embedded, and it says so at run time.
# Included from probes/, hence the paths.
set(HITPROOF_PAGE_CUDA_DIR ${CMAKE_SOURCE_DIR}/kernels/cuda)
hitproof_library(hitproof_kernels_page_cuda ${HITPROOF_PAGE_CUDA_DIR}/page_batch.cpp
  ${HITPROOF_PAGE_CUDA_DIR}/page_fatbin.cpp)

option(HITPROOF_PAGE_CUDA "Embed the page kernels for GPUs, where nvcc is found" ON)
find_program(HITPROOF_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
if(HITPROOF_PAGE_CUDA AND HITPROOF_NVCC)
  set(HITPROOF_PAGE_FATBIN ${CMAKE_BINARY_DIR}/kernels/page_kernels.fatbin)
  set(arch_flags)
  foreach(arch IN ITEMS 80 90 100 120)
    list(APPEND arch_flags -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  # For devices newer than all of these.
  list(APPEND arch_flags -gencode arch=compute_120,code=compute_120)
  file(GLOB page_cuda_headers CONFIGURE_DEPENDS ${HITPROOF_PAGE_CUDA_DIR}/*.h)
  add_custom_command(OUTPUT ${HITPROOF_PAGE_FATBIN}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/kernels
    COMMAND ${HITPROOF_NVCC} -fatbin -std=c++20 -O3 --expt-relaxed-constexpr -Werror all-warnings
      -ccbin ${CMAKE_CXX_COMPILER} -I${CMAKE_SOURCE_DIR} ${arch_flags}
      -o ${HITPROOF_PAGE_FATBIN} ${HITPROOF_PAGE_CUDA_DIR}/page_kernels.cu
    DEPENDS ${HITPROOF_PAGE_CUDA_DIR}/page_kernels.cu ${page_cuda_headers}
      ${CMAKE_SOURCE_DIR}/kernels/page_ops.h
    COMMENT "Page kernels for GPUs" VERBATIM)
  set_source_files_properties(${HITPROOF_PAGE_CUDA_DIR}/page_fatbin.cpp PROPERTIES
    OBJECT_DEPENDS ${HITPROOF_PAGE_FATBIN}
    COMPILE_DEFINITIONS HITPROOF_PAGE_FATBIN="${HITPROOF_PAGE_FATBIN}")
  target_sources(hitproof_kernels_page_cuda PRIVATE ${HITPROOF_PAGE_FATBIN})
  message(STATUS "Page kernels for GPUs: ${HITPROOF_NVCC}")
else()
  message(STATUS "Page kernels for GPUs: no nvcc, built without")
endif()
