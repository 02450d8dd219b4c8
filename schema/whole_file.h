// Files that are there whole or not at all. The bytes are written beside their place and are on the
// disk before the name is given, so a full disk, a killed program or a power cut leaves under the
// name what was there before, or all of the new file. Two programs that write the same file at once
// do not write into one another's; the last one's stays.
#pragma once

#include "schema/status.h"

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace hitproof::schema {

// `text` as the file `path`, over one that is there, and on the disk on return. Not whole at every
// moment: for names that nobody reads yet. Errors: those of Status::from_errno; what the file holds
// then is open.
Status write_synced(const std::string& path, std::string_view text);
// The same into `fd`, which it closes in every case; `path` is for messages.
Status write_synced(int fd, std::string_view text, const std::string& path);

// Gives a file whose bytes are on the disk its name, over a file of that name, and asks for the
// folder to be on the disk too. Errors: those of Status::from_errno, of the renaming; both names
// are as they were. A folder that cannot be synced is no error: the file is whole either way.
Status put_into_place(const std::string& from, const std::string& path);

// `text` as the file `path`, whole, by way of a file that has no name until it is all there, then
// for a moment the one of `path` with ".PID.part" behind it (from the start on file systems that
// know no nameless files; a killed program leaves it there). Errors: no_space, io_error, not_found,
// refused; nothing new is at the path then, and nothing beside it.
Status write_whole(const std::string& path, std::string_view text);

// The same for what is written piece by piece.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
  // Removes what was not kept.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  std::ostream& stream() noexcept { return stream_; }
  // Puts the file into its place. Errors, of this call or of any write before it: those of
  // write_whole, with the same promise.
  Status keep();

 private:
  // Writes to a descriptor and remembers the first error, which a stream forgets.
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(const std::string& part);
    ~Buffer() override;
    // Syncs, gives the file the name `part` where it has none yet, and closes it; the first error
    // so far, 0 where there was none.
    int close(const std::string& part);
    bool named() const noexcept { return named_; }
    int open_error() const noexcept { return fd_ < 0 ? error_ : 0; }

   protected:
    int_type overflow(int_type c) override;
    int sync() override;

   private:
    int fd_ = -1;
    bool named_ = false;
    int error_ = 0;
    std::vector<char> bytes_;
  };

  std::string path_, part_;
  Buffer buffer_;
  std::ostream stream_;
  bool kept_ = false;
};

} // namespace hitproof::schema
