#include "tests/probes/subject.h"

namespace subject {
namespace {

constexpr auto legacy = nullptr;
void* const per_thread = reinterpret_cast<void*>(std::uintptr_t{2});

int runtime_linked(int, char**) {
  Memory m;
  SUBJECT_OK(cudaMemcpyAsync(m.device, m.pinned, 1000, cudaMemcpyHostToDevice, m.stream));
  says({"cudaMemcpyAsync", 0, h2d, 1000, m.pinned, m.device, m.stream});
  // The kind is wrong or says nothing: direction must come from the addresses.
  SUBJECT_OK(cudaMemcpyAsync(m.pinned + 4096, m.device, 1000, cudaMemcpyDefault, m.stream));
  says({"cudaMemcpyAsync", 0, d2h, 1000, m.device, m.pinned + 4096, m.stream});
  SUBJECT_OK(cudaMemcpyAsync(m.device2, m.device, 512, cudaMemcpyDeviceToDevice, m.stream));
  says({"cudaMemcpyAsync", 0, d2d, 512, m.device, m.device2, m.stream});
  SUBJECT_OK(cudaMemcpyAsync(m.device, m.pageable, 64, cudaMemcpyHostToDevice, m.stream));
  says({"cudaMemcpyAsync", 0, h2d, 64, m.pageable, m.device, m.stream});
  SUBJECT_OK(cudaMemcpy(m.device, m.pinned, 77, cudaMemcpyHostToDevice));
  says({"cudaMemcpy", 0, h2d, 77, m.pinned, m.device, legacy});
  SUBJECT_OK(cudaMemcpy_ptds(m.device, m.pinned, 78, cudaMemcpyHostToDevice));
  says({"cudaMemcpy_ptds", 0, h2d, 78, m.pinned, m.device, per_thread});
  SUBJECT_OK(cudaMemcpyAsync_ptsz(m.device, m.pinned, 79, cudaMemcpyHostToDevice, nullptr));
  says({"cudaMemcpyAsync_ptsz", 0, h2d, 79, m.pinned, m.device, per_thread});
  SUBJECT_OK(cudaMemcpyAsync_ptsz(m.device, m.pinned, 80, cudaMemcpyHostToDevice, m.stream));
  says({"cudaMemcpyAsync_ptsz", 0, h2d, 80, m.pinned, m.device, m.stream});
  SUBJECT_OK(
      cudaMemcpy2DAsync(m.device, 256, m.pinned, 128, 100, 4, cudaMemcpyHostToDevice, m.stream));
  says({"cudaMemcpy2DAsync", 0, h2d, 400, m.pinned, m.device, m.stream});
  SUBJECT_OK(cudaMemcpy2D(m.pinned, 128, m.device, 256, 100, 2, cudaMemcpyDeviceToHost));
  says({"cudaMemcpy2D", 0, d2h, 200, m.device, m.pinned, legacy});
  SUBJECT_OK(cudaMemcpyPeerAsync(m.device2, 0, m.device, 0, 32, m.stream));
  says({"cudaMemcpyPeerAsync", 0, d2d, 32, m.device, m.device2, m.stream});
  SUBJECT_OK(cudaMemcpyPeer(m.device2, 0, m.device, 0, 33));
  says({"cudaMemcpyPeer", 0, d2d, 33, m.device, m.device2, legacy});
  SUBJECT_OK(cudaMemsetAsync(m.device2, 0, 16, m.stream));
  says({"cudaMemsetAsync", 0, unknown, 16, nullptr, m.device2, m.stream});
  SUBJECT_OK(cudaMemset(m.device2, 1, 17));
  says({"cudaMemset", 0, unknown, 17, nullptr, m.device2, legacy});
  return 0;
}

int runtime_batch(int, char**) {
  Memory m;
  void* dsts[] = {m.device, m.device + 4096, m.device + 8192};
  const void* srcs[] = {m.pinned, m.pinned + 100, m.pinned + 200};
  const std::size_t sizes[] = {10, 20, 30};
  cudaMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
  std::size_t starts[] = {0, 2};
  SUBJECT_OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 3, attributes, starts, 2, m.stream));
  for (unsigned i = 0; i < 3; ++i) {
    says({"cudaMemcpyBatchAsync", 0, h2d, sizes[i], srcs[i], dsts[i], m.stream, i, 3,
          i < 2 ? 1u : 3u});
  }
  return 0;
}

