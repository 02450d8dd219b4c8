// A manifest of any bytes: what is read can be written again and is the same.
#include "schema/manifest.h"
#include "tests/fuzz/fuzz.h"

namespace bag = hitproof::schema::bag;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bag::Manifest manifest = bag::parse_manifest(text);
  if (manifest.problems.empty() && bag::write_lines(manifest.lines) != text) std::abort();
  for (const bag::Line& line : manifest.lines)
    if (manifest.find(line.path) != &line) std::abort();
  return 0;
}
