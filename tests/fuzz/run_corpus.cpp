// Runs a fuzz target without libFuzzer: every file of the folders named, and 300 changed copies of
// each from a fixed seed.
#include "tests/fuzz/fuzz.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

int main(int count, char** folders) {
  namespace fs = std::filesystem;
  std::mt19937_64 random(1);
  std::size_t inputs = 0;
  const auto try_one = [&](const std::string& bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++inputs;
  };
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : fs::directory_iterator(folders[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      try_one(bytes);
      for (int n = 0; n < 300 && !bytes.empty(); ++n) {
        std::string changed = bytes;
        for (std::uint64_t times = random() % 4 + 1; times > 0; --times)
          changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
        if (n % 4 == 0) changed.resize(random() % changed.size());
        try_one(changed);
      }
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 300 ? 0 : 1;
}
