// Stream memory operations: a stream writes a word, or sleeps until a word has a value. The word
// may lie in memory that another process or a CPU thread writes, so a sleeping stream looks again
// by itself, and at once when a stream of this process has written something.
#include "engine/sim/driver/api.h"
#include "engine/sim/driver/futex.h"
#include "engine/sim/driver/graph.h"
#include "engine/sim/driver/memory.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace hitproof::sim;

namespace {

struct MemoryOp {
  enum class Kind { wait, write, nothing } kind;
  bool wide;
  uintptr_t address;
  uint64_t value;
  unsigned flags;
};

std::atomic<uint32_t> written_word{0};
constexpr int64_t first_nap_ns = 50'000;
constexpr int64_t longest_nap_ns = 1'000'000;

uint64_t load(const MemoryOp& op) {
  if (op.wide) return __atomic_load_n(reinterpret_cast<uint64_t*>(op.address), __ATOMIC_ACQUIRE);
  return __atomic_load_n(reinterpret_cast<uint32_t*>(op.address), __ATOMIC_ACQUIRE);
}

bool satisfied(const MemoryOp& op) {
  const uint64_t now = load(op);
  switch (op.flags & 3u) {
  // Cyclic comparison, as documented: a counter may wrap.
  case CU_STREAM_WAIT_VALUE_GEQ:
    return op.wide ? static_cast<int64_t>(now - op.value) >= 0
                   : static_cast<int32_t>(static_cast<uint32_t>(now) -
                                          static_cast<uint32_t>(op.value)) >= 0;
  case CU_STREAM_WAIT_VALUE_EQ:
    return now == op.value;
  case CU_STREAM_WAIT_VALUE_AND:
    return (now & op.value) != 0;
  default: {
    const uint64_t all = op.wide ? ~uint64_t{0} : 0xffffffffu;
    return (~(now | op.value) & all) != 0;
  }
  }
}

void perform(const MemoryOp& op) {
  if (op.kind == MemoryOp::Kind::nothing) return;
  if (op.kind == MemoryOp::Kind::write) {
    if (op.wide)
      __atomic_store_n(reinterpret_cast<uint64_t*>(op.address), op.value, __ATOMIC_RELEASE);
    else
      __atomic_store_n(reinterpret_cast<uint32_t*>(op.address), static_cast<uint32_t>(op.value),
                       __ATOMIC_RELEASE);
    written_word.fetch_add(1);
    futex_wake_all(written_word, FutexScope::process);
    return;
  }
  int64_t nap = first_nap_ns;
  for (;;) {
    const uint32_t seen = written_word.load();
    if (satisfied(op)) return;
    futex_wait(written_word, seen, FutexScope::process, nap);
    nap = std::min(nap * 2, longest_nap_ns);
  }
}

CUresult check(const MemoryOp& op) {
  if (op.kind == MemoryOp::Kind::nothing) return CUDA_SUCCESS;
  const size_t bytes = op.wide ? 8 : 4;
  const unsigned known = op.kind == MemoryOp::Kind::wait
                             ? 3u | CU_STREAM_WAIT_VALUE_FLUSH
                             : unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER};
  if (op.address % bytes != 0 || (op.flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
  auto range = find_range(op.address);
  return range && range->covers(op.address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult submit(CUstream handle, std::vector<MemoryOp> ops, DefaultStream form) {
  auto stream = find_stream(handle, form);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& op : ops)
    if (CUresult error = check(op)) return error;
  if (CUresult refused = refuse_while_capturing(*stream)) return refused;
  stream->enqueue([ops = std::move(ops)] {
    for (const auto& op : ops)
      perform(op);
  });
  return CUDA_SUCCESS;
}

CUresult one(CUstream stream, MemoryOp op, DefaultStream form) {
  return work_call([&] { return submit(stream, {op}, form); });
}

bool unfold(const CUstreamBatchMemOpParams& params, MemoryOp& op) {
  using Kind = MemoryOp::Kind;
  const auto& with_value = params.waitValue;
  const auto low = static_cast<uint32_t>(with_value.value64);
  switch (params.operation) {
  case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    op = {Kind::wait, false, with_value.address, low, with_value.flags};
    return true;
  case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    op = {Kind::write, false, with_value.address, low, with_value.flags};
    return true;
  case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    op = {Kind::wait, true, with_value.address, with_value.value64, with_value.flags};
    return true;
  case CU_STREAM_MEM_OP_WRITE_VALUE_64:
    op = {Kind::write, true, with_value.address, with_value.value64, with_value.flags};
    return true;
  case CU_STREAM_MEM_OP_BARRIER:
  case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: // every operation here is ordered and visible anyway
    op = {Kind::nothing, false, 0, 0, 0};
    return true;
  }
  return false;
}

} // namespace

HITPROOF_SIM_CALL(cuStreamWriteValue32_v2, _ptsz,
                  (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
                  (stream, addr, value, flags)) {
  return one(stream, {MemoryOp::Kind::write, false, addr, value, flags}, form);
}

HITPROOF_SIM_CALL(cuStreamWriteValue64_v2, _ptsz,
                  (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
                  (stream, addr, value, flags)) {
  return one(stream, {MemoryOp::Kind::write, true, addr, value, flags}, form);
}

HITPROOF_SIM_CALL(cuStreamWaitValue32_v2, _ptsz,
                  (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
                  (stream, addr, value, flags)) {
  return one(stream, {MemoryOp::Kind::wait, false, addr, value, flags}, form);
}

HITPROOF_SIM_CALL(cuStreamWaitValue64_v2, _ptsz,
                  (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
                  (stream, addr, value, flags)) {
  return one(stream, {MemoryOp::Kind::wait, true, addr, value, flags}, form);
}

HITPROOF_SIM_CALL(cuStreamBatchMemOp_v2, _ptsz,
                  (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* operations,
                   unsigned int flags),
                  (stream, count, operations, flags)) {
  return work_call([&] {
    constexpr unsigned most = 256; // the real driver's limit
    if (!operations || count == 0 || count > most || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::vector<MemoryOp> ops(count);
    for (unsigned i = 0; i < count; ++i)
      if (!unfold(operations[i], ops[i])) return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, std::move(ops), form);
  });
}
