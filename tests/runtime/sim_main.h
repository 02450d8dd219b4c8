// The main of tests that need the simulated device: the program is started once more with it
// preloaded, because libtorch's own run path would find another runtime first.
#pragma once

#include <initializer_list>

namespace hitproof::engine {

// A part that the test program plays when it is started again: -1 where the arguments are not for
// it.
using Role = int (*)(int argc, char** argv);
int run_tests_on_sim(int argc, char** argv, std::initializer_list<Role> roles = {});

} // namespace hitproof::engine
