# What every target of ours shares: warnings as errors, include root, sanitizers, output folders.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/hitproof)
set(HITPROOF_SIM_DIR ${CMAKE_BINARY_DIR}/lib/hitproof/sim)

set(HITPROOF_SANITIZE "" CACHE STRING "Sanitizer: address, undefined, thread, or a comma list")

add_library(hitproof_options INTERFACE)
target_include_directories(hitproof_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(hitproof_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-unused-parameter -Werror)
if(HITPROOF_SANITIZE)
  target_compile_options(hitproof_options INTERFACE -fsanitize=${HITPROOF_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(hitproof_options INTERFACE -fsanitize=${HITPROOF_SANITIZE})
endif()

# Units that are mostly templates of CLI11 and nlohmann-json take half a minute each with full optimization, and minutes with
# checks for undefined behaviour in all of them. Nothing in them is hot; they keep the other sanitizers. Call it in the folder
# whose list names them.
function(hitproof_templates)
  set(options -O1 -g1)
  if(HITPROOF_SANITIZE MATCHES undefined)
    list(APPEND options -fno-sanitize=undefined)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

option(HITPROOF_FUZZ "Build the fuzz targets of tests/fuzz for libFuzzer (needs clang)" OFF)
if(HITPROOF_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HITPROOF_FUZZ needs clang: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(hitproof_options INTERFACE -fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer)
  target_link_options(hitproof_options INTERFACE -fsanitize=address)
endif()

# hitproof_library(NAME SOURCES... ) : a static library of one room.
function(hitproof_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC hitproof_options)
endfunction()

# hitproof_test(NAME SOURCES... LIBS ...) : a GoogleTest program, registered case by case.
function(hitproof_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE hitproof_options ${T_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}")
endfunction()
