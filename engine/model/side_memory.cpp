#include "engine/model/side_memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace hitproof::engine {

SideMemory::SideMemory(const kernels::ModelKernels& kernels, Place place, size_t bytes)
    : bytes_(bytes), release_(place == Place::side ? kernels.release : kernels.release_host) {
  // A device may answer null to a request for nothing.
  const size_t asked = std::max<size_t>(bytes, 1);
  data_ = place == Place::side ? kernels.allocate(asked) : kernels.allocate_host(asked);
  if (data_ == nullptr) {
    throw std::runtime_error("no room for " + std::to_string(bytes) + " bytes of " +
                             (place == Place::side ? std::string(kernels.name) : "pinned host") +
                             " memory");
  }
}

} // namespace hitproof::engine
