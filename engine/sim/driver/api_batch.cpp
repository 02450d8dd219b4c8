// Both versions of the batch copy. The batch keeps its place in the stream as a whole; its entries
// have no order among themselves, and each source is read when its attributes say so.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/copy.h"
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/settings.h"

#include <cstring>
#include <limits>
#include <memory>
#include <vector>

using namespace hitproof::sim;

namespace {

constexpr size_t no_entry = std::numeric_limits<size_t>::max();

struct BatchCall {
  const CUdeviceptr* dsts;
  const CUdeviceptr* srcs;
  const size_t* sizes;
  size_t count;
  const CUmemcpyAttributes* attributes;
  const size_t* indices;
  size_t attribute_count;
};

struct Batch {
  std::vector<CopyOp> entries;
  std::vector<uint32_t> order;
  std::vector<std::unique_ptr<char[]>> staged; // sources that were read during the call
};

CUresult check_attributes(const BatchCall& call) {
  if (!call.attributes || !call.indices || call.attribute_count == 0 ||
      call.attribute_count > call.count || call.indices[0] != 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t a = 0; a < call.attribute_count; ++a) {
    if (call.indices[a] >= call.count) return CUDA_ERROR_INVALID_VALUE;
    if (a > 0 && call.indices[a] <= call.indices[a - 1]) return CUDA_ERROR_INVALID_VALUE;
    const CUmemcpySrcAccessOrder order = call.attributes[a].srcAccessOrder;
    if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
      return CUDA_ERROR_INVALID_VALUE;
    if (call.attributes[a].flags > CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Is this source read now? DURING_API_CALL must be; ANY may be, so a seed decides; an ordinary
// small source is staged by the real driver as well.
bool read_now(CUmemcpySrcAccessOrder order) {
  switch (order) {
  case CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL:
    return true;
  case CU_MEMCPY_SRC_ACCESS_ORDER_ANY:
    return draw() % 2 == 1;
  default:
    return false;
  }
}

CUresult build(const BatchCall& call, Batch& batch, bool& pageable, size_t& failed) {
  batch.entries.reserve(call.count);
  size_t attribute = 0;
  pageable = false;
  for (size_t i = 0; i < call.count; ++i) {
    while (attribute + 1 < call.attribute_count && call.indices[attribute + 1] <= i)
      ++attribute;
    CopyOp op = CopyOp::flat(call.dsts[i], call.srcs[i], call.sizes[i]);
    const CopyCheck checked = check(op, Side::any, Side::any);
    if (checked.result != CUDA_SUCCESS || op.empty()) {
      failed = i;
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUmemcpySrcAccessOrder order = call.attributes[attribute].srcAccessOrder;
    if (read_now(order)) {
      auto copy = std::make_unique_for_overwrite<char[]>(op.width);
      std::memcpy(copy.get(), op.src, op.width);
      op.src = copy.get();
      batch.staged.push_back(std::move(copy));
    } else if (checked.pageable_src && order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM) {
      pageable = true;
    }
    pageable = pageable || checked.pageable_dst;
    batch.entries.push_back(op);
  }
  batch.order.resize(call.count);
  shuffle(batch.order.data(), call.count);
  // A broken batch forgets the entry that would have come last.
  if (call.count > 1 && broken(Break::lost_entry)) batch.order.pop_back();
  return CUDA_SUCCESS;
}

CUresult batch_copy(const BatchCall& call, size_t* fail_index, CUstream handle,
                    DefaultStream form) {
  return work_call([&] {
    size_t failed = no_entry;
    const CUresult result = [&] {
      if (!call.dsts || !call.srcs || !call.sizes || call.count == 0)
        return CUDA_ERROR_INVALID_VALUE;
      auto stream = find_stream(handle, form);
      if (!stream) return CUDA_ERROR_INVALID_HANDLE;
      if (stream->kind == Stream::Kind::legacy) return CUDA_ERROR_INVALID_VALUE;
      if (CUresult refused = refuse_while_capturing(*stream)) return refused;
      if (CUresult error = check_attributes(call)) return error;
      Batch batch;
      bool pageable = false;
      if (CUresult error = build(call, batch, pageable, failed)) return error;
      Task task = [work = std::move(batch)] {
        for (const uint32_t i : work.order)
          perform(work.entries[i]);
      };
      // As in single copies: ordinary host memory in stream order makes the call wait.
      if (pageable) return stream->run(std::move(task));
      stream->enqueue(std::move(task));
      return CUDA_SUCCESS;
    }();
    if (fail_index && result != CUDA_SUCCESS) *fail_index = failed;
    return result;
  });
}

} // namespace

HITPROOF_SIM_CALL(cuMemcpyBatchAsync, _ptsz,
                  (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                   CUmemcpyAttributes* attributes, size_t* attribute_indices,
                   size_t attribute_count, size_t* fail_index, CUstream stream),
                  (dsts, srcs, sizes, count, attributes, attribute_indices, attribute_count,
                   fail_index, stream)) {
  return batch_copy({dsts, srcs, sizes, count, attributes, attribute_indices, attribute_count},
                    fail_index, stream, form);
}

HITPROOF_SIM_CALL(cuMemcpyBatchAsync_v2, _ptsz,
                  (CUdeviceptr * dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                   CUmemcpyAttributes* attributes, size_t* attribute_indices,
                   size_t attribute_count, CUstream stream),
                  (dsts, srcs, sizes, count, attributes, attribute_indices, attribute_count,
                   stream)) {
  return batch_copy({dsts, srcs, sizes, count, attributes, attribute_indices, attribute_count},
                    nullptr, stream, form);
}
