// The list of hooks, the exported symbols and the document say the same.
#include "probes/hook_table.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>

namespace {

struct Line {
  std::string symbol, level, asked;
  unsigned since;
  bool per_thread;
};

const std::vector<Line>& lines() {
  constexpr const char *RUNTIME = "runtime", *DRIVER = "driver";
  static const std::vector<Line> all = {
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  {#symbol, level, #asked, since, per_thread},
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  {#symbol, level, #asked, since, per_thread},
#define HP_LOADER(symbol) {#symbol, "loader", #symbol, 0, false},
#include "probes/hooks.def"
  };
  return all;
}

std::set<std::string> exported(const std::string& library) {
  std::set<std::string> names;
  FILE* nm = popen(("nm -D --defined-only " + library).c_str(), "r");
  char address[64], type[8], name[256];
  while (nm != nullptr && std::fscanf(nm, "%63s %7s %255s", address, type, name) == 3) {
    std::string symbol = name;
    names.insert(symbol.substr(0, symbol.find('@')));
  }
  if (nm != nullptr) pclose(nm);
  return names;
}

std::string document() {
  std::ostringstream out;
  out << "# Hooks\n\n"
         "Every call that the probe wraps, made from `probes/hooks.def` by "
         "`tests/probes/hook_list_test` "
         "(`HITPROOF_WRITE_DOCS=1` writes this page anew).\n\n"
         "*Asked for as*: the name by which `cuGetProcAddress` is asked for it, and the lowest "
         "version that it "
         "answers with this symbol. *Null stream*: what a null stream handle means.\n\n"
         "| id | symbol | level | asked for as | since | null stream "
         "|\n|---|---|---|---|---|---|\n";
  std::size_t id = 0;
  for (const Line& line : lines()) {
    out << "| " << ++id << " | `" << line.symbol << "` | " << line.level << " | "
        << (line.level == "driver" ? "`" + line.asked + "`" : "") << " | "
        << (line.since != 0 ? std::to_string(line.since) : "") << " | "
        << (line.per_thread ? "per thread" : "") << " |\n";
  }
  return out.str();
}

TEST(HookList, NamesAreUnique) {
  std::set<std::string> names;
  for (const Line& line : lines())
    EXPECT_TRUE(names.insert(line.symbol).second) << line.symbol;
  EXPECT_EQ(names.size() + 1, hitproof::probes::hook_count);
}

TEST(HookList, NewerFormsOfOneCallDifferInVersion) {
  std::set<std::string> keys;
  for (const Line& line : lines()) {
    if (line.level != "driver") continue;
    const std::string key =
        line.asked + (line.per_thread ? "/ptsz/" : "/") + std::to_string(line.since);
    EXPECT_TRUE(keys.insert(key).second) << "two hooks answer for " << key;
  }
}

TEST(HookList, IsExactlyWhatTheLibraryExports) {
  std::set<std::string> expected;
  for (const Line& line : lines())
    expected.insert(line.symbol);
  for (const char* call :
       {"mode",          "process",       "meta",           "profile",       "entry",
        "request",       "admission",     "lookup",         "lookup_answer", "key_input",
        "content_input", "step",          "step_request",   "block",         "state",
        "transfer",      "transfer_page", "transfer_ready", "transfer_done", "tail_read",
        "pooled_key",    "tail_step",     "wait",           "reuse",         "internal_event",
        "flush"}) {
    expected.insert(std::string("hitproof_") + call);
  }
  // The ends of a program that run no destructor (leave.cpp).
  expected.insert({"_exit", "_Exit", "daemon", "execl", "execle", "execlp", "execv", "execve",
                   "execveat", "execvp", "execvpe", "fexecve"});
  EXPECT_EQ(exported(HITPROOF_PROBE_LIBRARY), expected);
}

TEST(HookList, CoversWhatTheSimulatedDeviceExports) {
  // Calls that move no bytes, order no work and change no address; everything else must have a
  // hook.
  const std::set<std::string> harmless_words = {
      "Get",    "Init",   "Query", "Retain", "Release",  "Reset",  "State",
      "Flags",  "Can",    "Peek",  "Upload", "Exchange", "Empty",  "Host",
      "Memset", "Depend", "Is",    "Create", "Total",    "Elapsed"};
  std::set<std::string> hooked;
  for (const Line& line : lines())
    hooked.insert(line.symbol);
  for (const char* library : {"libcuda.so.1", "libcudart.so.13"}) {
    const auto names = exported(std::string(HITPROOF_SIM_LIBRARIES) + "/" + library);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) {
      if (name.rfind("cu", 0) != 0 || hooked.count(name)) continue;
      bool harmless = false;
      for (const std::string& word : harmless_words)
        harmless |= name.find(word) != std::string::npos;
      EXPECT_TRUE(harmless) << name << " of " << library << " has no hook";
    }
    for (const std::string& name : names) {
      const bool must = name.find("Memcpy") != std::string::npos ||
                        name.find("EventRecord") != std::string::npos ||
                        name.find("LaunchHost") != std::string::npos ||
                        name.find("WaitEvent") != std::string::npos;
      if (must && name.find("Get") == std::string::npos) {
        EXPECT_TRUE(hooked.count(name)) << name;
      }
    }
  }
}

TEST(HookList, DocumentAgrees) {
  const std::string path = std::string(HITPROOF_SOURCE_DIR) + "/docs/hooks.md";
  if (std::getenv("HITPROOF_WRITE_DOCS") != nullptr) std::ofstream(path) << document();
  std::ifstream in(path);
  std::ostringstream there;
  there << in.rdbuf();
  EXPECT_EQ(there.str(), document()) << "run this test with HITPROOF_WRITE_DOCS=1";
}

} // namespace
