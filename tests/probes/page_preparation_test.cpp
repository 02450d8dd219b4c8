// Page kernels are loaded when the first entry of a context is registered. The driver is a fake: it
// counts what the probe asks of it, and has a context, a device and its age as a test says.
#include "kernels/cuda/page_fatbin.h"
#include "probes/address_map.h"
#include "probes/coverage.h"
#include "probes/device_work.h"
#include "probes/hitproof.h"
#include "probes/hook_table.h"
#include "probes/intercept.h"
#include "probes/page_kernels.h"
#include "probes/process_state.h"
#include "probes/transfer.h"
#include "schema/journal.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

struct Fake {
  void* current = nullptr;               // context
  std::map<std::uint64_t, void*> memory; // address to context
  int capability = 9;
  hitproof::probes::BackEnd back_end = hitproof::probes::BackEnd::kernels;
  std::uint32_t mode = HITPROOF_MODE_LEDGER | HITPROOF_MODE_DIGESTS;
  int capture_mode = 0;               // global
  int load_code = 0;                  // of the library
  int host_code = 1, device_code = 1; // of allocations
  std::string without;                // a call that this driver has not
  // What was seen.
  int libraries = 0, kernels = 0, launches = 0;
  std::vector<void*> loaded_in; // contexts that were current when a kernel was asked for
  int load_mode = -1;           // capture mode of this thread while loading
  int host_blocks = 0;          // of pinned memory that are not given back
  std::map<hitproof::probes::Counter, std::uint64_t> counted, bytes;
};
Fake fake;

constexpr int failed = 1, no_context = 201;

int stream_context(void*, void** c) { return (*c = fake.current) ? 0 : no_context; }
int current_context(void** c) { return *c = fake.current, 0; }
std::vector<void*> pushed;
int push_context(void* c) { return pushed.push_back(fake.current), fake.current = c, 0; }
int pop_context(void** c) {
  *c = fake.current;
  fake.current = pushed.back();
  pushed.pop_back();
  return 0;
}
int context_device(int* d) { return *d = 0, fake.current ? 0 : no_context; }
int device_attribute(int* value, int which, int) {
  *value = which == 75 ? fake.capability : which == 76 ? 0 : 100;
  return 0;
}
int capture_status(void*, int* status) { return *status = 0, 0; }
int exchange_capture_mode(int* mode) { return std::swap(*mode, fake.capture_mode), 0; }
int library_load(void** library, const void*, void*, void**, unsigned, void*, void**, unsigned) {
  fake.load_mode = fake.capture_mode;
  if (fake.load_code != 0) return fake.load_code;
  return *library = &fake, ++fake.libraries, 0;
}
int library_kernel(void** kernel, void*, const char*) {
  fake.loaded_in.push_back(fake.current);
  return *kernel = &fake, ++fake.kernels, 0;
}
int kernel_function(void** function, void*) { return *function = &fake, 0; }
int allocate(std::uint64_t*, std::size_t) { return fake.device_code; }
int allocate_host(void** memory, std::size_t bytes, unsigned) {
  if (fake.host_code == 0) *memory = std::malloc(bytes), ++fake.host_blocks;
  return fake.host_code;
}
int free_host(void* memory) { return std::free(memory), --fake.host_blocks, 0; }
int free_device(std::uint64_t) { return failed; }
int move(void*, void*, std::size_t, void*) { return failed; }
int launch(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
           void**, void**) {
  return ++fake.launches, failed;
}
int pointer_attribute(void* value, int which, std::uint64_t address) {
  constexpr int context = 1;
  const auto at = fake.memory.find(address);
  if (which != context || at == fake.memory.end()) return failed;
  std::memcpy(value, &at->second, sizeof at->second);
  return 0;
}

} // namespace

