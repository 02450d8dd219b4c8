#include "schema/mapped_hash.h"

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <mutex>
#include <sys/mman.h>

namespace hitproof::schema {
namespace {

// A few thousand pages a call: the mapping costs little, and not much address space is held.
constexpr std::uint64_t window = std::uint64_t{16} << 20;

thread_local sigjmp_buf* way_out = nullptr;
struct sigaction before;

void on_bus_error(int signal, siginfo_t*, void*) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  // Not ours: the instruction is run again, under the handler that was there.
  sigaction(signal, &before, nullptr);
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
  });
}

// Nothing here has a destructor: the jump may leave it at any instruction.
bool update_or_jump(Sha256& hash, const void* data, std::size_t bytes) {
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  hash.update(data, bytes);
  way_out = nullptr;
  return true;
}

} // namespace

Status hash_mapped(int fd, std::uint64_t bytes, Sha256& hash) {
  install_handler();
  for (std::uint64_t at = 0; at < bytes; at += window) {
    const auto size = static_cast<std::size_t>(std::min(window, bytes - at));
    void* map =
        ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(at));
    if (map == MAP_FAILED) return Status::from_errno(errno, "map");
    const bool whole = update_or_jump(hash, map, size);
    ::munmap(map, size);
    if (!whole)
      return Status(Code::io_error, "the file was cut, or its disk failed, while it was read");
  }
  return {};
}

} // namespace hitproof::schema
