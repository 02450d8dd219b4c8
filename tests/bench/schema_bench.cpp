// Measures what the recording costs: a journal record, the journal's sustained rate while a
// recorder drains it, page rows into SQLite, the page digest. Own main instead of a framework,
// because the figures wanted are percentiles of single calls and losses under load. Prints one line
// a figure: name, value, unit, the bound it is held against. Exit status 1 where records were lost.
//
//   schema_bench [folder]      (default: a new folder under the temporary directory)
#include "schema/drain.h"
#include "schema/journal.h"
#include "schema/page_digest.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace hitproof::schema {
namespace {

void report(const char* name, double value, const char* unit, const char* bound) {
  std::printf("%-44s %12.3f %-12s %s\n", name, value, unit, bound);
  std::fflush(stdout);
}

// Processor seconds of this thread: what a core would do with no other program on the machine.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[noreturn]] void die(const Status& status) {
  std::fprintf(stderr, "schema_bench: %s\n", status.to_string().c_str());
  std::exit(2);
}

rec::copy some_copy(std::uint64_t i) {
  rec::copy copy;
  copy.src = 0x7f0000000000 + i * 57344;
  copy.dst = 0x7e0000000000 + i * 57344;
  copy.bytes = 57344;
  copy.call_seq = i;
  return copy;
}

Recording open_new(const std::string& dir) {
  std::filesystem::create_directories(dir);
  Result<Recording> recording = Recording::open_new(dir);
  if (!recording.ok()) die(recording.status());
  return std::move(recording).value();
}

// One thread, every call timed. The clock itself is measured and taken off.
void append_latency(const std::string& dir) {
  constexpr std::size_t n = 300'000;
  constexpr std::size_t pool = n / journal_segment_slots + 2;
  Recording recording = open_new(dir);
  Drain drain(dir, recording, pool);
  if (!drain.status().ok()) die(drain.status());
  JournalWriter::use_directory(dir.c_str());
  std::vector<std::uint32_t> ns(n);
  std::uint64_t total = 0;
  double cpu_ns = 0;
  std::thread([&] {
    std::vector<std::uint32_t> clock(10'001);
    for (auto& c : clock) {
      const std::uint64_t t = now();
      c = static_cast<std::uint32_t>(now() - t);
    }
    std::sort(clock.begin(), clock.end());
    const std::uint32_t of_clock = clock[clock.size() / 2];
    journal(some_copy(0));
    const double cpu = cpu_seconds();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t t = now();
      journal(some_copy(i));
      const auto took = static_cast<std::uint32_t>(now() - t);
      ns[i] = took > of_clock ? took - of_clock : 0;
      total += ns[i];
    }
    cpu_ns = (cpu_seconds() - cpu) * 1e9 / n - 2 * of_clock;
  }).join();
  JournalWriter::use_directory(nullptr);
  std::sort(ns.begin(), ns.end());
  report("journal append, median", ns[n / 2], "ns", "<= 100");
  report("journal append, mean", static_cast<double>(total) / n, "ns", "<= 150");
  report("journal append, mean of processor time", cpu_ns, "ns", "<= 150");
  report("journal append, 99.9th percentile", ns[n * 999 / 1000], "ns", "");
  report("journal append, largest", ns[n - 1], "ns", "");
  const Status status = drain.finish();
  if (!status.ok()) die(status);
}

// Two writers, paced or at full speed, while the drain works; then the backlog.
bool sustained(const std::string& dir, double wanted_per_s, const char* name, const char* bound) {
  constexpr int writers = 2;
  constexpr std::uint64_t each = 1'500'000;
  constexpr std::uint64_t burst = 1000;
  Recording recording = open_new(dir);
  Drain drain(dir, recording, 64);
  if (!drain.status().ok()) die(drain.status());
  JournalWriter::use_directory(dir.c_str());
  std::atomic<int> running{writers};
  std::vector<std::thread> threads;
  const std::uint64_t begin = now();
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < each; ++i) {
        if (wanted_per_s > 0 && i % burst == 0) {
          const double due = static_cast<double>(i) * writers / wanted_per_s * 1e9;
          while (static_cast<double>(now() - begin) < due)
            std::this_thread::yield();
        }
        journal(some_copy(i));
      }
      --running;
    });
  std::uint64_t during = 0;
  while (running > 0)
    during += drain.poll();
  for (auto& thread : threads)
    thread.join();
  const double written_s = static_cast<double>(now() - begin) * 1e-9;
  JournalWriter::use_directory(nullptr);
  const Status status = drain.finish();
  if (!status.ok()) die(status);
  const double all_s = static_cast<double>(now() - begin) * 1e-9;
  constexpr double records = double{writers} * each;
  report(name, records / written_s * 1e-6, "M records/s", bound);
  report("  drained while it was written", static_cast<double>(during) * 1e-6, "M records", "");
  report("  drain, whole run", records / all_s * 1e-6, "M records/s", "");
  const bool lost = drain.dropped() != 0 || drain.gaps() != 0 || drain.records() != records;
  report("  lost", static_cast<double>(drain.dropped()) + static_cast<double>(drain.gaps()),
         "records", "0");
  return !lost;
}

