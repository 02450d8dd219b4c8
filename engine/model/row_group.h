// How the rows of a step are shared among the ranks.
//
// Per-row work that every rank would do alike (mHC, router, indexer) is split by rows and gathered,
// except where the rows are so few that one sum over ranks costs less than gathering: then every
// rank does all rows. Either way a row's bits are the same: sums over ranks are made in rank order.
#pragma once

#include "engine/runtime/collectives.h"

#include <cstdint>

namespace hitproof::engine {

class RowGroup {
 public:
  RowGroup(Collectives& collectives, int rows) : collectives_(collectives), rows_(rows) {
    replicated_ = collectives.size() == 1 || rows <= replicated_rows;
    if (replicated_) {
      count_ = rows;
    } else {
      const auto [begin, end] =
          Collectives::row_range(rows, collectives.rank(), collectives.size());
      first_ = begin;
      count_ = end - begin;
    }
  }

  static constexpr int replicated_rows = 8;

  int rows() const { return rows_; }
  int first() const { return first_; }
  int count() const { return count_; }
  int end() const { return first_ + count_; }
  bool replicated() const { return replicated_; }
  /// Place of a row among the own ones; -1: another rank has it.
  int32_t place(int row) const { return row < first_ || row >= end() ? -1 : row - first_; }

  /// All rows from the own ones. `all` is room for [rows][cols]; where rows are replicated `own` is
  /// returned. All pointers are memory of the ranks' side.
  const float* gather(const float* own, int cols, float* all) const {
    if (replicated_) return own;
    collectives_.all_gather_rows(own, rows_, cols, all);
    return all;
  }

  /// Own rows of the sum over ranks of partial [rows][cols], which is overwritten.
  const float* reduce(float* partial, int cols) const {
    if (collectives_.size() == 1) return partial;
    if (replicated_) {
      collectives_.all_reduce(partial, rows_ * cols);
      return partial;
    }
    float* own = partial + static_cast<ptrdiff_t>(first_) * cols;
    collectives_.reduce_scatter_rows(partial, rows_, cols, own);
    return own;
  }

 private:
  Collectives& collectives_;
  int rows_ = 0;
  int first_ = 0;
  int count_ = 0;
  bool replicated_ = false;
};

} // namespace hitproof::engine
