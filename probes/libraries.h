// The loaded libraries, looked at without dlsym: the probe exports dlsym itself, so it needs
// another way to the real one, and it has to know whether more than one CUDA runtime is mapped.
#pragma once

#include <cstdint>

namespace hitproof::probes {

// Address of `symbol` in the loaded object whose file name begins with `library` ("libc.so"), read
// from its dynamic symbol table; null where there is none. Takes no lock, allocates nothing and
// calls nothing: it runs before anything else does. For libraries that are loaded at the start.
void* symbol_in_library(const char* library, const char* symbol) noexcept;

// How many distinct loaded objects have a file name that begins with "libcudart.so" / "libcuda.so".
struct CudaLibraries {
  int runtimes = 0, drivers = 0;
  char runtime[256] = {}, driver[256] = {}; // the first of each
};
CudaLibraries cuda_libraries() noexcept;
// Changes whenever an object is loaded or unloaded.
std::uint64_t library_changes() noexcept;

// The loaded object that `address` lies in, from its first byte on; empty where it lies in none.
struct ObjectRange {
  std::uint64_t begin = 0, end = 0;
  bool has(const void* address) const noexcept {
    const std::uint64_t at = reinterpret_cast<std::uint64_t>(address);
    return begin <= at && at < end;
  }
};
ObjectRange object_of(const void* address) noexcept;

// True where `address` lies in an object whose file name begins with libcuda.so or libcudart.so.
bool in_cuda_library(const void* address) noexcept;
// The file of another library that `address` lies in. Null where that is a CUDA library (under the
// name too that wheels give to a runtime of their own, libcudart-<hash>.so), the program itself or
// none; else `path`, filled in.
const char* foreign_file(const void* address, char (&path)[256]) noexcept;

// The C library's dlsym, dlvsym.
using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);
DlsymFunction real_dlsym() noexcept;
DlvsymFunction real_dlvsym() noexcept;
// What comes next behind the probe: the C library's, unless another tool has them too.
DlsymFunction next_dlsym() noexcept;
DlvsymFunction next_dlvsym() noexcept;

} // namespace hitproof::probes
