#include "schema/journal_reader.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace hitproof::schema {

Result<JournalReader> JournalReader::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::from_errno(errno, "open " + path);
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return Status::from_errno(error, "stat " + path);
  }
  const auto bytes = static_cast<std::size_t>(info.st_size);
  if (bytes < journal_header_bytes) {
    ::close(fd);
    return Status(Code::incomplete, path + ": shorter than a journal's header");
  }
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (map == MAP_FAILED) return Status::from_errno(error, "map " + path);
  JournalReader reader(map, bytes);
  const SegmentHeader& header = *reader.header_;
  std::uint64_t magic;
  std::uint64_t expected;
  magic = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(header.magic), __ATOMIC_ACQUIRE);
  std::memcpy(&expected, journal_magic, sizeof expected);
  if (magic == 0) return Status(Code::incomplete, path + ": not taken into use yet");
  if (std::memcmp(&magic, "HPJRNL", 6) != 0)
    return Status(Code::corruption, path + ": not a journal (its first bytes are not HPJRNL)");
  if (magic != expected || header.version > journal_version)
    return Status(Code::newer_format, path + ": written by a newer version (journal version " +
                                          std::to_string(header.version) + ", this program reads " +
                                          std::to_string(journal_version) + ")");
  if (journal_header_bytes + std::size_t{header.slots} * sizeof(Slot) > bytes)
    return Status(Code::corruption, path + ": cut short (" + std::to_string(bytes) + " bytes for " +
                                        std::to_string(header.slots) + " slots)");
  reader.count_ = header.slots;
  reader.last_seq_ = header.before;
  return reader;
}

JournalReader::JournalReader(void* map, std::size_t bytes) noexcept
    : map_(map), bytes_(bytes), header_(static_cast<const SegmentHeader*>(map)),
      slots_(reinterpret_cast<const Slot*>(static_cast<const char*>(map) + journal_header_bytes)) {}

JournalReader::JournalReader(JournalReader&& other) noexcept { *this = std::move(other); }

JournalReader& JournalReader::operator=(JournalReader&& other) noexcept {
  if (this == &other) return *this;
  if (map_ != nullptr) munmap(map_, bytes_);
  map_ = std::exchange(other.map_, nullptr);
  bytes_ = other.bytes_;
  header_ = other.header_;
  slots_ = other.slots_;
  count_ = other.count_;
  position_ = other.position_;
  last_seq_ = other.last_seq_;
  gaps_ = other.gaps_;
  damaged_ = other.damaged_;
  return *this;
}

JournalReader::~JournalReader() {
  if (map_ != nullptr) munmap(map_, bytes_);
}

bool JournalReader::written_beyond(std::uint32_t index) const noexcept {
  // Slots are filled in order, so an empty one before a filled one was emptied afterwards. It is
  // read again: it may have been filled since the caller looked.
  if (index + 1 >= count_ || __atomic_load_n(&slots_[index + 1].seq, __ATOMIC_ACQUIRE) == 0)
    return false;
  return __atomic_load_n(&slots_[index].seq, __ATOMIC_ACQUIRE) == 0;
}

bool JournalReader::waiting() const noexcept {
  return position_ < count_ && (__atomic_load_n(&slots_[position_].seq, __ATOMIC_ACQUIRE) != 0 ||
                                written_beyond(position_));
}

const Slot* JournalReader::next() noexcept {
  while (waiting()) {
    const Slot& slot = slots_[position_++];
    const std::uint32_t seq = __atomic_load_n(&slot.seq, __ATOMIC_ACQUIRE);
    if (seq <= last_seq_) {
      ++damaged_;
      continue;
    }
    gaps_ += seq - last_seq_ - 1;
    last_seq_ = seq;
    return &slot;
  }
  return nullptr;
}

void JournalReader::seek(std::uint32_t index, std::uint32_t last_seq) noexcept {
  position_ = std::min(index, count_);
  last_seq_ = last_seq;
}

std::uint64_t JournalReader::dropped() const noexcept {
  return __atomic_load_n(&header_->dropped, __ATOMIC_RELAXED);
}

bool JournalReader::finished() const noexcept {
  return __atomic_load_n(&header_->finished, __ATOMIC_ACQUIRE) != 0;
}

bool JournalReader::exhausted() const noexcept {
  if (position_ == count_) return true;
  return finished() && __atomic_load_n(&slots_[position_].seq, __ATOMIC_ACQUIRE) == 0;
}

namespace {
// <pid>-<tid>-<segment>.hpj
bool parse_name(const std::string& name,
                std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>& id) {
  const char* at = name.data();
  const char* end = name.data() + name.size();
  std::uint64_t part[3];
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, part[i]);
    if (error != std::errc()) return false;
    at = next;
    if (i < 2 && (at == end || *at++ != '-')) return false;
  }
  id = {part[0], part[1], part[2]};
  return std::string_view(at, end) == ".hpj";
}
} // namespace

Result<std::vector<std::string>> list_segments(const std::string& dir) {
  namespace fs = std::filesystem;
  std::vector<std::pair<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::string>>
      found;
  std::error_code error;
  fs::directory_iterator it(dir + "/journal", error);
  if (error == std::errc::no_such_file_or_directory) return std::vector<std::string>();
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> id;
    if (parse_name(it->path().filename().string(), id)) found.emplace_back(id, it->path().string());
  }
  if (error) return Status::from_errno(error.value(), "list " + dir + "/journal");
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto& [id, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

} // namespace hitproof::schema
