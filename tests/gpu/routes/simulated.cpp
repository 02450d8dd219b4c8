// In place of what the simulated device does not have: the routes that need it are skipped there.
#include "tests/gpu/routes/ledger.h"

extern "C" {

cudaError_t gpu_routes_sum(const unsigned char*, std::size_t, unsigned*) {
  hitproof::routes::skip("the simulated device runs no kernels");
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms*, cudaStream_t) {
  hitproof::routes::skip("the simulated runtime has no 3D copies");
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms*, cudaStream_t) {
  hitproof::routes::skip("the simulated runtime has no 3D copies");
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  hitproof::routes::skip("the simulated device is one");
}
}
