// What is said where `--device cuda` cannot work. The simulated device answers here.
#include "engine/runtime/device.h"
#include "engine/runtime/kernel_library.h"
#include "tests/runtime/sim_main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hitproof::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Call> std::string complaint(Call call) {
  try {
    call();
  } catch (const EnvironmentError& e) {
    return e.what();
  }
  return "nothing was wrong";
}

TEST(KernelLibrary, AMissingOrForeignLibraryIsNamedWithARemedy) {
  // Absent, or there and in need of a runtime that registers kernels, which the simulated is not.
  EXPECT_THAT(complaint([] { (void)load_cuda_kernels(); }), HasSubstr("libhitproof_model_cuda.so"));
}

TEST(KernelLibrary, AnOrdinalThatIsNotThereIsRefusedWithTheNumberOfGpus) {
  EXPECT_THAT(complaint([] { check_gpu(63, "--gpus"); }),
              AllOf(HasSubstr("--gpus 63"), HasSubstr("this machine shows"), HasSubstr("from 0")));
  EXPECT_THAT(complaint([] { check_gpu(-1, "--gpu"); }), HasSubstr("--gpu -1"));
}

TEST(KernelLibrary, TooLittleMemoryIsNamedWithWhatIsFree) {
  device::select(0);
  const device::Room room = device::room();
  ASSERT_GT(room.total, 0u);
  EXPECT_EQ(complaint([] { check_room(1, "the pages"); }), "nothing was wrong");
  EXPECT_THAT(complaint([&] { check_room(room.total + (size_t{1} << 30), "the pages"); }),
              AllOf(HasSubstr("the pages need"), HasSubstr(std::to_string(room.total >> 20)),
                    HasSubstr("MiB are free"), HasSubstr("--blocks")));
}

} // namespace
} // namespace hitproof::engine

int main(int argc, char** argv) { return hitproof::engine::run_tests_on_sim(argc, argv); }
