// The entry of a fuzz target: libFuzzer's where HITPROOF_FUZZ is on, else run_corpus.cpp calls it.
// An input that breaks what the target promises ends in abort().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
