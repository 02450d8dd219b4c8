// A journal segment of any bytes: reading ends, and returns no more records than there are slots.
#include "schema/journal_reader.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

namespace schema = hitproof::schema;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int fd = memfd_create("segment", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != static_cast<ssize_t>(size)) std::abort();
  auto reader = schema::JournalReader::open("/proc/self/fd/" + std::to_string(fd));
  if (reader.ok()) {
    std::size_t records = 0;
    while (reader->next() != nullptr)
      ++records;
    if (records > size / sizeof(schema::Slot)) std::abort();
    reader->seek(reader->header().slots, 0);
    if (reader->next() != nullptr) std::abort();
  }
  close(fd);
  return 0;
}
