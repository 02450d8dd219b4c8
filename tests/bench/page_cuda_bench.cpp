// Rates of the page kernels on this machine's GPU: median of 20 event timings with the quartiles,
// as a table and as JSON lines. A rate counts the bytes of the pages (of both sides for a
// comparison). Beside them what a launch of nothing takes, and the transfers of the same pages, a
// copy a page between pinned memory and the device, with what the probe adds to them: a digest to
// a save, poison and a digest to a load.
#include "tests/gpu/device.h"

#include <algorithm>
#include <cstdio>
#include <functional>

namespace hitproof::gpu_test {
namespace {

using kernels::PageTask;

constexpr int repetitions = 20, warm_ups = 3;

struct Case {
  const char* name;
  std::vector<PageTask> tasks; // addresses still offsets
  bool transferred = false;    // is copied to the host and back as well
};

void add(Case& c, std::uint64_t& at, std::uint32_t bytes, std::uint32_t content) {
  PageTask t;
  t.address = at;
  t.bytes = bytes;
  t.content = content;
  t.key = c.tasks.size() * 2 + 2;
  t.page = static_cast<std::uint32_t>(c.tasks.size());
  c.tasks.push_back(t);
  at += (bytes + 255) / 256 * 256;
}

// The pages that a rank saves at a checkpoint of the full model (TP 4): 12 MLA and 34 KDA pages,
// the indexer's 12, and 12 tails; 54,809,600 bytes.
Case checkpoint() {
  Case c{"checkpoint", {}, true};
  std::uint64_t at = 0;
  for (int i = 0; i < 12; ++i)
    add(c, at, 1'175'552, 1'175'552);
  for (int i = 0; i < 34; ++i)
    add(c, at, 1'175'552, 1'097'728);
  for (int i = 0; i < 12; ++i)
    add(c, at, 59'136, 59'136);
  for (int i = 0; i < 12; ++i)
    add(c, at, 2048, 2048);
  return c;
}

// The same kinds of pages with many more small ones.
Case mixed(const char* name, std::uint64_t total) {
  Case c{name, {}, total <= std::uint64_t{1} << 30};
  std::uint64_t at = 0;
  while (at < total) {
    for (int i = 0; i < 34 && at < total; ++i)
      add(c, at, 1128448, 1114112);
    for (int i = 0; i < 280 && at < total; ++i)
      add(c, at, 58752, 58752);
    for (int i = 0; i < 44 && at < total; ++i)
      add(c, at, 2048, 2048);
  }
  return c;
}

Case even(const char* name, std::uint64_t total, std::uint32_t page) {
  Case c{name, {}};
  std::uint64_t at = 0;
  while (at < total)
    add(c, at, page, page);
  return c;
}

struct Result {
  double median, low, high; // ms
};

Result measure(Device& device, const std::function<void()>& work) {
  std::vector<double> ms;
  for (int i = 0; i < warm_ups; ++i)
    device.timed(work);
  for (int i = 0; i < repetitions; ++i)
    ms.push_back(device.timed(work));
  std::sort(ms.begin(), ms.end());
  return {(ms[repetitions / 2 - 1] + ms[repetitions / 2]) / 2, ms[repetitions / 4],
          ms[3 * repetitions / 4]};
}

Result report(Device& device, const Case& c, const char* operation, std::uint64_t bytes,
              const std::function<void()>& work) {
  const Result r = measure(device, work);
  const auto rate = [&](double ms) { return static_cast<double>(bytes) / ms / 1e6; };
  std::printf("%-18s %-16s %6zu pages %9.1f MB  %8.1f us  %7.1f GB/s  [%.1f .. %.1f]\n", c.name,
              operation, c.tasks.size(), static_cast<double>(bytes) / 1e6, r.median * 1e3,
              rate(r.median), rate(r.high), rate(r.low));
  std::printf("{\"bench\":\"page_cuda\",\"device\":\"%s\",\"case\":\"%s\",\"operation\":\"%s\","
              "\"pages\":%zu,\"bytes\":%llu,\"us\":%.2f,\"us_q1\":%.2f,\"us_q3\":%.2f,"
              "\"gb_s\":%.1f,\"repetitions\":%d}\n",
              device.name().c_str(), c.name, operation, c.tasks.size(),
              static_cast<unsigned long long>(bytes), r.median * 1e3, r.low * 1e3, r.high * 1e3,
              rate(r.median), repetitions);
  return r;
}

// What the probe's work takes of the transfers that it belongs to.
void report_share(const Case& c, const char* of, double work, double transfer) {
  std::printf("%-18s %-40s %7.2f %% of %.1f us\n", c.name, of, 100 * work / transfer,
              transfer * 1e3);
  std::printf("{\"bench\":\"page_cuda\",\"case\":\"%s\",\"share\":\"%s\",\"percent\":%.2f,"
              "\"transfer_us\":%.2f}\n",
              c.name, of, 100 * work / transfer, transfer * 1e3);
}

void transfers(Device& device, const Case& c, Batch& batch, std::uint64_t extent, CUdeviceptr base,
               std::uint64_t bytes, double poison, double digest) {
  auto* const host = static_cast<unsigned char*>(device.allocate_pinned(extent));
  const Result save = report(device, c, "save", bytes, [&] {
    for (const PageTask& t : batch.tasks())
      device.save(host + (t.address - base), t.address, t.bytes);
  });
  const Result load = report(device, c, "load", bytes, [&] {
    for (const PageTask& t : batch.tasks())
      device.load(t.address, host + (t.address - base), t.bytes);
  });
  report_share(c, "digest of its save", digest, save.median);
  report_share(c, "poison and digest of its load", poison + digest, load.median);
  report_share(c, "poison and both digests of save and load", poison + 2 * digest,
               save.median + load.median);
  report_share(c, "poison and both digests of the load alone", poison + 2 * digest, load.median);
  device.free_pinned(host);
}

std::uint64_t extent_of(const Case& c) {
  return c.tasks.empty() ? 0 : c.tasks.back().address + c.tasks.back().bytes;
}

// `a` and `b`: device memory of the case's extent each.
void run(Device& device, const Case& c, CUdeviceptr a, CUdeviceptr b) {
  const std::uint64_t extent = extent_of(c);
  std::uint64_t bytes = 0;
  for (const PageTask& t : c.tasks)
    bytes += t.bytes;
  std::vector<PageTask> tasks = c.tasks;
  for (PageTask& t : tasks) {
    t.other = b + t.address;
    t.address += a;
  }
  Batch batch(device, tasks);
  // Content that is no constant: two equal buffers of poison.
  batch.walk("hitproof_page_fill");
  for (PageTask& t : tasks)
    std::swap(t.address, t.other);
  Batch other(device, tasks);
  other.walk("hitproof_page_fill");
  device.synchronize();
  std::uint64_t nothing = 0;
  void* none[] = {&nothing};
  report(device, c, "launch", 0, [&] { device.launch("hitproof_page_delay", 1, 1, none); });
  report(device, c, "compare", 2 * bytes, [&] { batch.walk("hitproof_page_compare"); });
  const Result poison =
      report(device, c, "poison_fill", bytes, [&] { batch.walk("hitproof_page_fill"); });
  report(device, c, "residue", bytes, [&] { batch.walk("hitproof_page_residue"); });
  report(device, c, "nonzero", bytes, [&] { batch.walk("hitproof_page_nonzero"); });
  report(device, c, "copy", 2 * bytes, [&] { batch.walk("hitproof_page_copy"); });
  report(device, c, "digest", bytes, [&] { batch.digest(false); });
  const Result digest = report(device, c, "digest_nonzero", bytes, [&] { batch.digest(true); });
  if (c.transferred) transfers(device, c, batch, extent, a, bytes, poison.median, digest.median);
}

} // namespace
} // namespace hitproof::gpu_test

int main() {
  using namespace hitproof::gpu_test;
  std::string why;
  Device* device = Device::open(why);
  if (device == nullptr) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  constexpr std::uint64_t mib = 1024 * 1024;
  const Case cases[] = {checkpoint(),
                        mixed("mixed_55MB", 54'800'000),
                        mixed("mixed_1GiB", 1024 * mib),
                        mixed("mixed_4GiB", 4096 * mib),
                        even("even_1GiB", 1024 * mib, mib),
                        even("small_1GiB", 1024 * mib, 2048),
                        even("even_16MiB", 16 * mib, mib),
                        even("even_1MiB", mib, 64 * 1024)};
  // The same memory for all of them: the driver clears what is given back while the device goes on,
  // at the expense of whatever is measured then.
  std::uint64_t extent = 0;
  for (const Case& c : cases)
    extent = std::max(extent, extent_of(c));
  const CUdeviceptr a = device->allocate(extent), b = device->allocate(extent);
  for (const Case& c : cases)
    run(*device, c, a, b);
  device->free(a);
  device->free(b);
  return 0;
}
