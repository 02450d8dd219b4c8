// A cache server that two engines with different weights share: the scene in which a key that omits
// the identity of the weights does harm.
#pragma once

#include "cli/process.h"
#include "schema/status.h"

#include <map>
#include <string>

namespace hitproof::cli {

struct ArmOptions;
struct EngineOptions;

class SharedServer {
 public:
  // Starts the server, then an engine with the next weight seed that saves its own prefix of every
  // prompt of the plan, and ends that engine again. `engine` is the engine of the study proper.
  schema::Status start(const ArmOptions& options, const EngineOptions& engine,
                       const std::map<std::string, std::string>& environment,
                       const std::string& logs);
  void stop();
  const std::string& address() const { return address_; }

 private:
  Process server_;
  std::string address_;
};

} // namespace hitproof::cli
