// What an audit of a large recording costs. A good archive is grown (grow.h) to each size, audited
// in a process of its own, and scanned once by SQLite alone: SELECT COUNT(*), MAX of every column,
// table by table, on one core. Printed: rows by kind, seconds, rows a second, the share of the time
// that 1 million page rows and 3 million narrow rows a second would take, peak memory, seconds of
// each part; and apart from all else the graph of order (audit/order): calls that it reads, its
// moments, seconds to read and to walk, memory. Exit status 1 where an audit does not pass.
//
//   audit_bench [--archive DIR] [--folder DIR] [--statements] [--keep] [ROWS...]
//
// Without an archive the golden one of the paper study is unpacked; without sizes 1 million rows
// are taken. --statements runs every query over all records; --keep leaves the grown archives.
#include "audit/audit.h"
#include "audit/order/graph.h"
#include "tests/bench/grow.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sqlite3.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace hitproof::bench {
namespace {

namespace fs = std::filesystem;

struct Part {
  char name[24];
  double seconds;
};

// Shared with the process that measures.
struct Measured {
  bool passed = false;
  char error[400] = {};
  double seconds = 0, processor = 0;
  int parts = 0;
  Part part[32] = {};
  double graph_calls = 0, graph_moments = 0, graph_read = 0; // seconds of reading
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

void audit(const std::string& dir, bool statements, Measured& m) {
  audit::Options options;
  options.statements_only = statements;
  options.took = [&](const std::string& name, double seconds) {
    Part& part = m.part[m.parts++];
    std::snprintf(part.name, sizeof part.name, "%s", name.c_str());
    part.seconds = seconds;
  };
  const double begin = now();
  const auto report = audit::audit_archive(dir, options);
  m.seconds = now() - begin;
  m.passed = report.ok() && report->verdict == audit::Verdict::pass;
  const std::string words = report.ok() ? report->sentence() : report.status().to_string();
  std::snprintf(m.error, sizeof m.error, "%s", words.c_str());
}

// Every value of every table, by SQLite alone.
void scan(const std::string& dir, Measured& m) {
  const double begin = now();
  for (const char* name : {"/data/recording.sqlite", "/data/reference/recording.sqlite"}) {
    sqlite3* db = nullptr;
    const std::string uri = "file:" + fs::absolute(dir + name).string() + "?immutable=1";
    if (sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) !=
        SQLITE_OK)
      continue;
    std::vector<std::string> statements;
    sqlite3_stmt* s = nullptr;
    sqlite3_prepare_v2(
        db,
        "SELECT 'SELECT COUNT(*), ' || GROUP_CONCAT('MAX(\"' || c.name || '\")', ', ') "
        "|| ' FROM \"' || t.name || '\"' FROM sqlite_master t JOIN "
        "pragma_table_info(t.name) c WHERE t.type = 'table' GROUP BY t.name",
        -1, &s, nullptr);
    while (sqlite3_step(s) == SQLITE_ROW)
      statements.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(s, 0)));
    sqlite3_finalize(s);
    for (const std::string& sql : statements)
      sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
    sqlite3_close(db);
  }
  m.seconds = now() - begin;
  m.passed = true;
}

void graph(const std::string& dir, Measured& m) {
  audit::Context context(dir);
  const double begin = now();
  const auto records = audit::order::records_of(context);
  m.graph_read = now() - begin;
  const audit::order::Answers found =
      audit::order::walk(*records, audit::order::numbered(records->records));
  m.seconds = now() - begin - m.graph_read;
  m.graph_calls = static_cast<double>(records->records.size());
  m.graph_moments = static_cast<double>(found.visited);
}

