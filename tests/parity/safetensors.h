// Reads the small reference files: a safetensors file with F32 and I32 tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hitproof::engine::testing {

struct ReferenceTensor {
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  const float* floats() const { return reinterpret_cast<const float*>(bytes.data()); }
  const int32_t* ints() const { return reinterpret_cast<const int32_t*>(bytes.data()); }
};

struct ReferenceFile {
  std::map<std::string, ReferenceTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Throws std::runtime_error where the file is not a well-formed one.
ReferenceFile read_reference(const std::string& path);

} // namespace hitproof::engine::testing
