// The processes that the front starts: how they start, how their end is noticed, how none is left
// behind.
//
// Promises: a child dies with the front, whatever kills the front (PR_SET_PDEATHSIG, set before it
// can be missed). It inherits the descriptors named for it and no other. Its standard error goes to
// its log file, or to the front's where no log folder is given. It has a process group of its own,
// so that a Ctrl-C in the terminal reaches the front alone, which then ends things in order.
#pragma once

#include "engine/runtime/channel.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace hitproof::engine {

struct ChildSpec {
  std::string role;                   // "rank 2", "cache server"; used in messages
  std::vector<std::string> arguments; // after the program's own path
  std::vector<int> inherited;         // descriptors, same numbers in the child
  std::string log_path;               // empty: the front's standard error
};

struct Child {
  std::string role, log_path;
  pid_t pid = -1;
  Fd pidfd;
  bool ended = false;
  int status = 0; // as from waitpid, once ended
};

class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  /// Kills and reaps what is left.
  ~Children();

  /// Starts this program again. Call from the main thread, before other threads exist:
  /// PR_SET_PDEATHSIG follows the thread that forks. Throws std::runtime_error that names the role.
  void start(const ChildSpec& spec);
  /// Reaps a child whose pidfd is readable.
  void reap(Child& child);
  /// Waits until every child has ended, at most `timeout_ms`; false where some have not.
  bool wait_all(int timeout_ms);
  void kill_all();

  std::vector<Child>& all() { return children_; }
  /// "rank 2 (process 123) was killed by signal 9 (Killed); its log is ..." of an ended child.
  static std::string describe(const Child& child);

 private:
  std::vector<Child> children_;
};

} // namespace hitproof::engine
