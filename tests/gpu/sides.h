// What the tests of the CUDA kernels share: memory on both sides of the kernel table, comparison
// bit for bit, and one table of the largest errors at the end.
#pragma once

#include "kernels/model/table.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hitproof::kernels::testing {

const ModelKernels& cuda_table();

/// Memory of one side, released with it. Nothing is on another stream than the default one.
class Side {
 public:
  explicit Side(const ModelKernels& table) : k(table) {}
  ~Side();
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  const ModelKernels& k;

  template <class T> T* put(const std::vector<T>& values) {
    T* memory = static_cast<T*>(bytes(values.size() * sizeof(T)));
    k.to_device(nullptr, memory, values.data(), values.size() * sizeof(T));
    finish();
    return memory;
  }
  /// Every byte is 0xff: NaN, or -1.
  template <class T> T* room(size_t n) { return put(std::vector<T>(n, filled<T>())); }
  template <class T> std::vector<T> get(const T* memory, size_t n) {
    std::vector<T> values(n);
    k.to_host(nullptr, values.data(), memory, n * sizeof(T));
    finish();
    return values;
  }

 private:
  template <class T> static T filled();
  void* bytes(size_t n);
  void finish();

  std::vector<void*> memory_;
};

template <> inline float Side::filled<float>() { return __builtin_nanf(""); }
template <> inline int32_t Side::filled<int32_t>() { return -1; }
template <> inline uint8_t Side::filled<uint8_t>() { return 0xff; }
template <> inline uint16_t Side::filled<uint16_t>() { return 0xffff; }

struct Difference {
  size_t values = 0;
  size_t differing = 0;  ///< in any bit
  double relative = 0.0; ///< largest difference over the largest magnitude wanted
};
Difference compare(const std::vector<float>& got, const std::vector<float>& want);
template <class T> Difference compare(const std::vector<T>& got, const std::vector<T>& want) {
  Difference d{want.size(), got.size() == want.size() ? 0u : want.size(), 0.0};
  for (size_t i = 0; d.differing == 0 && i < want.size(); ++i)
    d.differing += got[i] != want[i];
  if (d.differing > 0) d.relative = 1.0;
  return d;
}

/// Notes the difference for the table and fails the test where it is above the bound. 0: equal
/// bits.
void expect(const char* kernel, const std::string& shape, const Difference& d, double bound);
template <class T>
void expect_equal(const char* kernel, const std::string& shape, const std::vector<T>& got,
                  const std::vector<T>& want, double bound = 0.0) {
  expect(kernel, shape, compare(got, want), bound);
}

/// An operation whose rows are independent: run(side, first, count) gives the results of rows
/// [first, first + count) one after the other, the same number a row.
struct RowOperation {
  const char* kernel;
  std::string shape;
  int rows;
  std::function<std::vector<float>(Side&, int, int)> run;
  double bound = 0.0;
};
/// CUDA against the CPU; CUDA again; CUDA in calls of fewer rows.
void check_rows(const RowOperation& operation);

/// Several results of the same rows as one: row by row, one part after the other.
std::vector<float> join_rows(int rows, const std::vector<std::vector<float>>& parts);

/// Integers as floats of the same bits, to be results of a RowOperation.
std::vector<float> as_floats(const std::vector<int32_t>& values);

std::string shape_text(std::initializer_list<std::pair<const char*, int>> numbers);

} // namespace hitproof::kernels::testing
