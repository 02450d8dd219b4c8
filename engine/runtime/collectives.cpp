#include "engine/runtime/collectives.h"

#include <cstring>

namespace hitproof::engine {
namespace {

class SingleRank final : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_gather_rows(const float* own, int rows, int cols, float* all) override {
    copy(own, static_cast<size_t>(rows) * static_cast<size_t>(cols) * sizeof(float), all);
  }
  void reduce_scatter_rows(const float* partial, int rows, int cols, float* own) override {
    copy(partial, static_cast<size_t>(rows) * static_cast<size_t>(cols) * sizeof(float), own);
  }
  void all_reduce(float*, int) override {}
  void all_gather(const void* mine, size_t bytes_each, void* all) override {
    copy(mine, bytes_each, all);
  }
  void barrier() override {}

 private:
  static void copy(const void* from, size_t bytes, void* to) {
    if (from != to && bytes != 0) std::memmove(to, from, bytes);
  }
};

} // namespace

std::pair<int, int> Collectives::row_range(int rows, int rank, int size) {
  const int base = rows / size;
  const int extra = rows % size; // the first ranks get one row more
  const int first = rank * base + (rank < extra ? rank : extra);
  return {first, first + base + (rank < extra ? 1 : 0)};
}

std::unique_ptr<Collectives> single_rank_collectives() { return std::make_unique<SingleRank>(); }

} // namespace hitproof::engine
