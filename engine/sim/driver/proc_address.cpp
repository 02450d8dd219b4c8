// cuGetProcAddress in both forms. Like the real driver it finds itself, by the version asked for.
#include "engine/sim/driver/api.h"

#include <algorithm>
#include <cstring>
#include <string_view>

using namespace hitproof::sim;

namespace {

struct Entry {
  std::string_view base;
  int version;
  void* symbol;
  void* twin;
};

template <class F> void* as_pointer(F* function) { return reinterpret_cast<void*>(function); }

const Entry* entries(size_t& count) {
  static const Entry table[] = {
#define HITPROOF_SIM_ENTRY(base, version, symbol, twin)                                            \
  {#base, version, as_pointer(&symbol), as_pointer(&twin)},
#include "engine/sim/driver_entries.def"
#undef HITPROOF_SIM_ENTRY
  };
  count = std::size(table);
  return table;
}

struct Found {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

Found find(std::string_view name, int version, cuuint64_t flags) {
  size_t count = 0;
  const Entry* table = entries(count);
  Found found;
  int newest = -1;
  for (size_t i = 0; i < count; ++i) {
    const Entry& entry = table[i];
    if (entry.base != name) continue;
    if (entry.version > version) {
      if (newest < 0) found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      continue;
    }
    if (entry.version < newest) continue;
    newest = entry.version;
    found.status = CU_GET_PROC_ADDRESS_SUCCESS;
    found.function =
        flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? entry.twin : entry.symbol;
  }
  return found;
}

CUresult get(const char* symbol, void** pfn, int version, cuuint64_t flags,
             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t known =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (!symbol || !pfn || version <= 0 || version > driver_version || (flags & ~known) ||
      flags == known)
    return CUDA_ERROR_INVALID_VALUE;
  const Found found = find(symbol, version, flags);
  *pfn = found.function;
  if (status) *status = found.status;
  return found.function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

} // namespace

HITPROOF_SIM_API CUresult cuGetProcAddress(const char* symbol, void** pfn, int version,
                                           cuuint64_t flags) {
  return get(symbol, pfn, version, flags, nullptr);
}

HITPROOF_SIM_API CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version,
                                              cuuint64_t flags,
                                              CUdriverProcAddressQueryResult* status) {
  return get(symbol, pfn, version, flags, status);
}
