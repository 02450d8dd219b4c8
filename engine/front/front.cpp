#include "engine/front/front.h"

#include "engine/front/children.h"
#include "engine/front/engine.h"
#include "engine/front/front_setup.h"
#include "engine/front/http_server.h"
#include "engine/runtime/collectives.h"
#include "engine/runtime/last_words.h"
#include "probes/hitproof.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hitproof::engine {
namespace {

constexpr int ranks_end_ms = 20000; // for running steps and open transfers
constexpr int cause_shows_ms =
    2000; // between a channel's end and the news of the process behind it

void say(const std::string& text) { std::fprintf(stderr, "hitproof-engine: %s\n", text.c_str()); }

/// A number that one thread raises and another polls for.
class Signal {
 public:
  Signal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  void raise() {
    const uint64_t one = 1;
    if (write(fd_.get(), &one, sizeof one) < 0) say("cannot wake the main thread");
  }
  void clear() {
    uint64_t value = 0;
    if (read(fd_.get(), &value, sizeof value) < 0) return;
  }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

sigset_t termination_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&set, number);
  return set;
}

Fd termination_signals() {
  hold_termination_signals();
  signal(SIGPIPE, SIG_IGN);
  const sigset_t set = termination_set();
  return Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Front {
 public:
  Front(const FrontOptions& options, FrontSetup setup)
      : options_(options), setup_(std::move(setup)), signals_(termination_signals()),
        metrics_(setup_.model_name) {}

  int run() {
    const int port = http_.bind(options_.host, options_.port);
    start_children();
    announce();
    engine_ = std::make_unique<Engine>(setup_.engine, std::move(rank_channels_),
                                       std::move(server_channel_), metrics_);
    engine_->start([this](const std::vector<RankReady>& ready) { on_ready(ready); },
                   [this](const std::string& error) { on_end(error); });
    const int code = supervise(port);
    http_.stop();
    return code;
  }

 private:
  std::string log_path(const std::string& name) const {
    return options_.log_dir.empty()
               ? std::string()
               : (std::filesystem::path(options_.log_dir) / (name + ".log")).string();
  }

  void start_children() {
    std::string address = options_.cache_server;
    if (options_.connector && address.empty()) {
      const Listener listener = listen_at("");
      address = listener.address;
      ChildSpec spec{"cache server",
                     {"cache-server", "--listen-fd", std::to_string(listener.fd.get()), "--bytes",
                      std::to_string(options_.external_bytes), "--device", options_.device, "--gpu",
                      std::to_string(options_.gpus.front())},
                     {listener.fd.get()},
                     log_path("cache-server")};
      if (!options_.break_name.empty())
        spec.arguments.insert(spec.arguments.end(), {"--break", options_.break_name});
      children_.start(spec);
      // The listening socket is closed here: a dead server is seen at once, not after a full queue.
    }
    Fd shared;
    if (options_.tp > 1) shared = Fd(create_collectives_memory(options_.tp));
    for (int rank = 0; rank < options_.tp; ++rank) {
      auto [ours, theirs] = socket_pair();
      ChildSpec spec{
          "rank " + std::to_string(rank),
          {"rank", "--rank", std::to_string(rank), "--front-fd", std::to_string(theirs.get()),
           "--device", options_.device, "--gpu",
           std::to_string(options_.gpus[static_cast<size_t>(rank) % options_.gpus.size()])},
          {theirs.get()},
          log_path("rank-" + std::to_string(rank))};
      if (shared) {
        spec.arguments.insert(spec.arguments.end(),
                              {"--collectives-fd", std::to_string(shared.get())});
        spec.inherited.push_back(shared.get());
      }
      children_.start(spec);
      rank_channels_.emplace_back(std::move(ours), spec.role);
      setup_.engine.ranks[static_cast<size_t>(rank)].cache_server =
          options_.connector ? address : "";
    }
    if (options_.connector) server_channel_ = Channel(connect_to(address), "cache server");
  }

  void announce() const {
    HITPROOF_CALL(process, ("front", -1));
    for (const auto& [name, value] : setup_.facts)
      HITPROOF_CALL(meta, (name.c_str(), value.c_str()));
  }

  // On the engine's thread.
  void on_ready(const std::vector<RankReady>& ready) {
    if (!ready.empty()) HITPROOF_CALL(meta, ("device", ready[0].device.c_str()));
    ready_.raise();
  }
  void on_end(const std::string& error) {
    {
      const std::lock_guard lock(mutex_);
      engine_error_ = error;
    }
    ended_.raise();
  }
  std::string engine_error() {
    const std::lock_guard lock(mutex_);
    return engine_error_;
  }

  int supervise(int port) {
    for (;;) {
      std::vector<pollfd> watched = {
          {signals_.get(), POLLIN, 0}, {ready_.fd(), POLLIN, 0}, {ended_.fd(), POLLIN, 0}};
      for (const Child& child : children_.all())
        watched.push_back({child.pidfd.get(), POLLIN, 0});
      if (poll(watched.data(), watched.size(), -1) < 0) continue;
      for (size_t i = 0; i < children_.all().size(); ++i) {
        if (watched[i + 3].revents == 0) continue;
        children_.reap(children_.all()[i]);
        if (children_.all()[i].ended) return fail(Children::describe(children_.all()[i]));
      }
      if (watched[2].revents != 0) return fail({});
      if (watched[1].revents != 0) {
        ready_.clear();
        serving_ = true;
        http_.serve(*engine_, metrics_, setup_.limits, setup_.engine.scheduler.max_positions);
        std::printf("listening on http://%s:%d\n", options_.host.c_str(), port);
        std::fflush(stdout);
      }
      if (watched[0].revents != 0) return shut_down();
    }
  }

  // Something ended that should not have. What the engine's loop saw (a closed channel) is the
  // effect more often than the cause, so the processes get a moment to show who died first.
  int fail(const std::string& cause) {
    std::string text = cause;
    if (text.empty()) {
      std::vector<pollfd> watched;
      for (const Child& child : children_.all())
        watched.push_back({child.pidfd.get(), POLLIN, 0});
      poll(watched.data(), watched.size(), cause_shows_ms);
      const std::string error = engine_error();
      text = error;
      for (Child& child : children_.all()) {
        children_.reap(child);
        if (child.ended)
          text = Children::describe(child) + (error.empty() ? "" : " (" + error + ")");
        if (child.ended) break;
      }
    }
    say(text + (!serving_ ? "; the engine does not start"
                          : "; the engine ends, requests that were running are lost"));
    children_.kill_all();
    children_.wait_all(ranks_end_ms);
    engine_->join();
    HITPROOF_CALL(flush, ());
    // What the machine lacks shows in one rank; it is not the engine's failure.
    const bool lacking =
        !serving_ &&
        std::any_of(children_.all().begin(), children_.all().end(), [](const Child& child) {
          return child.ended && WIFEXITED(child.status) && WEXITSTATUS(child.status) == 2;
        });
    return lacking ? 2 : 1;
  }

  int shut_down() {
    const bool starting = engine_->state() == Engine::State::starting;
    engine_->request_stop();
    // A rank that is still making its weights does not listen yet: there is nothing to end in
    // order.
    if (starting) children_.kill_all();
    pollfd ended{ended_.fd(), POLLIN, 0};
    int code = 0;
    if (poll(&ended, 1, ranks_end_ms) <= 0) {
      say("the ranks did not end in time and were killed");
      code = 1;
    } else if (!starting && !engine_error().empty()) {
      say(engine_error() + "; during the shutdown");
      code = 1;
    }
    if (code != 0) children_.kill_all();
    if (!children_.wait_all(ranks_end_ms)) {
      say("processes did not end in time and were killed");
      children_.kill_all();
      children_.wait_all(ranks_end_ms);
      code = 1;
    }
    for (const Child& child : children_.all()) {
      if (starting || code != 0 || (child.ended && child.status == 0)) continue;
      say(Children::describe(child) + "; during the shutdown");
      code = 1;
    }
    engine_->join();
    HITPROOF_CALL(flush, ());
    return code;
  }

  const FrontOptions& options_;
  FrontSetup setup_;
  Fd signals_;
  Signal ready_, ended_;
  bool serving_ = false; // the ranks have started
  Metrics metrics_;
  HttpServer http_;
  Children children_;
  std::vector<Channel> rank_channels_;
  Channel server_channel_;
  std::mutex mutex_;
  std::string engine_error_;
  std::unique_ptr<Engine> engine_;
};

} // namespace

void hold_termination_signals() {
  const sigset_t set = termination_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int run_front(const FrontOptions& options) {
  try {
    Front front(options, make_setup(options));
    return front.run();
  } catch (const BindError& error) {
    say(error.what());
    return 2;
  } catch (const std::invalid_argument& error) {
    say(error.what());
    return 2;
  } catch (const std::exception&) {
    say(last_words(std::current_exception()));
    return 1;
  }
}

} // namespace hitproof::engine
