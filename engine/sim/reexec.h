// Putting a program on the simulated device. `libtorch_cpu.so` has an RPATH, which beats
// LD_LIBRARY_PATH, so `--device sim` re-executes the program with LD_PRELOAD = probe, simulated
// runtime, simulated driver, and looks with dladdr whether these are the ones in use.
#pragma once

#include <string>

namespace hitproof::sim {

struct SimDevice {
  bool ok = false;
  std::string message; // what is wrong and what to do, when not ok
  std::string runtime; // path of the libcudart.so.13 in use
  std::string driver;  // path of the libcuda.so.1 in use
};

/// Directory of the simulated libraries: HITPROOF_SIM_DIR if set, else ../lib/hitproof/sim seen
/// from the running program. Empty if the libraries are not there.
std::string sim_directory();

/// The LD_PRELOAD value for a program on the simulated device: what is there already (a sanitizer's
/// library must stay first), then the probe if given, the runtime, the driver. No entry twice.
std::string sim_preload(const std::string& directory, const std::string& probe_library,
                        const std::string& present);

/// Call first in main. Returns at once when the simulated libraries are in use; otherwise executes
/// the same program with the same arguments once more, with the preload, and does not return.
/// `probe_library` empty: no probe. Fails when the libraries are missing, or when after the second
/// start something else still answers for libcudart.so.13 or libcuda.so.1.
SimDevice ensure_sim_device(int argc, char** argv, const std::string& probe_library = {});

/// Look only: which libraries answer now.
SimDevice check_sim_device();

} // namespace hitproof::sim
