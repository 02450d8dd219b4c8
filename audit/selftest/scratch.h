// A folder for a while: made under the system's folder for temporary files, gone with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace hitproof::audit::selftest {

class ScratchDir {
 public:
  // Throws std::runtime_error where none can be made.
  explicit ScratchDir(const std::string& prefix) {
    std::string name = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error(name + ": no folder can be made there; set TMPDIR to one that can "
                                      "be written to");
    path_ = name;
  }
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

} // namespace hitproof::audit::selftest
