// A file that is there whole or not at all: written beside its place, nameless or as "PID.part"
// behind it, and renamed at the end. A full disk or a killed program leaves no half file under the
// final name.
#pragma once

#include "schema/status.h"

#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

namespace hitproof::cli {

class WholeFile {
 public:
  explicit WholeFile(std::string path);
  // Removes what was not kept.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  std::ostream& stream() noexcept { return stream_; }
  // Puts the file into its place, over one that is there. Errors, of this call or of any write
  // before it: no_space, io_error, not_found; nothing new is at the path then.
  schema::Status keep();

 private:
  // Writes to a descriptor and remembers the first error, which a stream forgets.
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(const std::string& part);
    ~Buffer() override;
    // Where the file has no name yet it gets this one.
    void give_name(const std::string& part);
    bool named() const noexcept { return named_; }
    int close(); // the first error so far, 0 where there was none
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

} // namespace hitproof::cli
