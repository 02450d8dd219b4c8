#include "tests/runtime/collective_cases.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

int act_as_rank(const Group& group, int fd, int r, const Body& body) {
  try {
    device::select(group.gpus[static_cast<size_t>(r) % group.gpus.size()]);
    const auto host = open_collectives(fd, r, {.timeout = std::chrono::seconds(60)});
    const device::Stream stream;
    const auto on_device = group.open(*host, stream);
    return body({*host, *on_device, stream, group.rank_order}) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", r, e.what());
    return 1;
  }
}

} // namespace

Buffer::Buffer(size_t size)
    : bytes(size), data(static_cast<std::byte*>(device::allocate(size + 1))) {}

void Buffer::fill(const Rank& rank, const std::vector<float>& values) const {
  device::copy_to_device({data, values.data(), values.size() * sizeof(float)}, rank.stream);
  rank.stream.synchronize();
}

std::vector<std::byte> Buffer::read(const Rank& rank, const void* from, size_t size) {
  std::vector<std::byte> out(size);
  if (size > 0) device::copy_to_host({out.data(), from, size}, rank.stream);
  rank.stream.synchronize();
  return out;
}

std::vector<int> statuses(const Group& group, const Body& body) {
  const int fd = create_collectives_memory(group.size, size_t{1} << 20);
  std::vector<pid_t> children;
  for (int r = 0; r < group.size; ++r) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(act_as_rank(group, fd, r, body));
    children.push_back(pid);
  }
  std::vector<int> list;
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    list.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  ::close(fd);
  return list;
}

bool on_processes(const Group& group, const Body& body) {
  return statuses(group, body) == std::vector<int>(static_cast<size_t>(group.size), 0);
}

std::vector<float> values(int rank, size_t n, uint32_t seed) {
  std::mt19937 random(seed * 31 + static_cast<uint32_t>(rank));
  std::uniform_real_distribution<float> any(-1e3f, 1e3f);
  std::vector<float> v(n);
  for (float& x : v)
    x = any(random);
  return v;
}

bool same(const Rank& rank, const float* device_data, const float* host_data, size_t n) {
  const auto bytes = Buffer::read(rank, device_data, n * sizeof(float));
  if (n == 0 || std::memcmp(bytes.data(), host_data, bytes.size()) == 0) return true;
  if (rank.rank_order) return false;
  // Every partial sum of values below 1e3 is below 1e3 * size, and so is its rounding's ulp.
  const float bound = 1e3f * 1.2e-7f * static_cast<float>(rank.host.size() * rank.host.size());
  for (size_t i = 0; i < n; ++i) {
    float got = 0;
    std::memcpy(&got, bytes.data() + i * sizeof(float), sizeof got);
    if (!(std::fabs(got - host_data[i]) <= bound)) return false;
  }
  return true;
}

bool reduces(const Rank& rank, size_t n, uint32_t seed) {
  auto want = values(rank.host.rank(), n, seed);
  const Buffer data(n * sizeof(float));
  data.fill(rank, want);
  rank.on_device.all_reduce(data.floats(), static_cast<int>(n));
  rank.host.all_reduce(want.data(), static_cast<int>(n));
  return same(rank, data.floats(), want.data(), n);
}

bool scatters_and_gathers(const Rank& rank, int rows, int cols, uint32_t seed) {
  const auto n = static_cast<size_t>(rows) * static_cast<size_t>(cols);
  const auto [first, last] = Collectives::row_range(rows, rank.host.rank(), rank.host.size());
  const size_t begin = static_cast<size_t>(first) * static_cast<size_t>(cols);
  const size_t count = static_cast<size_t>(last - first) * static_cast<size_t>(cols);
  auto want = values(rank.host.rank(), n, seed);
  const Buffer data(n * sizeof(float));
  const Buffer apart(n * sizeof(float));
  data.fill(rank, want);
  rank.on_device.reduce_scatter_rows(data.floats(), rows, cols, apart.floats());
  rank.on_device.reduce_scatter_rows(data.floats(), rows, cols, data.floats(begin));
  rank.host.reduce_scatter_rows(want.data(), rows, cols, want.data() + begin);
  if (!same(rank, data.floats(begin), want.data() + begin, count)) return false;
  if (!same(rank, apart.floats(), want.data() + begin, count)) return false;
  rank.on_device.all_gather_rows(data.floats(begin), rows, cols, data.floats());
  rank.host.all_gather_rows(want.data() + begin, rows, cols, want.data());
  if (!same(rank, data.floats(), want.data(), n)) return false;
  const Buffer copied(n * sizeof(float));
  rank.on_device.all_gather_rows(apart.floats(), rows, cols, copied.floats());
  return same(rank, copied.floats(), want.data(), n);
}

bool gathers(const Rank& rank, size_t bytes, size_t offset, uint32_t seed) {
  const auto words = values(rank.host.rank(), bytes / 4 + 1, seed);
  const Buffer mine(bytes + offset);
  const Buffer all(bytes * static_cast<size_t>(rank.host.size()));
  device::copy_to_device({mine.data + offset, words.data(), bytes}, rank.stream);
  rank.stream.synchronize();
  std::vector<std::byte> want(all.bytes);
  rank.on_device.all_gather(mine.data + offset, bytes, all.data);
  rank.host.all_gather(words.data(), bytes, want.data());
  return Buffer::read(rank, all.data, all.bytes) == want;
}

bool agrees(const Rank& rank, uint32_t seed, int rounds) {
  std::mt19937 random(seed); // the same schedule on every rank
  const auto up_to = [&](unsigned most) { return 1 + random() % most; };
  for (int i = 0; i < rounds; ++i) {
    const uint32_t s = seed + static_cast<uint32_t>(i);
    switch (random() % 4) {
    case 0:
      if (!reduces(rank, up_to(5000), s)) return false;
      break;
    case 1: {
      const int rows = static_cast<int>(up_to(90));
      if (!scatters_and_gathers(rank, rows, static_cast<int>(up_to(70)), s)) return false;
      break;
    }
    case 2: {
      const size_t bytes = up_to(9000);
      if (!gathers(rank, bytes, random() % 2, s)) return false;
      break;
    }
    default:
      rank.on_device.barrier();
    }
  }
  return true;
}

bool many_in_a_row(const Rank& rank) {
  constexpr int rows = 5, cols = 100, n = rows * cols, operations = 300;
  const int first = Collectives::row_range(rows, rank.host.rank(), rank.host.size()).first;
  std::vector<float> want = values(rank.host.rank(), size_t{n} * operations, 8);
  const Buffer data(want.size() * sizeof(float));
  data.fill(rank, want);
  const auto run = [&](Collectives& on, float* all) {
    for (int i = 0; i < operations; ++i, all += n) {
      if (i % 3 == 0) on.all_reduce(all, n);
      if (i % 3 == 1) on.reduce_scatter_rows(all, rows, cols, all + first * cols);
      if (i % 3 == 2) on.all_gather_rows(all + first * cols, rows, cols, all);
    }
  };
  run(rank.on_device, data.floats());
  run(rank.host, want.data());
  return same(rank, data.floats(), want.data(), want.size());
}

} // namespace hitproof::engine