// The rows of watched pages, from journals into SQLite, nothing else running.
void page_rows(const std::string& dir) {
  constexpr std::uint64_t pages = 150'000;
  Recording recording = open_new(dir);
  JournalWriter::use_directory(dir.c_str());
  std::thread([&] {
    for (std::uint64_t i = 0; i < pages; ++i) {
      const auto block = static_cast<std::uint32_t>(i);
      const Digest digest = sha256(&i, sizeof i);
      journal(rec::transfer_page{.transfer = i, .device_address = i << 20, .block = block});
      journal(some_copy(i));
      journal(rec::page_digest{.transfer = i, .content = digest, .page = digest, .block = block});
      journal(rec::page_compare{.transfer = i, .content_bytes = 53760, .block = block});
    }
  }).join();
  JournalWriter::use_directory(nullptr);
  Drain drain(dir, recording, 0);
  const std::uint64_t begin = now();
  const double cpu = cpu_seconds();
  const Status status = drain.finish();
  if (!status.ok()) die(status);
  const double seconds = static_cast<double>(now() - begin) * 1e-9;
  report("page rows into SQLite", 4.0 * pages / seconds * 1e-6, "M rows/s", ">= 0.4");
  report("  per second of processor time", 4.0 * pages / (cpu_seconds() - cpu) * 1e-6, "M rows/s",
         "");
  const std::uint64_t reading = now();
  std::uint64_t rows = 0;
  const Status read = recording.each<rec::page_digest>("ORDER BY rowid", [&](const auto&) {
    ++rows;
    return true;
  });
  if (!read.ok()) die(read);
  report("page digest rows read back",
         static_cast<double>(rows) / static_cast<double>(now() - reading) * 1e3, "M rows/s", "");
}

void digests() {
  constexpr std::size_t page = 57344;
  constexpr std::size_t pages = 512;
  std::vector<unsigned char> memory(page * pages, 5);
  const std::uint64_t begin = now();
  const double cpu = cpu_seconds();
  unsigned check = 0;
  for (std::size_t i = 0; i < pages; ++i)
    check += page_digests(memory.data() + i * page, 53760, page).page[0];
  const double ns = static_cast<double>(now() - begin);
  report(check > 0 ? "page digest, content and whole page" : "page digest",
         static_cast<double>(memory.size()) / ns, "GB/s", "> 1 with SHA-NI");
  report("  per second of processor time",
         static_cast<double>(memory.size()) / (cpu_seconds() - cpu) * 1e-9, "GB/s", "");
}

} // namespace
} // namespace hitproof::schema

int main(int argc, char** argv) {
  using namespace hitproof::schema;
  std::string pattern = (std::filesystem::temp_directory_path() / "schema_bench-XXXXXX").string();
  if (argc < 2 && mkdtemp(pattern.data()) == nullptr) return 2;
  const std::string dir = argc < 2 ? pattern : argv[1];
  digests();
  append_latency(dir + "/append");
  bool intact = sustained(dir + "/paced", 1.5e6, "journal, paced at 1.5 M/s", ">= 1.5");
  intact = sustained(dir + "/full", 0, "journal, two writers at full speed", "") && intact;
  page_rows(dir + "/rows");
  std::error_code error;
  for (const char* part : {"/append", "/paced", "/full", "/rows"})
    std::filesystem::remove_all(dir + part, error);
  if (argc < 2) std::filesystem::remove_all(dir, error);
  return intact ? 0 : 1;
}
