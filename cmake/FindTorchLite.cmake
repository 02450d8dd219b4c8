# libtorch for a program without a GPU: imported targets TorchLite::cpu and TorchLite::c10, and TorchLite::cudart,
# the run path of the CUDA runtime beside it.
#
# find_package(Torch) of a CUDA wheel insists on a whole CUDA toolkit. This module needs the torch folder of the wheel
# alone: HITPROOF_TORCH_DIR, else .deps/libtorch/torch of the source tree, else the torch of a Python that has 2.11.
# libtorch_cpu needs libcudart.so.13 and libcupti.so.13 only for its profiler; the linker does not look for them, and
# at run time they come from the nvidia folder beside torch, or from a preloaded library of the same name.
set(HITPROOF_TORCH_DIR "" CACHE PATH "The torch folder (with include/ and lib/) of libtorch 2.11")
set(TorchLite_DIR_FOUND "")

function(_torchlite_try dir)
  if(TorchLite_DIR_FOUND OR NOT EXISTS "${dir}/lib/libtorch_cpu.so")
    return()
  endif()
  set(version "")
  if(EXISTS "${dir}/include/torch/headeronly/version.h")
    file(STRINGS "${dir}/include/torch/headeronly/version.h" lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR) ")
    string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" version "${lines}")
  endif()
  if(version STREQUAL "2.11")
    set(TorchLite_DIR_FOUND "${dir}" PARENT_SCOPE)
  else()
    set(TorchLite_WRONG_VERSION "${dir} has version '${version}'" PARENT_SCOPE)
  endif()
endfunction()

if(HITPROOF_TORCH_DIR)
  _torchlite_try("${HITPROOF_TORCH_DIR}")
else()
  _torchlite_try("${CMAKE_SOURCE_DIR}/.deps/libtorch/torch")
  if(NOT TorchLite_DIR_FOUND)
    find_program(TorchLite_PYTHON NAMES python3)
    if(TorchLite_PYTHON)
      execute_process(
        COMMAND ${TorchLite_PYTHON} -c
          "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
        OUTPUT_VARIABLE python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      _torchlite_try("${python_torch}")
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchLite REQUIRED_VARS TorchLite_DIR_FOUND
  REASON_FAILURE_MESSAGE
    "libtorch 2.11 is needed. 'make setup' puts it into the tree, or name an installed one with -DHITPROOF_TORCH_DIR=.../torch. ${TorchLite_WRONG_VERSION}")

if(TorchLite_FOUND AND NOT TARGET TorchLite::cpu)
  set(torchlite_lib "${TorchLite_DIR_FOUND}/lib")
  get_filename_component(torchlite_site "${TorchLite_DIR_FOUND}" DIRECTORY)
  add_library(TorchLite::c10 SHARED IMPORTED GLOBAL)
  set_target_properties(TorchLite::c10 PROPERTIES
    IMPORTED_LOCATION "${torchlite_lib}/libc10.so"
    IMPORTED_SONAME libc10.so)
  add_library(TorchLite::cpu SHARED IMPORTED GLOBAL)
  set_target_properties(TorchLite::cpu PROPERTIES
    IMPORTED_LOCATION "${torchlite_lib}/libtorch_cpu.so"
    IMPORTED_SONAME libtorch_cpu.so
    INTERFACE_INCLUDE_DIRECTORIES "${TorchLite_DIR_FOUND}/include"
    INTERFACE_LINK_LIBRARIES TorchLite::c10
    INTERFACE_LINK_OPTIONS
      "LINKER:--unresolved-symbols=ignore-in-shared-libs;LINKER:-rpath,${torchlite_lib};LINKER:-rpath,${torchlite_site}/nvidia/cu13/lib")
  add_library(TorchLite::cudart INTERFACE IMPORTED GLOBAL)
  set_target_properties(TorchLite::cudart PROPERTIES
    INTERFACE_LINK_OPTIONS "LINKER:-rpath,${torchlite_site}/nvidia/cu13/lib")
endif()