// Runs `work` in a process of its own; peak memory in MiB.
template <class Work> double apart(Measured& m, const Work& work) {
  m = {};
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  m.processor = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  if (status != 0) std::snprintf(m.error, sizeof m.error, "ended with status %d", status);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

bool measure(const std::string& dir, bool statements, Measured& m) {
  const auto rows = count_rows(dir);
  if (!rows.ok()) {
    std::fprintf(stderr, "audit_bench: %s\n", rows.status().to_string().c_str());
    return false;
  }
  const double scan_mib = apart(m, [&] { scan(dir, m); });
  const double scan_seconds = m.seconds, scan_processor = m.processor;
  const double mib = apart(m, [&] { audit(dir, statements, m); });
  const auto page = static_cast<double>(rows->page), narrow = static_cast<double>(rows->narrow);
  const double aim = page / 1e6 + narrow / 3e6;
  std::printf("\n%-36s %12.0f page, %.0f narrow\n", "rows", page, narrow);
  std::printf("%-36s %12.2f s  (%.0f rows/s; processor %.2f s)\n", "audit, all rules", m.seconds,
              (page + narrow) / m.seconds, m.processor);
  std::printf("%-36s %12.2f    (1 M page rows/s and 3 M narrow rows/s: %.2f s)\n",
              "audit against that rate", aim / m.seconds, aim);
  std::printf("%-36s %12.2f s  (%.0f rows/s; processor %.2f s, %.0f MiB)\n",
              "SQLite's scan, one core", scan_seconds, (page + narrow) / scan_seconds,
              scan_processor, scan_mib);
  std::printf("%-36s %12.2f\n", "audit against SQLite's scan", m.seconds / scan_seconds);
  std::printf("%-36s %12.0f MiB\n", "peak memory of the audit", mib);
  for (int i = 0; i < m.parts; ++i)
    std::printf("  %-34s %12.3f s\n", m.part[i].name, m.part[i].seconds);
  std::printf("%-36s %s\n", "verdict", m.error);
  const bool passed = m.passed;
  const double graph_mib = apart(m, [&] { graph(dir, m); });
  std::printf("%-36s %12.0f calls, %.0f moments: read %.2f s, walked %.2f s (%.0f calls/s, %.0f "
              "MiB)\n",
              "graph of order", m.graph_calls, m.graph_moments, m.graph_read, m.seconds,
              m.graph_calls / m.seconds, graph_mib);
  std::fflush(stdout);
  return passed;
}

int run(const std::vector<std::string>& arguments) {
  std::string archive, folder = fs::temp_directory_path().string();
  bool statements = false, keep = false;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--statements")
      statements = true;
    else if (a == "--keep")
      keep = true;
    else if (a == "--archive" && i + 1 < arguments.size())
      archive = arguments[++i];
    else if (a == "--folder" && i + 1 < arguments.size())
      folder = arguments[++i];
    else if (!a.empty() && a.find_first_not_of("0123456789") == std::string::npos)
      sizes.push_back(std::stoll(a));
    else {
      std::fprintf(stderr, "audit_bench: what is '%s'? See the head of audit_bench.cpp\n",
                   a.c_str());
      return 2;
    }
  }
  if (sizes.empty()) sizes = {1'000'000};
  folder += "/audit_bench." + std::to_string(getpid());
  fs::create_directories(folder);
  if (archive.empty()) {
    archive = folder + "/golden";
    fs::create_directories(archive);
    if (std::system(("cd '" + archive + "' && '" HITPROOF_CMAKE "' -E tar xf '" HITPROOF_GOLDEN "'")
                        .c_str()) != 0)
      return 2;
  }
  auto* m = static_cast<Measured*>(
      mmap(nullptr, sizeof(Measured), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const auto small = count_rows(archive);
  bool good = small.ok();
  for (const std::int64_t size : sizes) {
    if (!good) break;
    const std::string grown = folder + "/" + std::to_string(size);
    const auto times = static_cast<int>((size + small->all() - 1) / small->all());
    // Apart, so that its memory does not count in what is measured.
    apart(*m, [&] {
      const auto status = grow_archive(archive, grown, times);
      m->passed = status.ok();
      std::snprintf(m->error, sizeof m->error, "%s", status.to_string().c_str());
    });
    if (!m->passed) {
      std::fprintf(stderr, "audit_bench: %s\n", m->error);
      good = false;
      break;
    }
    good = measure(grown, statements, *m) && good;
    if (!keep) fs::remove_all(grown);
  }
  if (!keep) fs::remove_all(folder);
  return good ? 0 : 1;
}

} // namespace
} // namespace hitproof::bench

int main(int argc, char** argv) { return hitproof::bench::run({argv + 1, argv + argc}); }
