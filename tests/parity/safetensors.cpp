#include "tests/parity/safetensors.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hitproof::engine::testing {

ReferenceFile read_reference(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)),
                               std::istreambuf_iterator<char>());
  uint64_t header_bytes = 0;
  if (file.size() < sizeof header_bytes) throw std::runtime_error("cannot read " + path);
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  if (header_bytes > file.size() - sizeof header_bytes)
    throw std::runtime_error("short header in " + path);
  const char* header = file.data() + sizeof header_bytes;
  const char* data = header + header_bytes;
  const auto data_bytes = static_cast<uint64_t>(file.data() + file.size() - data);

  ReferenceFile reference;
  const nlohmann::json index = nlohmann::json::parse(header, data);
  for (const auto& [name, entry] : index.items()) {
    if (name == "__metadata__") {
      reference.metadata = entry.get<std::map<std::string, std::string>>();
      continue;
    }
    const auto range = entry.at("data_offsets").get<std::vector<uint64_t>>();
    if (range.size() != 2 || range[0] > range[1] || range[1] > data_bytes)
      throw std::runtime_error("bad range in " + path);
    ReferenceTensor tensor;
    tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
    tensor.bytes.assign(data + range[0], data + range[1]);
    reference.tensors.emplace(name, std::move(tensor));
  }
  return reference;
}

} // namespace hitproof::engine::testing
