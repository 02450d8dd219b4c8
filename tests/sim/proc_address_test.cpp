// The routes to an entry: exported name, dlsym, cuGetProcAddress in both forms.
#include "tests/sim/sim_test.h"

#include <dlfcn.h>
#include <string>

namespace hitproof::sim::tests {
namespace {

struct Entry {
  std::string base;
  int version;
  std::string symbol;
  std::string twin;
};

std::vector<Entry> entries() {
  return {
#define HITPROOF_SIM_ENTRY(base, version, symbol, twin) {#base, version, #symbol, #twin},
#include "engine/sim/driver_entries.def"
#undef HITPROOF_SIM_ENTRY
  };
}

void* exported(const std::string& name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  return library ? dlsym(library, name.c_str()) : nullptr;
}

void* ask(const std::string& name, int version, cuuint64_t flags) {
  void* function = nullptr;
  cuGetProcAddress_v2(name.c_str(), &function, version, flags, nullptr);
  return function;
}

TEST(ProcAddress, EveryEntryIsExportedAndFoundByItsVersion) {
  for (const auto& entry : entries()) {
    SCOPED_TRACE(entry.symbol);
    ASSERT_NE(exported(entry.symbol), nullptr);
    EXPECT_EQ(ask(entry.base, entry.version, 0), exported(entry.symbol));
    EXPECT_EQ(ask(entry.base, entry.version, CU_GET_PROC_ADDRESS_LEGACY_STREAM),
              exported(entry.symbol));
    EXPECT_EQ(ask(entry.base, entry.version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
              exported(entry.twin));
  }
}

TEST(ProcAddress, EveryTwinIsExportedAndListed) {
  const auto all = entries();
  for (const std::string twin : {
#define HITPROOF_SIM_TWIN(symbol, suffix) #symbol #suffix,
#include "engine/sim/driver_twins.def"
#undef HITPROOF_SIM_TWIN
       }) {
    SCOPED_TRACE(twin);
    EXPECT_NE(exported(twin), nullptr);
    bool listed = false;
    for (const auto& entry : all)
      listed = listed || entry.twin == twin;
    EXPECT_TRUE(listed);
  }
}

TEST(ProcAddress, TheVersionChoosesTheFormOfTheBatchCopy) {
  EXPECT_EQ(ask("cuMemcpyBatchAsync", 12080, 0), exported("cuMemcpyBatchAsync"));
  EXPECT_EQ(ask("cuMemcpyBatchAsync", 12090, 0), exported("cuMemcpyBatchAsync"));
  EXPECT_EQ(ask("cuMemcpyBatchAsync", 13000, 0), exported("cuMemcpyBatchAsync_v2"));
  EXPECT_EQ(ask("cuMemcpyBatchAsync", 12080, 2), exported("cuMemcpyBatchAsync_ptsz"));
  EXPECT_EQ(ask("cuMemcpyBatchAsync", 13000, 2), exported("cuMemcpyBatchAsync_v2_ptsz"));
}

TEST(ProcAddress, FindsItself) {
  EXPECT_EQ(ask("cuGetProcAddress", 11030, 0), exported("cuGetProcAddress"));
  EXPECT_EQ(ask("cuGetProcAddress", 11080, 0), exported("cuGetProcAddress"));
  EXPECT_EQ(ask("cuGetProcAddress", 12000, 0), exported("cuGetProcAddress_v2"));
  using FourArguments = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto old_form = reinterpret_cast<FourArguments>(ask("cuGetProcAddress", 11030, 0));
  void* function = nullptr;
  EXPECT_EQ(old_form("cuMemAlloc", &function, 11030, 0), CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuMemAlloc_v2"));
}

TEST(ProcAddress, SaysWhyItFindsNothing) {
  void* function = &function;
  CUdriverProcAddressQueryResult status;
  EXPECT_EQ(cuGetProcAddress_v2("cuNoSuchCall", &function, 13000, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemcpyBatchAsync", &function, 12070, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 13010, 0, &status),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 3, &status),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc_v2", &function, 13000, 0, &status),
            CUDA_ERROR_NOT_FOUND); // base names only
}

TEST(ProcAddress, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_NOT_READY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_NOT_READY");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "invalid argument");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13000);
}

} // namespace
} // namespace hitproof::sim::tests
