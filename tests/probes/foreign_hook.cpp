// A tool that wraps CUDA calls, as other people's preloads do, and changes nothing: it counts its
// calls and says their number at the end. FOREIGN_BY_HANDLE: it reaches the real calls by a handle
// of the library, else by RTLD_NEXT. Copies of 70,007 bytes it leaves by an exception, of 70,008 by
// a jump to the place whose address they hold, of 70,009 it waits in until its thread is cancelled.
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

unsigned calls = 0, allocations = 0;

// FOREIGN_DLSYM: it has a dlsym too, and needs the next one.
void* look_up(void* from, const char* name) {
#ifdef FOREIGN_DLSYM
  using Dlsym = void* (*)(void*, const char*);
  static Dlsym next = nullptr;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    if (next == nullptr) next = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", version));
  }
  return next(from, name);
#else
  return dlsym(from, name);
#endif
}

template <class F> F real(F& known, const char* library, const char* name) {
  if (known != nullptr) return known;
#ifdef FOREIGN_BY_HANDLE
  void* const from = dlopen(library, RTLD_NOW | RTLD_LOCAL);
#else
  (void)library;
  void* const from = RTLD_NEXT;
#endif
  return known = reinterpret_cast<F>(look_up(from, name));
}

__attribute__((destructor)) void say() {
  std::fprintf(stderr, "foreign: %u allocations\nforeign: %u calls\n", allocations, calls);
}

} // namespace

EXPORT int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  static int (*next)(void*, const void*, std::size_t, int, void*) = nullptr;
  ++calls;
  if (bytes == 70007) throw 7;
  if (bytes == 70008) siglongjmp(**static_cast<sigjmp_buf* const*>(from), 1);
  while (bytes == 70009)
    pause();
  return real(next, "libcudart.so.13", "cudaMemcpyAsync")(to, from, bytes, kind, stream);
}

namespace {

using CopyToDevice = int (*)(std::uint64_t, const void*, std::size_t, void*);
using GetProcAddress = int (*)(const char*, void**, int, std::uint64_t, int*);

GetProcAddress next_get_proc_address() {
  static GetProcAddress next = nullptr;
  return real(next, "libcuda.so.1", "cuGetProcAddress_v2");
}

CopyToDevice next_copy_to_device() {
  static CopyToDevice next = nullptr;
#ifdef FOREIGN_BY_HANDLE
  // As the runtime itself looks its calls up.
  void* found = nullptr;
  int status = 0;
  if (next == nullptr &&
      next_get_proc_address()("cuMemcpyHtoDAsync", &found, 12080, 0, &status) == 0)
    next = reinterpret_cast<CopyToDevice>(found);
#endif
  return real(next, "libcuda.so.1", "cuMemcpyHtoDAsync_v2");
}

// Not the exported name, which would be the probe's where that comes first.
int copy_to_device(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  ++calls;
  return next_copy_to_device()(to, from, bytes, stream);
}

} // namespace

namespace {
// Handed out by cuGetProcAddress alone.
int allocate(std::uint64_t* memory, std::size_t bytes) {
  static int (*next)(std::uint64_t*, std::size_t) = nullptr;
  ++allocations;
  return real(next, "libcuda.so.1", "cuMemAlloc_v2")(memory, bytes);
}
} // namespace

EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes,
                                void* stream) {
  return copy_to_device(to, from, bytes, stream);
}

EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                               int* status) {
  const int result = next_get_proc_address()(name, function, version, flags, status);
  if (result == 0 && flags == 0 && std::strcmp(name, "cuMemcpyHtoDAsync") == 0)
    *function = reinterpret_cast<void*>(&copy_to_device);
  if (result == 0 && flags == 0 && std::strcmp(name, "cuMemAlloc") == 0)
    *function = reinterpret_cast<void*>(&allocate);
  return result;
}

#ifdef FOREIGN_DLSYM
EXPORT void* dlsym(void* from, const char* name) noexcept {
  if (std::strcmp(name, "cuMemcpyHtoDAsync_v2") == 0)
    return reinterpret_cast<void*>(&copy_to_device);
  return look_up(from, name);
}
#endif