// The rest of the probe, as far as these parts ask for it.
namespace hitproof::probes {

std::atomic<Activity> activity{Activity::recording};
thread_local constinit ThreadState thread_state;
void start_recording() noexcept {}
const Settings& settings() noexcept {
  static Settings s;
  s.mode = fake.mode;
  return s;
}
void write_process_record(const Role&) noexcept {}
void remember_entry(std::uint16_t, std::uint16_t, std::uint64_t) noexcept {}
void flush_coverage() noexcept {}
void count(Counter counter, std::uint64_t calls, std::uint64_t bytes) noexcept {
  fake.counted[counter] += calls;
  fake.bytes[counter] += bytes;
}
void count_dropped(Counter, std::uint64_t) noexcept {}
MappedRange range_of(std::uint64_t) noexcept { return {}; }
BackEnd back_end() noexcept { return fake.back_end; }

void* find_driver_symbol(const char* symbol) noexcept {
  static const std::map<std::string, void*> calls = {
      {"cuStreamGetCtx", reinterpret_cast<void*>(stream_context)},
      {"cuCtxGetCurrent", reinterpret_cast<void*>(current_context)},
      {"cuCtxPushCurrent_v2", reinterpret_cast<void*>(push_context)},
      {"cuCtxPopCurrent_v2", reinterpret_cast<void*>(pop_context)},
      {"cuCtxGetDevice", reinterpret_cast<void*>(context_device)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(device_attribute)},
      {"cuStreamIsCapturing", reinterpret_cast<void*>(capture_status)},
      {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(exchange_capture_mode)},
      {"cuLibraryLoadData", reinterpret_cast<void*>(library_load)},
      {"cuLibraryGetKernel", reinterpret_cast<void*>(library_kernel)},
      {"cuKernelGetFunction", reinterpret_cast<void*>(kernel_function)},
      {"cuMemAlloc_v2", reinterpret_cast<void*>(allocate)},
      {"cuMemFree_v2", reinterpret_cast<void*>(free_device)},
      {"cuMemHostAlloc", reinterpret_cast<void*>(allocate_host)},
      {"cuMemFreeHost", reinterpret_cast<void*>(free_host)},
      {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void*>(move)},
      {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void*>(move)},
      {"cuLaunchKernel", reinterpret_cast<void*>(launch)},
      {"cuPointerGetAttribute", reinterpret_cast<void*>(pointer_attribute)}};
  const auto at = calls.find(symbol);
  return at == calls.end() || fake.without == symbol ? nullptr : at->second;
}

} // namespace hitproof::probes

namespace hitproof::kernels {
std::span<const unsigned char> page_fatbin() noexcept {
  static constexpr unsigned char image[] = {1};
  return image;
}
} // namespace hitproof::kernels

namespace hitproof::probes {
namespace {

constexpr int kernel_count = static_cast<int>(PageKernel::count);

class PagePreparation : public testing::Test {
 protected:
  void SetUp() override {
    fake = Fake{};
    forget_page_kernels_after_fork();
  }
  static void register_entry(std::uint64_t base = 0x1000) {
    hitproof_entry_t e{};
    e.base = reinterpret_cast<void*>(base);
    hitproof_entry(&e);
  }
  // How often `words` stand in what `work` records.
  template <class Work> static int recorded(const std::string& words, const Work& work) {
    std::string folder =
        (std::filesystem::temp_directory_path() / "hitproof-kernels-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return -1;
    schema::JournalWriter::use_directory(folder.c_str());
    work();
    schema::JournalWriter::use_directory(nullptr);
    std::string all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(in), {});
    }
    std::filesystem::remove_all(folder);
    int times = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1))
      ++times;
    return times;
  }
  static constexpr int first = 1, second = 2;
  void* const one = const_cast<int*>(&first);
  void* const two = const_cast<int*>(&second);
};

TEST_F(PagePreparation, TheFirstEntryLoadsWhatTheFirstTransferWouldHaveLoaded) {
  fake.current = one;
  register_entry();
  EXPECT_EQ(fake.libraries, 1);
  EXPECT_EQ(fake.kernels, kernel_count);
  const PageKernels* const loaded = page_kernels(one);
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(fake.kernels, kernel_count) << "the transfer loads nothing";
  register_entry();
  EXPECT_EQ(fake.libraries, 1);
  EXPECT_EQ(fake.kernels, kernel_count);
  EXPECT_EQ(fake.launches, 0);
}

TEST_F(PagePreparation, MemoryOfAnotherContextHasItsOwn) {
  fake.current = one;
  fake.memory = {{0x2000, two}};
  register_entry(0x2000);
  EXPECT_EQ(fake.loaded_in, std::vector<void*>(kernel_count, two));
  EXPECT_EQ(fake.current, one) << "the program's context is current again";
  register_entry(0x1000);
  EXPECT_EQ(fake.kernels, 2 * kernel_count);
  EXPECT_EQ(fake.libraries, 1);
}

TEST_F(PagePreparation, WithoutAContextNothingIsAskedForAndATransferStillLoads) {
  register_entry();
  EXPECT_EQ(fake.libraries, 0);
  EXPECT_EQ(fake.kernels, 0);
  fake.current = one;
  EXPECT_NE(page_kernels(one), nullptr) << "nothing was refused for good";
}

