#include "engine/model/side_memory.h"

#include <stdexcept>
#include <string>

namespace hitproof::engine {

SideMemory::SideMemory(const kernels::ModelKernels& kernels, Place place, size_t bytes)
    : bytes_(bytes), release_(place == Place::side ? kernels.release : kernels.release_host) {
  data_ = place == Place::side ? kernels.allocate(bytes) : kernels.allocate_host(bytes);
  if (data_ == nullptr) {
    throw std::runtime_error("no room for " + std::to_string(bytes) + " bytes of " +
                             (place == Place::side ? std::string(kernels.name) : "pinned host") +
                             " memory");
  }
}

} // namespace hitproof::engine
