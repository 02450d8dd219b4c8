# Sources of the subcommands that run something: demo, study, run, serve.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HTTPLIB_CLIENT REQUIRED IMPORTED_TARGET cpp-httplib)

# The table of broken engines is compiled in as a string; the file stays the one place where it is written.
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/data/breaks.toml breaks_toml)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS data/breaks.toml)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/cli/breaks_data.inc
  CONTENT "static const char breaks_toml[] = R\"toml(${breaks_toml})toml\";\n" @ONLY)

list(APPEND HITPROOF_CLI_SOURCES process.cpp progress.cpp recorder.cpp engine_client.cpp study/arm.cpp
  study/breaks.cpp study/demo.cpp study/device_options.cpp study/facts.cpp
  study/prompt_texts.cpp study/prompts.cpp study/shared_server.cpp study/study.cpp study/study_request.cpp)
list(APPEND HITPROOF_CLI_LIBRARIES Threads::Threads PkgConfig::HTTPLIB_CLIENT)
