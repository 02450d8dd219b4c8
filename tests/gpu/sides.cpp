#include "tests/gpu/sides.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <map>

extern "C" const hitproof::kernels::ModelKernels* hitproof_model_kernels_cuda();

namespace hitproof::kernels::testing {
namespace {

struct Line {
  int cases = 0;
  Difference total;
};
std::map<std::string, Line>& lines() {
  static std::map<std::string, Line> all;
  return all;
}

std::vector<float> slice(const std::vector<float>& all, int rows, int first, int count) {
  const auto width = static_cast<ptrdiff_t>(all.size()) / rows;
  return {all.begin() + first * width, all.begin() + (first + count) * width};
}

class Report : public ::testing::Environment {
 public:
  void TearDown() override {
    std::printf("%-24s %6s %10s %10s %12s\n", "kernel", "cases", "values", "differing",
                "max rel err");
    for (const auto& [kernel, line] : lines()) {
      std::printf("%-24s %6d %10zu %10zu %12.3g\n", kernel.c_str(), line.cases, line.total.values,
                  line.total.differing, line.total.relative);
    }
  }
};

} // namespace

const ModelKernels& cuda_table() { return *hitproof_model_kernels_cuda(); }

Side::~Side() {
  for (void* m : memory_)
    k.release(m);
}

void* Side::bytes(size_t n) {
  void* memory = k.allocate(std::max<size_t>(n, 1));
  if (memory == nullptr) throw std::bad_alloc();
  memory_.push_back(memory);
  return memory;
}

void Side::finish() {
  const char* problem = k.synchronize(nullptr);
  if (problem != nullptr) throw std::runtime_error(problem);
}

Difference compare(const std::vector<float>& got, const std::vector<float>& want) {
  Difference d{want.size(), 0, 0.0};
  if (got.size() != want.size()) return {want.size(), want.size(), HUGE_VAL};
  double top = 1e-30;
  for (const float w : want)
    if (std::isfinite(w)) top = std::max(top, std::fabs(static_cast<double>(w)));
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(float)) == 0) continue;
    ++d.differing;
    const double apart = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    d.relative = std::max(d.relative, std::isfinite(apart) ? apart / top : HUGE_VAL);
  }
  return d;
}

void expect(const char* kernel, const std::string& shape, const Difference& d, double bound) {
  Line& line = lines()[kernel];
  ++line.cases;
  line.total.values += d.values;
  line.total.differing += d.differing;
  line.total.relative = std::max(line.total.relative, d.relative);
  EXPECT_GT(d.values, 0U) << kernel << " compared nothing: " << shape;
  if (bound == 0.0) {
    EXPECT_EQ(d.differing, 0U) << kernel << " " << shape << ": of " << d.values
                               << " values, relative error " << d.relative;
  } else {
    EXPECT_LE(d.relative, bound) << kernel << " " << shape;
  }
}

void check_rows(const RowOperation& op) {
  Side host(cpu_model_kernels()), device(cuda_table());
  const std::vector<float> want = op.run(host, 0, op.rows);
  const std::vector<float> got = op.run(device, 0, op.rows);
  expect(op.kernel, op.shape, compare(got, want), op.bound);
  EXPECT_EQ(compare(op.run(device, 0, op.rows), got).differing, 0U)
      << op.kernel << " " << op.shape << ": two runs differ";
  for (const auto& [first, count] :
       {std::pair{0, 1}, {op.rows / 2, 1}, {op.rows - 1, 1}, {op.rows / 3, 2}, {1, 7}, {2, 23}}) {
    if (first + count > op.rows) continue;
    EXPECT_EQ(compare(op.run(device, first, count), slice(got, op.rows, first, count)).differing,
              0U)
        << op.kernel << " " << op.shape << ": rows " << first << "+" << count
        << " depend on their neighbours";
  }
}

std::vector<float> join_rows(int rows, const std::vector<std::vector<float>>& parts) {
  std::vector<float> all;
  for (int r = 0; r < rows; ++r) {
    for (const std::vector<float>& part : parts) {
      const std::vector<float> row = slice(part, rows, r, 1);
      all.insert(all.end(), row.begin(), row.end());
    }
  }
  return all;
}

std::vector<float> as_floats(const std::vector<int32_t>& values) {
  std::vector<float> floats(values.size());
  std::memcpy(floats.data(), values.data(), values.size() * sizeof(float));
  return floats;
}

std::string shape_text(std::initializer_list<std::pair<const char*, int>> numbers) {
  std::string text;
  for (const auto& [name, number] : numbers)
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(number);
  return text;
}

} // namespace hitproof::kernels::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: the kernels were not run");
    return 77;
  }
  ::testing::AddGlobalTestEnvironment(new hitproof::kernels::testing::Report);
  return RUN_ALL_TESTS();
}
