#include "tests/gpu/routes/ledger.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace hitproof::routes {
namespace {

std::uint64_t number(const void* p) { return reinterpret_cast<std::uint64_t>(p); }
std::string quoted(const std::string& text) { return '"' + text + '"'; }
std::string field(const char* name, const std::string& value) {
  return std::string(",\"") + name + "\":" + value;
}
std::string field(const char* name, std::uint64_t value) {
  return field(name, std::to_string(value));
}

std::string list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "" : ",") + item;
  return text;
}

// FNV-1a: a result is compared with the same result of another run, not protected.
std::string hash(const void* data, std::size_t bytes) {
  std::uint64_t h = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes; ++i)
    h = (h ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}

constexpr std::uint64_t legacy_stream = 0, per_thread_stream = 2;

} // namespace

void Ledger::name(const std::string& name, const void* value, std::size_t bytes) {
  const std::lock_guard guard(mutex_);
  names_.push_back({name, number(value), bytes});
}

void Ledger::name_handle(const std::string& name, const void* handle, std::size_t bytes) {
  handles_[name] = hex(handle, bytes);
}

std::string Ledger::described(const void* address) const {
  const std::uint64_t value = number(address);
  for (const Named& known : names_) {
    if (value < known.value || value - known.value >= known.bytes) continue;
    if (known.bytes == 1) return known.name;
    return known.name + '+' + std::to_string(value - known.value);
  }
  std::fprintf(stderr, "gpu_routes: the ledger has no name for %p\n", address);
  std::exit(1);
}

std::string Ledger::thread() const {
  const auto [known, added] = threads_.try_emplace(gettid());
  if (added) known->second = "thread" + std::to_string(threads_.size() - 1);
  return known->second;
}

void Ledger::copied(const Copy& c) {
  const std::lock_guard guard(mutex_);
  const std::string stream = number(c.stream) == legacy_stream       ? "default"
                             : number(c.stream) == per_thread_stream ? "per-thread"
                                                                     : described(c.stream);
  static constexpr const char* directions[] = {"D2H", "H2D", "D2D", "H2H", "none"};
  calls_[thread()].push_back(
      "{\"call\":" + quoted(c.call) + field("dst", quoted(described(c.dst))) +
      field("src", c.src == nullptr ? std::string("null") : quoted(described(c.src))) +
      field("bytes", c.bytes) + field("direction", quoted(directions[c.direction])) +
      field("stream", quoted(stream)) + field("version", static_cast<std::uint64_t>(c.version)) +
      ",\"batch\":[" + std::to_string(c.batch_index) + ',' + std::to_string(c.batch_count) + ']' +
      field("access_order", static_cast<std::uint64_t>(c.access_order)) +
      field("result", static_cast<std::uint64_t>(c.result)) + (c.graph ? ",\"graph\":true" : "") +
      '}');
}

void Ledger::ordered(const Order& o) {
  const std::lock_guard guard(mutex_);
  const std::string stream = o.stream == nullptr ? "default" : described(o.stream);
  calls_[thread()].push_back(
      "{\"call\":" + quoted(o.call) + field("op", static_cast<std::uint64_t>(o.op)) +
      field("stream", quoted(stream)) +
      field("event", o.event == nullptr ? std::string("null") : quoted(described(o.event))) +
      field("value",
            o.function == nullptr ? std::to_string(o.value) : quoted(described(o.function))) +
      field("handle", o.handle.empty() ? std::string("null") : quoted(o.handle)) + '}');
}

void Ledger::mapped(int op, const void* address, std::size_t bytes, const std::string& handle) {
  facts_.push_back("{\"fact\":\"memory\"" + field("op", static_cast<std::uint64_t>(op)) +
                   field("at", quoted(described(address))) + field("bytes", bytes) +
                   field("handle", handle.empty() ? std::string("null") : quoted(handle)) + '}');
}

void Ledger::registered(int entry, const void* base) {
  facts_.push_back("{\"fact\":\"entry\"" + field("entry", static_cast<std::uint64_t>(entry)) +
                   field("at", quoted(described(base))) + '}');
}

void Ledger::joined(int entry, const void* address) {
  facts_.push_back("{\"fact\":\"joined\"" + field("entry", static_cast<std::uint64_t>(entry)) +
                   field("at", quoted(described(address))) + '}');
}

void Ledger::host_pointer_kernel(const char* name, int launches) {
  facts_.push_back("{\"fact\":\"host_pointer_kernel\"" + field("name", quoted(name)) +
                   field("launches", static_cast<std::uint64_t>(launches)) + '}');
}

void Ledger::looked_up(const char* call, int times) {
  facts_.push_back("{\"fact\":\"lookup\"" + field("name", quoted(call)) +
                   field("times", static_cast<std::uint64_t>(times)) + '}');
}

void Ledger::result(const char* name, const void* data, std::size_t bytes) {
  results_.push_back('[' + quoted(name) + ',' + quoted(hash(data, bytes)) + ']');
}

void Ledger::result_at_end(const char* name, const void* data, std::size_t bytes) {
  kept_.push_back({name, number(data), bytes});
}

void Ledger::finish() {
  for (const Named& kept : kept_)
    result(kept.name.c_str(), reinterpret_cast<const void*>(kept.value), kept.bytes);
}

void Ledger::print(const char* route) const {
  // A runtime inside this program reaches the driver by calls of its own choice.
  Dl_info call{}, program{};
  dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &call);
  dladdr(reinterpret_cast<void*>(&hash), &program);
  const char* const runtime = call.dli_fbase == program.dli_fbase ? "static" : "linked";
  std::string calls, where;
  for (const auto& [thread, made] : calls_)
    calls += (calls.empty() ? "" : ",") + quoted(thread) + ":[" + list(made) + ']';
  for (const Named& known : names_) {
    const std::string value = std::to_string(known.value);
    where +=
        field(known.name.c_str(),
              known.bytes == 1 ? value : '[' + value + ',' + std::to_string(known.bytes) + ']');
  }
  for (const auto& [tid, thread] : threads_)
    where += field(thread.c_str(), static_cast<std::uint64_t>(tid));
  for (const auto& [name, digits] : handles_)
    where += field(name.c_str(), quoted(digits));
  std::printf(
      "{\"route\":\"%s\",\"runtime\":\"%s\",\"whole\":true,\"calls\":{%s},\"facts\":[%s],"
      "\"results\":[%s],\"where\":{\"process\":%d,\"default\":%llu,\"per-thread\":%llu%s}}\n",
      route, runtime, calls.c_str(), list(facts_).c_str(), list(results_).c_str(),
      static_cast<int>(getpid()), static_cast<unsigned long long>(legacy_stream),
      static_cast<unsigned long long>(per_thread_stream), where.c_str());
  std::fflush(stdout);
}

} // namespace hitproof::routes
