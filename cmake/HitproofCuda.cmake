# The CUDA toolkit, where there is one: HITPROOF_CUDA says so. Everything but the device code builds without it.
#
# hitproof_cuda_library(NAME SOURCES...) : a shared library of device code in lib/hitproof. It is loaded at run time by
# those who want a device, never linked into a program that may run on a simulated one: it needs the runtime's
# registration calls. The runtime stays a library of its own, so that a preloaded probe sees its calls.
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(HITPROOF_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(HITPROOF_NVCC)
    set(CMAKE_CUDA_COMPILER ${HITPROOF_NVCC})
  endif()
endif()
if(NOT CMAKE_CUDA_COMPILER)
  check_language(CUDA)
endif()

set(HITPROOF_CUDA OFF)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 120-real)
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc has it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
  if(CCACHE_PROGRAM)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
  set(HITPROOF_CUDA ON)
endif()

function(hitproof_cuda_library name)
  add_library(${name} SHARED ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF
    CUDA_VISIBILITY_PRESET hidden)
  target_compile_options(${name} PRIVATE -lineinfo --expt-relaxed-constexpr --Werror=all-warnings
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-unused-parameter,-Werror)
endfunction()
