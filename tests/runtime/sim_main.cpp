#include "tests/runtime/sim_main.h"

#include "engine/sim/reexec.h"

#include <cstdio>
#include <gtest/gtest.h>

namespace hitproof::engine {

int run_tests_on_sim(int argc, char** argv, std::initializer_list<Role> roles) {
  if (const sim::SimDevice device = sim::ensure_sim_device(argc, argv); !device.ok) {
    std::fprintf(stderr, "%s\n", device.message.c_str());
    return 2;
  }
  for (const Role role : roles)
    if (const int status = role(argc, argv); status >= 0) return status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

} // namespace hitproof::engine
