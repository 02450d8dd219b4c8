#include "tests/probes/run_subject.h"

#include "schema/journal_reader.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::probes_test {
namespace {

namespace fs = std::filesystem;

std::string read_all(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void read_journals(const fs::path& dir, Recorded& r) {
  auto segments = schema::list_segments(dir.string());
  if (!segments.ok()) return;
  for (const std::string& path : *segments) {
    auto reader = schema::JournalReader::open(path);
    if (!reader.ok()) continue;
    while (const schema::Slot* slot = reader->next()) {
      Row row;
      row.pid = reader->header().pid;
      row.tid = reader->header().tid;
      row.start_ns = reader->header().start_ns;
      row.seq = slot->seq;
      row.t_ns = slot->t_ns;
      row.type = slot->type;
      std::memcpy(row.payload, slot->payload, sizeof row.payload);
      r.rows.push_back(row);
    }
    r.gaps += reader->gaps();
  }
  std::stable_sort(r.rows.begin(), r.rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.pid, a.start_ns, a.tid, a.seq) < std::tie(b.pid, b.start_ns, b.tid, b.seq);
  });
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const Options& options,
                         const fs::path& dir, const std::string& program) {
  std::string preload =
      options.environment.count("LD_PRELOAD") ? options.environment.at("LD_PRELOAD") : "";
  const auto add = [&preload](const std::string& library) {
    preload += (preload.empty() ? "" : ":") + library;
  };
  if (const char* sanitizer = std::getenv("HITPROOF_TEST_PRELOAD_FIRST")) add(sanitizer);
  if (options.probe) add(HITPROOF_PROBE_LIBRARY);
  for (const std::string& library : options.preload)
    add(library);
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
  if (options.record) setenv("HITPROOF_DIR", dir.c_str(), 1);
  if (std::getenv("HITPROOF_TEST_LIBRARIES") != nullptr)
    setenv("LD_LIBRARY_PATH", device_libraries().c_str(), 1);
  for (const auto& [name, value] : options.environment) {
    if (name != "LD_PRELOAD") setenv(name.c_str(), value.c_str(), 1);
  }
  const int out = open((dir / "out").c_str(), O_CREAT | O_WRONLY, 0600);
  const int err = open((dir / "err").c_str(), O_CREAT | O_WRONLY, 0600);
  dup2(out, 1);
  dup2(err, 2);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments)
    argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(127);
}

const char* text_of(const char* field) { return field; }

} // namespace

Recorded run(const std::vector<std::string>& arguments, const Options& options) {
  char pattern[] = "/tmp/hitproof-probe-test-XXXXXX";
  const fs::path dir = mkdtemp(pattern);
  const std::string program = options.program.empty() ? HITPROOF_SUBJECT : options.program;
  Recorded r;
  const pid_t child = fork();
  if (child == 0) become(arguments, options, dir, program);
  int status = 0;
  waitpid(child, &status, 0);
  r.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.pid = static_cast<std::uint32_t>(child);
  r.out = read_all(dir / "out");
  r.err = read_all(dir / "err");
  read_journals(dir, r);
  fs::remove_all(dir);
  return r;
}

std::map<std::uint32_t, std::string> Recorded::hooks() const {
  std::map<std::uint32_t, std::string> names;
  for (const auto& hook : all<schema::rec::hook>())
    names[hook.id] = text_of(hook.name);
  return names;
}

std::vector<std::string> Recorded::lines(const std::string& word) const {
  std::vector<std::string> result;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(word + " ", 0) == 0) result.push_back(line);
  }
  return result;
}

std::uint64_t Recorded::fact(const std::string& name) const {
  for (const std::string& line : lines("fact")) {
    std::istringstream in(line);
    std::string word, fact_name;
    std::uint64_t value = 0;
    in >> word >> fact_name >> value;
    if (fact_name == name) return value;
  }
  return ~std::uint64_t{0};
}

schema::rec::coverage Recorded::coverage(const std::string& name) const {
  schema::rec::coverage last;
  for (const auto& c : all<schema::rec::coverage>(pid)) {
    if (schema::get_text(c.name) == name) last = c;
  }
  return last;
}

std::vector<schema::rec::coverage>
counters(const Recorded& r, std::initializer_list<std::string_view> names, std::uint32_t of_pid) {
  std::vector<schema::rec::coverage> rows;
  for (const auto& c : r.all<schema::rec::coverage>(of_pid)) {
    if (std::count(names.begin(), names.end(), schema::get_text(c.name)) != 0) rows.push_back(c);
  }
  return rows;
}

std::vector<std::string> copies_of(const Recorded& r) {
  const auto names = r.hooks();
  const auto pointer = [](std::uint64_t p) { return reinterpret_cast<void*>(p); };
  std::vector<std::string> result;
  for (const auto& c : r.all<schema::rec::copy>(r.pid)) {
    char line[512];
    std::snprintf(line, sizeof line, "copy %s v%u dir%d %llu %p %p %p %u/%u a%u r%d",
                  names.count(c.call) ? names.at(c.call).c_str() : "?", c.version, c.direction,
                  static_cast<unsigned long long>(c.bytes), pointer(c.src), pointer(c.dst),
                  pointer(c.stream), c.batch_index, c.batch_count, c.access_order, c.result);
    result.push_back(line);
  }
  return result;
}

std::vector<std::string> orders_of(const Recorded& r) {
  const auto names = r.hooks();
  const auto pointer = [](std::uint64_t p) { return reinterpret_cast<void*>(p); };
  std::vector<std::string> result;
  for (const auto& o : r.all<schema::rec::order_op>(r.pid)) {
    char line[512];
    std::snprintf(line, sizeof line, "order %s op%d %p %p %llu r%d",
                  names.count(o.call) ? names.at(o.call).c_str() : "?", o.op, pointer(o.stream),
                  pointer(o.event), static_cast<unsigned long long>(o.value), o.result);
    result.push_back(line);
  }
  return result;
}

std::string device_libraries() {
  const char* others = std::getenv("HITPROOF_TEST_LIBRARIES");
  return others != nullptr ? others : HITPROOF_SIM_LIBRARIES;
}

std::string device_library(const std::string& name) { return device_libraries() + "/" + name; }

} // namespace hitproof::probes_test
