// From a call to a stream: copies and fills, captured, staged or enqueued.
#include "engine/sim/driver/copy.h"
#include "engine/sim/driver/graph.h"

#include <cstring>
#include <utility>
#include <vector>

namespace hitproof::sim {
namespace {

// Up to here the real driver stages an ordinary source and returns; beyond it waits.
constexpr size_t staging_bytes = 64 << 10;

CUresult capture_copy(Stream& stream, const CopyOp& op) {
  return capture_node(stream, CU_GRAPH_NODE_TYPE_MEMCPY, op);
}

} // namespace

CUresult copy_async(const CopyOp& op, Side dst, Side src, CUstream handle, DefaultStream form) {
  auto stream = find_stream(handle, form);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const CopyCheck checked = check(op, dst, src);
  if (checked.result != CUDA_SUCCESS) return checked.result;
  const Admission admission = admit(*stream);
  if (admission.result != CUDA_SUCCESS) return admission.result;
  if (admission.capture) return op.empty() ? CUDA_SUCCESS : capture_copy(*stream, op);
  if (op.empty()) return CUDA_SUCCESS;

  const bool flat = op.height == 1 && op.depth == 1;
  if (checked.pageable_src && !checked.pageable_dst && flat && op.width <= staging_bytes) {
    std::vector<char> staged(op.src, op.src + op.width);
    stream->enqueue([dst = op.dst, staged = std::move(staged)] {
      perform(CopyOp{dst, staged.data(), staged.size()});
    });
    return CUDA_SUCCESS;
  }
  if (checked.pageable_src || checked.pageable_dst) return stream->run([op] { perform(op); });
  stream->enqueue([op] { perform(op); });
  return CUDA_SUCCESS;
}

CUresult copy_now(const CopyOp& op, Side dst, Side src, DefaultStream form) {
  auto stream = find_stream(nullptr, form);
  const CopyCheck checked = check(op, dst, src);
  if (checked.result != CUDA_SUCCESS) return checked.result;
  if (CUresult refused = refuse_while_capturing(*stream)) return refused;
  if (op.empty()) return CUDA_SUCCESS;
  return stream->run([op] { perform(op); });
}

CUresult fill_async(const FillOp& op, CUstream handle, DefaultStream form) {
  auto stream = find_stream(handle, form);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult result = check(op)) return result;
  const Admission admission = admit(*stream);
  if (admission.result != CUDA_SUCCESS) return admission.result;
  if (op.width == 0 || op.height == 0) return CUDA_SUCCESS;
  if (admission.capture) return capture_node(*stream, CU_GRAPH_NODE_TYPE_MEMSET, op);
  stream->enqueue([op] { perform(op); });
  return CUDA_SUCCESS;
}

// A real device may return before the fill is done; returning after it is within the same promise.
CUresult fill_now(const FillOp& op, DefaultStream form) {
  auto stream = find_stream(nullptr, form);
  if (CUresult result = check(op)) return result;
  if (CUresult refused = refuse_while_capturing(*stream)) return refused;
  if (op.width == 0 || op.height == 0) return CUDA_SUCCESS;
  return stream->run([op] { perform(op); });
}

} // namespace hitproof::sim