TEST_F(PagePreparation, NothingIsLoadedWhereNoKernelWillRun) {
  fake.current = one;
  for (const BackEnd other : {BackEnd::closures, BackEnd::unknown}) {
    fake.back_end = other;
    register_entry();
  }
  fake.back_end = BackEnd::kernels;
  fake.mode = HITPROOF_MODE_LEDGER;
  register_entry();
  EXPECT_EQ(fake.libraries, 0);
}

TEST_F(PagePreparation, ACaptureElsewhereInTheProgramIsNotDisturbed) {
  constexpr int relaxed = 2;
  fake.current = one;
  register_entry();
  EXPECT_EQ(fake.load_mode, relaxed);
  EXPECT_EQ(fake.capture_mode, 0) << "the thread has its mode again";
}

// What the recording says of it: rule evidence makes the verdict inconclusive by the page work that
// is then left out, and says what to do.
TEST_F(PagePreparation, ADeviceThatIsTooOldIsNamedOnceAndTheProgramGoesOn) {
  fake.current = one;
  const auto register_twice = [this] {
    register_entry();
    register_entry();
    EXPECT_EQ(page_kernels(one) != nullptr, fake.capability == 9);
  };
  EXPECT_EQ(recorded("kernels for sm_90", register_twice), 1);
  forget_page_kernels_after_fork();
  fake.capability = 7;
  EXPECT_EQ(recorded("device older than sm_80", register_twice), 1);
  EXPECT_EQ(fake.libraries, 1) << "none for the old device";
}

TEST_F(PagePreparation, KernelsThatAnOlderDriverRefusesAreNamedOnceWithItsError) {
  fake.current = one;
  fake.load_code = 222;
  EXPECT_EQ(recorded("kernels did not load (222)",
                     [this] {
                       register_entry();
                       register_entry();
                       EXPECT_EQ(page_kernels(one), nullptr);
                     }),
            1);
  EXPECT_EQ(fake.kernels, 0);
}

// In a process of its own: what was found of the driver is found once.
TEST_F(PagePreparation, ADriverThatLacksACallIsNamedOnceWithTheCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto names_it = [this] {
    fake.current = one;
    fake.without = "cuLibraryLoadData";
    return recorded("the driver has no cuLibraryLoadData",
                    [this] {
                      register_entry();
                      register_entry();
                      page_kernels(one);
                    }) == 1 &&
           page_kernels(one) == nullptr && fake.libraries == 0;
  };
  EXPECT_EXIT(std::_Exit(names_it() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// Before a program has loaded a driver there is nothing to complain about.
TEST_F(PagePreparation, WithoutADriverNothingIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto waits = [this] {
    fake.without = "cuCtxGetCurrent";
    const int said = recorded("the driver has no", [this] { page_kernels(one); });
    fake.without.clear();
    fake.current = one;
    return said == 0 && page_kernels(one) != nullptr;
  };
  EXPECT_EXIT(std::_Exit(waits() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(PagePreparation, MemoryThatIsRefusedIsCountedAndNotedWithItsSize) {
  fake.current = one;
  const PageKernels* const loaded = page_kernels(one);
  ASSERT_NE(loaded, nullptr);
  constexpr int out_of_memory = 2;
  constexpr std::size_t tables = 65536, scratch = 131072;
  const auto take_twice = [&] {
    EXPECT_EQ(take_batch(*loaded, nullptr, tables, scratch), nullptr);
    EXPECT_EQ(take_batch(*loaded, nullptr, tables, scratch), nullptr);
  };
  fake.host_code = out_of_memory;
  EXPECT_EQ(recorded("pinned host memory: 65536 bytes asked for, refused (2)", take_twice), 1);
  EXPECT_EQ(fake.counted[Counter::memory_short], 2u);
  EXPECT_EQ(fake.bytes[Counter::memory_short], 2 * tables);

  forget_page_kernels_after_fork();
  fake.counted.clear();
  fake.host_code = 0;
  fake.device_code = out_of_memory;
  EXPECT_EQ(recorded("device memory: 196608 bytes asked for, refused (2)", take_twice), 1);
  EXPECT_EQ(fake.counted[Counter::memory_short], 2u);
  EXPECT_EQ(fake.counted[Counter::not_addressable], 0u) << "the kernels are there";
  EXPECT_EQ(fake.host_blocks, 0) << "what was taken before is given back";

  fake.device_code = 0;
  EXPECT_NE(take_batch(*loaded, nullptr, tables, scratch), nullptr) << "refused once, not for good";
  EXPECT_EQ(fake.counted[Counter::memory_short], 2u);
}

} // namespace
} // namespace hitproof::probes
