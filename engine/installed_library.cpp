#include "engine/installed_library.h"

#include <filesystem>

namespace hitproof::engine {

std::string installed_library(const std::string& name) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "lib/hitproof" / name).lexically_normal().string();
}

} // namespace hitproof::engine
