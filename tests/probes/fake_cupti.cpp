// Not CUPTI: its calls that the probe makes, answered as FAKE_CUPTI says: "works" gives back a
// buffer with the copies of FAKE_CUPTI_COPIES ("1 8 1 100": kind, bytes, ...), "keeps" does not
// give back another one. "another": another tool has CUPTI. "no_device": there is no GPU. "silent":
// it accepts everything and gives nothing, as when a later client took the records over. A
// subscription that is given back is said on stderr.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

using Requested = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Completed = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

// As much of CUpti_ActivityMemcpy as the probe reads.
struct Copy {
  std::uint32_t kind;
  std::uint8_t copy_kind, source, target, flags;
  std::uint64_t bytes;
};

Requested requested = nullptr;
Completed completed = nullptr;
std::size_t next_record = 0;

bool is(const char* mode) {
  const char* const said = std::getenv("FAKE_CUPTI");
  return said != nullptr && std::strcmp(said, mode) == 0;
}

constexpr int success = 0, no_more_records = 12, another_subscriber = 39, unknown = 999;

} // namespace

extern "C" {

int cuptiSubscribe(void** subscriber, void*, void*) {
  static int one;
  *subscriber = &one;
  return is("another") ? another_subscriber : success;
}

int cuptiUnsubscribe(void*) {
  std::fputs("fake CUPTI: unsubscribed\n", stderr);
  return success;
}

int cuptiActivityRegisterCallbacks(Requested r, Completed c) {
  requested = r;
  completed = c;
  return success;
}

int cuptiActivityEnable(std::uint32_t) { return is("no_device") ? unknown : success; }

int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  if (next_record >= valid / sizeof(Copy)) return no_more_records;
  *record = buffer + next_record++ * sizeof(Copy);
  return success;
}

int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  return *dropped = 0, success;
}

int cuptiActivityFlushAll(std::uint32_t) {
  if (!is("works") && !is("keeps")) return success;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, most = 0, used = 0;
  if (is("keeps")) requested(&buffer, &size, &most);
  requested(&buffer, &size, &most);
  const char* const copies = std::getenv("FAKE_CUPTI_COPIES");
  std::istringstream in(copies == nullptr ? "" : copies);
  unsigned kind = 0;
  std::uint64_t bytes = 0;
  while (in >> kind >> bytes && used + sizeof(Copy) <= size) {
    const Copy copy{1, static_cast<std::uint8_t>(kind), 0, 0, 0, bytes};
    std::memcpy(buffer + used, &copy, sizeof copy);
    used += sizeof copy;
  }
  next_record = 0;
  completed(nullptr, 0, buffer, size, used);
  return success;
}
}
