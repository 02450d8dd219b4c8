// The hooks' argument lists against the real CUDA headers, at compile time: the same number of
// arguments, each of the same size and passed the same way. Built only where a toolkit is
// installed.
#include "probes/cuda_abi.h"

#include <cstdio>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <type_traits>

// Calls that CUDA 13.0 does not declare: older forms that its libraries still export, and newer
// ones.
struct NotDeclared {};
extern "C" {
#define HITPROOF_NOT_DECLARED(symbol) void symbol(NotDeclared)
HITPROOF_NOT_DECLARED(cudaMemcpyWithAttributesAsync);
HITPROOF_NOT_DECLARED(cudaMemcpy3DWithAttributesAsync);
HITPROOF_NOT_DECLARED(cuMemcpyWithAttributesAsync);
HITPROOF_NOT_DECLARED(cuMemcpy3DWithAttributesAsync);
HITPROOF_NOT_DECLARED(cuGraphInstantiate_v2);
}

namespace hitproof::probes {
namespace {

template <class A, class B>
constexpr bool
    same_argument = sizeof(A) == sizeof(B) &&
                    std::is_class_v<A> == std::is_class_v<B>&& std::is_floating_point_v<A> ==
                        std::is_floating_point_v<B>;

template <class Header, class Ours> struct SameCall : std::false_type {};
template <class R, class... A, class... B>
struct SameCall<R (*)(A...), int (*)(B...)>
    : std::bool_constant<sizeof...(A) == sizeof...(B) && sizeof(R) == sizeof(int)> {};

template <class Header, class Ours> struct SameArguments : std::true_type {};
template <class R, class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameArguments<R (*)(A...), int (*)(B...)>
    : std::bool_constant<(same_argument<A, B> && ...)> {
};

template <class Header, class Ours>
constexpr bool same_abi = SameCall<Header, Ours>::value&& SameArguments<Header, Ours>::value;
template <class Ours> constexpr bool same_abi<void (*)(NotDeclared), Ours> = true;

} // namespace
} // namespace hitproof::probes

// In hooks.def an undeclared older form of a call hides behind the header's macro of the same name.
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuMemPrefetchAsync
#undef cuStreamBeginCapture
#undef cuGraphAddNode
#undef cuGraphExecUpdate
#undef cuIpcOpenMemHandle
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp
#undef cuStreamDestroy
#undef cuEventDestroy
extern "C" {
HITPROOF_NOT_DECLARED(cuStreamDestroy);
HITPROOF_NOT_DECLARED(cuEventDestroy);
HITPROOF_NOT_DECLARED(cuMemcpyBatchAsync);
HITPROOF_NOT_DECLARED(cuMemcpy3DBatchAsync);
HITPROOF_NOT_DECLARED(cuMemPrefetchAsync);
HITPROOF_NOT_DECLARED(cuStreamBeginCapture);
HITPROOF_NOT_DECLARED(cuGraphAddNode);
HITPROOF_NOT_DECLARED(cuGraphExecUpdate);
HITPROOF_NOT_DECLARED(cuIpcOpenMemHandle);
HITPROOF_NOT_DECLARED(cuStreamWriteValue32);
HITPROOF_NOT_DECLARED(cuStreamWriteValue64);
HITPROOF_NOT_DECLARED(cuStreamWaitValue32);
HITPROOF_NOT_DECLARED(cuStreamWaitValue64);
HITPROOF_NOT_DECLARED(cuStreamBatchMemOp);
}

namespace hitproof::probes {
namespace {

// Twins share their base's arguments, and are declared only in a mode of the header that hides the
// base.
#define HP_CHECK_0(symbol, parameters)                                                             \
  static_assert(same_abi<decltype(&::symbol), int(*) parameters>, #symbol " has other arguments");
#define HP_CHECK_1(symbol, parameters)
#define HP_CALL(level, symbol, per_thread, asked, since, parameters, arguments, before, after)     \
  HP_CHECK_##per_thread(symbol, parameters)
#define HP_COPY(level, symbol, per_thread, asked, since, parameters, arguments, after)             \
  HP_CHECK_##per_thread(symbol, parameters)
#define HP_LOADER(symbol)

// Wrappers that take more arguments than one form of the call, on purpose (see hooks.def).
#define cudaMemcpyBatchAsync takes_another_argument
#define cudaMemcpy3DBatchAsync takes_another_argument
#define cudaGraphInstantiate takes_another_argument
#define cudaGraphExecUpdate takes_another_argument
} // namespace
} // namespace hitproof::probes
extern "C" void takes_another_argument(NotDeclared);
namespace hitproof::probes {
namespace {
#include "probes/hooks.def"

static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D) && sizeof(Copy3D) == sizeof(CUDA_MEMCPY3D));
static_assert(offsetof(Copy2D, dst_device) == offsetof(CUDA_MEMCPY2D, dstDevice));
static_assert(offsetof(Copy3D, dst_device) == offsetof(CUDA_MEMCPY3D, dstDevice));
static_assert(offsetof(Copy3D, width) == offsetof(CUDA_MEMCPY3D, WidthInBytes));
static_assert(sizeof(RuntimeCopy3D) == sizeof(cudaMemcpy3DParms));
static_assert(offsetof(RuntimeCopy3D, dst) == offsetof(cudaMemcpy3DParms, dstPtr));
static_assert(sizeof(RuntimeCopy3DPeer) == sizeof(cudaMemcpy3DPeerParms));
static_assert(offsetof(RuntimeCopy3DPeer, dst) == offsetof(cudaMemcpy3DPeerParms, dstPtr));
static_assert(sizeof(CopyAttributes) == sizeof(CUmemcpyAttributes) &&
              sizeof(CopyAttributes) == sizeof(cudaMemcpyAttributes));
static_assert(sizeof(BatchOp3D) == sizeof(CUDA_MEMCPY3D_BATCH_OP) &&
              sizeof(BatchOp3D) == sizeof(cudaMemcpy3DBatchOp));
static_assert(offsetof(BatchOp3D, extent) == offsetof(CUDA_MEMCPY3D_BATCH_OP, extent));
static_assert(sizeof(BatchMemOp) == sizeof(CUstreamBatchMemOpParams));
static_assert(offsetof(GraphNodeParams, driver_copy.copy) ==
              offsetof(CUgraphNodeParams, memcpy.copyParams));
static_assert(offsetof(GraphNodeParams, runtime_copy.copy) ==
              offsetof(cudaGraphNodeParams, memcpy.copyParams));

} // namespace
} // namespace hitproof::probes

int main() { std::puts("the hooks' arguments are those of the CUDA headers"); }
