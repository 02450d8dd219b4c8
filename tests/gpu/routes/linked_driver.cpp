// Calls of the driver that are linked by name, as an extension built with -lcuda has them. They
// stand in a program of their own (gpu_routes_driver), because it does not start where no driver
// is.
#include "tests/gpu/routes/lookups.h"

namespace hitproof::routes {
namespace {

void linked_driver(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  up_and_down(ledger, b, {cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, 0}, 1200);
}

void linked_proc_address(Ledger& ledger, int, char**) {
  const Buffers b(ledger, 64 * 1024);
  up_and_down(ledger, b, asked_pair(cuGetProcAddress, 12000), 1300);
}

const Routes added({{"linked_driver", linked_driver},
                    {"linked_proc_address", linked_proc_address}});

} // namespace
} // namespace hitproof::routes