int driver_linked(int, char**) {
  Memory m;
  const CUstream s = reinterpret_cast<CUstream>(m.stream);
  SUBJECT_OK(cuMemcpyHtoDAsync_v2(dev(m.device), m.pinned, 1001, s));
  says({"cuMemcpyHtoDAsync_v2", 0, h2d, 1001, m.pinned, m.device, s});
  SUBJECT_OK(cuMemcpyDtoHAsync_v2(m.pinned, dev(m.device), 1002, s));
  says({"cuMemcpyDtoHAsync_v2", 0, d2h, 1002, m.device, m.pinned, s});
  SUBJECT_OK(cuMemcpyDtoDAsync_v2(dev(m.device2), dev(m.device), 1003, s));
  says({"cuMemcpyDtoDAsync_v2", 0, d2d, 1003, m.device, m.device2, s});
  SUBJECT_OK(cuMemcpyAsync(dev(m.device), dev(m.pinned), 1004, s));
  says({"cuMemcpyAsync", 0, h2d, 1004, m.pinned, m.device, s});
  SUBJECT_OK(cuMemcpyHtoD_v2(dev(m.device), m.pinned, 5));
  says({"cuMemcpyHtoD_v2", 0, h2d, 5, m.pinned, m.device, legacy});
  SUBJECT_OK(cuMemcpyDtoH_v2(m.pinned, dev(m.device), 6));
  says({"cuMemcpyDtoH_v2", 0, d2h, 6, m.device, m.pinned, legacy});
  SUBJECT_OK(cuMemcpy(dev(m.device2), dev(m.device), 7));
  says({"cuMemcpy", 0, d2d, 7, m.device, m.device2, legacy});
  SUBJECT_OK(cuMemcpyHtoDAsync_v2_ptsz(dev(m.device), m.pinned, 8, nullptr));
  says({"cuMemcpyHtoDAsync_v2_ptsz", 0, h2d, 8, m.pinned, m.device, per_thread});
  CUDA_MEMCPY2D two{};
  two.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  two.srcDevice = dev(m.device);
  two.srcPitch = 512;
  two.srcXInBytes = 16;
  two.srcY = 2;
  two.dstMemoryType = CU_MEMORYTYPE_HOST;
  two.dstHost = m.pinned;
  two.dstPitch = 64;
  two.WidthInBytes = 60;
  two.Height = 3;
  SUBJECT_OK(cuMemcpy2DAsync_v2(&two, s));
  says({"cuMemcpy2DAsync_v2", 0, d2h, 180, m.device + 2 * 512 + 16, m.pinned, s});
  SUBJECT_OK(cuMemsetD32Async(dev(m.device2), 9, 10, s));
  says({"cuMemsetD32Async", 0, unknown, 40, nullptr, m.device2, s});
  CUdeviceptr dsts[] = {dev(m.device), dev(m.device + 512)},
              srcs[] = {dev(m.pinned), dev(m.pinned + 512)};
  std::size_t sizes[] = {11, 12}, starts[] = {0}, failed = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  SUBJECT_OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, starts, 1, &failed, s));
  for (unsigned i = 0; i < 2; ++i) {
    says({"cuMemcpyBatchAsync", 0, h2d, sizes[i], ptr(srcs[i]), ptr(dsts[i]), s, i, 2, 1});
  }
  SUBJECT_OK(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, &attributes, starts, 1, s));
  for (unsigned i = 0; i < 2; ++i) {
    says({"cuMemcpyBatchAsync_v2", 0, h2d, sizes[i], ptr(srcs[i]), ptr(dsts[i]), s, i, 2, 1});
  }
  return 0;
}

int registered(int, char**) {
  Memory m;
  SUBJECT_OK(cudaHostRegister(m.pageable, Memory::bytes, cudaHostRegisterDefault));
  SUBJECT_OK(cudaMemcpyAsync(m.pageable + 9, m.device + 9, 90, cudaMemcpyDeviceToDevice, m.stream));
  says({"cudaMemcpyAsync", 0, d2h, 90, m.device + 9, m.pageable + 9, m.stream});
  SUBJECT_OK(cudaStreamSynchronize(m.stream));
  SUBJECT_OK(cudaHostUnregister(m.pageable));
  std::printf("memory op4 %p %zu\nmemory op5 %p %zu\n", static_cast<void*>(m.pageable),
              Memory::bytes, static_cast<void*>(m.pageable), Memory::bytes);
  return 0;
}

int refused(int, char**) {
  Memory m;
  // The legacy stream is refused by the batch call: the call is recorded with what it answered.
  void* dsts[] = {m.device};
  const void* srcs[] = {m.pinned};
  const std::size_t sizes[] = {10};
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t starts[] = {0};
  const int code = cudaMemcpyBatchAsync(dsts, srcs, sizes, 1, &attributes, starts, 1, nullptr);
  if (code == 0) return 92;
  says({"cudaMemcpyBatchAsync", 0, h2d, 10, srcs[0], dsts[0], legacy, 0, 1, 1, code});
  return 0;
}

} // namespace

const Scenario copy_scenarios[] = {{"runtime_linked", runtime_linked},
                                   {"runtime_batch", runtime_batch},
                                   {"driver_linked", driver_linked},
                                   {"registered", registered},
                                   {"refused", refused},
                                   {nullptr, nullptr}};

} // namespace subject
