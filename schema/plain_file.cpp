#include "schema/plain_file.h"

#include "schema/mapped_hash.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <new>
#include <numeric>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace hitproof::schema {
namespace {

// Small enough to stay in a core's second cache between the copy out of the page cache and its use.
constexpr std::size_t block = std::size_t{1} << 16;
// From here on the copy costs more than mapping: a seventh of the whole.
constexpr off_t worth_mapping = off_t{1} << 20;

struct File {
  int fd = -1;
  off_t bytes = 0;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
};

Status open_plain(const std::string& path, File* file) {
  file->fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file->fd < 0 && errno == ELOOP) return Status(Code::io_error, path + ": is a link");
  if (file->fd < 0) return Status::from_errno(errno, "open " + path);
  struct stat about {};
  if (::fstat(file->fd, &about) != 0) return Status::from_errno(errno, "look at " + path);
  if (!S_ISREG(about.st_mode)) return Status(Code::io_error, path + ": not a plain file");
  file->bytes = about.st_size;
  ::posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return {};
}

template <class Use>
Status read_blocks(const std::string& path, const File& file, unsigned char* buffer,
                   const Use& use) {
  for (;;) {
    const ssize_t n = ::read(file.fd, buffer, block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "read " + path);
    if (n == 0 || !use(buffer, static_cast<std::size_t>(n))) return {};
  }
}

Status hash_file(const std::string& path, unsigned char* buffer, Sha256& hash) {
  File file;
  if (Status status = open_plain(path, &file); !status.ok()) return status;
  if (file.bytes >= worth_mapping)
    return hash_mapped(file.fd, static_cast<std::uint64_t>(file.bytes), hash).with_context(path);
  return read_blocks(path, file, buffer, [&](const unsigned char* data, std::size_t bytes) {
    hash.update(data, bytes);
    return true;
  });
}

std::uint64_t size_of(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

} // namespace

Status read_plain_file(const std::string& path,
                       const std::function<bool(const unsigned char*, std::size_t)>& use) {
  File file;
  if (Status status = open_plain(path, &file); !status.ok()) return status;
  const auto buffer = std::make_unique<unsigned char[]>(block);
  return read_blocks(path, file, buffer.get(), use);
}

std::vector<Result<Digest>> hash_plain_files(const std::vector<std::string>& paths) {
  std::vector<Result<Digest>> digests(paths.size(), Result<Digest>(Digest{}));
  // The largest first, so that no thread is left alone with it at the end.
  std::vector<std::uint64_t> sizes(paths.size());
  std::transform(paths.begin(), paths.end(), sizes.begin(), size_of);
  std::vector<std::size_t> order(paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const auto buffer = std::make_unique<unsigned char[]>(block);
    Sha256 hash;
    for (std::size_t turn = next++; turn < order.size(); turn = next++) {
      const std::size_t i = order[turn];
      const Status status = hash_file(paths[i], buffer.get(), hash);
      const Digest digest = hash.finish();
      digests[i] = status.ok() ? Result<Digest>(digest) : Result<Digest>(status);
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  // Helpers may be lacking, for want of memory or of threads: then this thread does their part.
  try {
    for (std::size_t i = 1; i < std::min(cores, paths.size()); ++i)
      helpers.emplace_back([&] {
        try {
          work();
        } catch (const std::bad_alloc&) {
          return;
        }
      });
  } catch (const std::system_error&) {
  }
  work();
  helpers.clear();
  return digests;
}

} // namespace hitproof::schema
