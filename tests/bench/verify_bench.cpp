// Measures the hashing of an archive's files against OpenSSL's own SHA-256 (EVP) over memory, in
// turns within one run: bytes per second of processor time, so that other programs on the machine
// do not count. The files are in the page cache. Exit status 1 where hashing files gives less than
// nine tenths of the rate over memory.
//
//   verify_bench [folder]      (default: the temporary directory)
#include "schema/plain_file.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <openssl/evp.h>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

namespace hitproof::schema {
namespace {

constexpr std::size_t file_bytes = std::size_t{128} << 20;
constexpr int rounds = 9;

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Bytes per second of processor time over all threads of this program.
template <class Work> double rate(std::size_t bytes, const Work& work) {
  const double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return static_cast<double>(bytes) / (seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
}

int run(const std::string& folder) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::string content(file_bytes, '\0');
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = static_cast<char>(i * 2654435761u >> 13);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < cores; ++i) {
    paths.push_back(folder + "/verify_bench." + std::to_string(i));
    std::ofstream(paths.back(), std::ios::binary) << content;
  }
  const Digest expected = sha256(content);
  std::vector<double> memory, files, wall;
  bool right = true;
  for (int i = 0; i < rounds; ++i) {
    memory.push_back(rate(content.size(), [&] {
      Digest digest;
      unsigned size = 0;
      EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
      right = right && digest == expected;
    }));
    const double begin = seconds(CLOCK_MONOTONIC);
    files.push_back(rate(content.size() * cores, [&] {
      for (const auto& digest : hash_plain_files(paths))
        right = right && digest.ok() && *digest == expected;
    }));
    wall.push_back(static_cast<double>(content.size() * cores) /
                   (seconds(CLOCK_MONOTONIC) - begin));
  }
  for (const std::string& path : paths)
    std::filesystem::remove(path);
  const double ratio = median(files) / median(memory);
  std::printf("SHA-256 over memory (EVP), one core   %8.3f GB/s\n", median(memory) * 1e-9);
  std::printf("files of an archive, each core        %8.3f GB/s\n", median(files) * 1e-9);
  std::printf("files of an archive, %2zu cores (wall)  %8.3f GB/s\n", cores, median(wall) * 1e-9);
  std::printf("each core against memory              %8.3f       >= 0.9\n", ratio);
  if (!right) std::printf("WRONG DIGESTS\n");
  return right && ratio >= 0.9 ? 0 : 1;
}

} // namespace
} // namespace hitproof::schema

int main(int argc, char** argv) {
  return hitproof::schema::run(argc > 1 ? argv[1]
                                        : std::filesystem::temp_directory_path().string());
}
