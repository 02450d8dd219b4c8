#include "probes/libraries.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace hitproof::probes {
namespace {

const char* file_name(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool begins(const char* text, const char* prefix) noexcept {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// The way to dlsym must call nothing that a sanitizer intercepts (dl_iterate_phdr, strcmp, ...):
// their libraries look those up through this very dlsym while they start.
bool same(const char* a, const char* b) noexcept {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

bool name_begins(const char* path, const char* prefix) noexcept {
  const char* name = path;
  for (const char* c = path; *c != '\0'; ++c) {
    if (*c == '/') name = c + 1;
  }
  for (; *prefix != '\0'; ++prefix, ++name) {
    if (*prefix != *name) return false;
  }
  return true;
}

struct DynamicTable {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
};

DynamicTable dynamic_table(const ElfW(Dyn) * d) noexcept {
  DynamicTable table;
  for (; d->d_tag != DT_NULL; ++d) {
    // glibc relocates these pointers in place on x86-64.
    if (d->d_tag == DT_SYMTAB) table.symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) table.strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_GNU_HASH) {
      table.gnu_hash = reinterpret_cast<const std::uint32_t*>(d->d_un.d_ptr);
    }
  }
  return table;
}

std::uint32_t gnu_hash_of(const char* name) noexcept {
  std::uint32_t h = 5381;
  for (; *name != '\0'; ++name)
    h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

// Layout: bucket count, first hashed symbol, bloom words, bloom shift, bloom, buckets, chains.
const ElfW(Sym) * find_symbol(const DynamicTable& t, const char* name) noexcept {
  if (t.symbols == nullptr || t.strings == nullptr || t.gnu_hash == nullptr) return nullptr;
  const std::uint32_t bucket_count = t.gnu_hash[0], first = t.gnu_hash[1], bloom = t.gnu_hash[2];
  const std::uint32_t* buckets = t.gnu_hash + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  const std::uint32_t hash = gnu_hash_of(name);
  std::uint32_t i = buckets[hash % bucket_count];
  if (i < first) return nullptr;
  for (;; ++i) {
    const std::uint32_t chain = chains[i - first];
    if ((chain | 1) == (hash | 1) && same(t.strings + t.symbols[i].st_name, name) &&
        t.symbols[i].st_shndx != SHN_UNDEF) {
      return &t.symbols[i];
    }
    if (chain & 1) return nullptr;
  }
}

int count_cuda(dl_phdr_info* info, std::size_t, void* data) noexcept {
  CudaLibraries& seen = *static_cast<CudaLibraries*>(data);
  if (info->dlpi_name == nullptr) return 0;
  const char* name = file_name(info->dlpi_name);
  const auto note = [&](int& count, char(&first)[256]) {
    if (count++ == 0) std::strncpy(first, info->dlpi_name, sizeof first - 1);
  };
  if (begins(name, "libcudart.so")) note(seen.runtimes, seen.runtime);
  if (begins(name, "libcuda.so")) note(seen.drivers, seen.driver);
  return 0;
}

struct Owner {
  std::uint64_t address;
  bool cuda = false, renamed = false;
  ObjectRange object{};
  char path[256] = {};
};

int find_owner(dl_phdr_info* info, std::size_t, void* data) noexcept {
  Owner& owner = *static_cast<Owner*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_LOAD || owner.address < begin ||
        owner.address >= begin + header.p_memsz)
      continue;
    for (int k = 0; k < info->dlpi_phnum; ++k) {
      const auto& part = info->dlpi_phdr[k];
      if (part.p_type != PT_LOAD) continue;
      const std::uint64_t at = info->dlpi_addr + part.p_vaddr;
      if (owner.object.end == 0) owner.object.begin = at;
      owner.object.end = at + part.p_memsz;
    }
    if (info->dlpi_name == nullptr) return 1;
    const char* name = file_name(info->dlpi_name);
    owner.cuda = begins(name, "libcuda.so") || begins(name, "libcudart.so");
    owner.renamed = begins(name, "libcudart-");
    std::strncpy(owner.path, info->dlpi_name, sizeof owner.path - 1);
    return 1;
  }
  return 0;
}

template <class F> F from_libc(std::atomic<F>& cache, const char* symbol) noexcept {
  F function = cache.load(std::memory_order_acquire);
  if (function == nullptr) {
    // Since glibc 2.34 both are in libc itself, before that in libdl.
    void* found = symbol_in_library("libc.so", symbol);
    if (found == nullptr) found = symbol_in_library("libdl.so", symbol);
    function = reinterpret_cast<F>(found);
    cache.store(function, std::memory_order_release);
  }
  return function;
}

std::atomic<DlsymFunction> libc_dlsym{nullptr}, behind_dlsym{nullptr};
std::atomic<DlvsymFunction> libc_dlvsym{nullptr}, behind_dlvsym{nullptr};

template <class F> F from_behind(std::atomic<F>& cache, const char* symbol, F libc) noexcept {
  F function = cache.load(std::memory_order_acquire);
  if (function == nullptr) {
    void* const found = real_dlsym()(RTLD_NEXT, symbol);
    function = found != nullptr ? reinterpret_cast<F>(found) : libc;
    cache.store(function, std::memory_order_release);
  }
  return function;
}

} // namespace

void* symbol_in_library(const char* library, const char* symbol) noexcept {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_name == nullptr || !name_begins(object->l_name, library)) continue;
    const ElfW(Sym)* found = find_symbol(dynamic_table(object->l_ld), symbol);
    if (found != nullptr) return reinterpret_cast<void*>(object->l_addr + found->st_value);
  }
  return nullptr;
}

CudaLibraries cuda_libraries() noexcept {
  CudaLibraries seen;
  dl_iterate_phdr(count_cuda, &seen);
  return seen;
}

std::uint64_t library_changes() noexcept {
  std::uint64_t changes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<std::uint64_t*>(data) = info->dlpi_adds + info->dlpi_subs;
        return 1;
      },
      &changes);
  return changes;
}

ObjectRange object_of(const void* address) noexcept {
  Owner owner{.address = reinterpret_cast<std::uint64_t>(address)};
  dl_iterate_phdr(find_owner, &owner);
  return owner.object;
}

bool in_cuda_library(const void* address) noexcept {
  Owner owner{.address = reinterpret_cast<std::uint64_t>(address)};
  dl_iterate_phdr(find_owner, &owner);
  return owner.cuda;
}

const char* foreign_file(const void* address, char (&path)[256]) noexcept {
  Owner owner{.address = reinterpret_cast<std::uint64_t>(address)};
  dl_iterate_phdr(find_owner, &owner);
  if (owner.cuda || owner.renamed || owner.path[0] == '\0') return nullptr;
  std::memcpy(path, owner.path, sizeof path);
  return path;
}

DlsymFunction real_dlsym() noexcept { return from_libc(libc_dlsym, "dlsym"); }
DlvsymFunction real_dlvsym() noexcept { return from_libc(libc_dlvsym, "dlvsym"); }
DlsymFunction next_dlsym() noexcept { return from_behind(behind_dlsym, "dlsym", real_dlsym()); }
DlvsymFunction next_dlvsym() noexcept {
  return from_behind(behind_dlvsym, "dlvsym", real_dlvsym());
}

} // namespace hitproof::probes
