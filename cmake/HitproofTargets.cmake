# What every target of ours shares: warnings as errors, include root, sanitizers, output folders.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # A unit with a precompiled header is cached only if told that the header's time and macros do not matter by themselves.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()
set(HITPROOF_PCH_OPTIONS $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/hitproof)
set(HITPROOF_SIM_DIR ${CMAKE_BINARY_DIR}/lib/hitproof/sim)

set(HITPROOF_SANITIZE "" CACHE STRING "Sanitizer: address, undefined, thread, or a comma list")

add_library(hitproof_options INTERFACE)
target_include_directories(hitproof_options INTERFACE ${CMAKE_SOURCE_DIR})
# -Wshadow only where a unit is one file: beside other files, a name of theirs is no name that is shadowed.
target_compile_options(hitproof_options INTERFACE -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(HITPROOF_SANITIZE)
  target_compile_options(hitproof_options INTERFACE -fsanitize=${HITPROOF_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(hitproof_options INTERFACE -fsanitize=${HITPROOF_SANITIZE})
endif()

# Code that is mostly templates of CLI11 and nlohmann-json takes half a minute a unit with full optimization, and minutes
# with checks for undefined behaviour in all of them. Nothing in it is hot; it keeps the other sanitizers.
set(HITPROOF_TEMPLATE_OPTIONS -O1 -g1)
if(HITPROOF_SANITIZE MATCHES undefined)
  list(APPEND HITPROOF_TEMPLATE_OPTIONS -fno-sanitize=undefined)
endif()
# hitproof_templates(SOURCES...): units of that kind; call it in the folder whose list names them.
function(hitproof_templates)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${HITPROOF_TEMPLATE_OPTIONS}")
endfunction()

option(HITPROOF_UNITY "Compile the files of a room several at a time: half the time of a full build" ON)
# hitproof_together(TARGET [APART SOURCES...]): its files are compiled eight at a time, for most of a small unit's time goes
# into headers. APART: files that need a unit of their own, because they name things as their neighbours do.
function(hitproof_together target)
  cmake_parse_arguments(T "" "" "APART" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HITPROOF_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${T_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
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

# hitproof_test(NAME SOURCES... LIBS ... [ALONE]) : a GoogleTest program. ALONE: every file is a unit, because several name
# helpers alike.
function(hitproof_test name)
  cmake_parse_arguments(T "ALONE" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE hitproof_options ${T_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${HITPROOF_PCH_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM hitproof_test_headers)
  if(NOT T_ALONE)
    hitproof_together(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}")
endfunction()
