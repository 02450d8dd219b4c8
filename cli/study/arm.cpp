#include "cli/study/arm.h"

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/study/shared_server.h"
#include "schema/archive.h"
#include "schema/clock.h"
#include "schema/plan_operations.h"

#include <algorithm>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>

namespace hitproof::cli {
namespace {

namespace fs = std::filesystem;
using schema::Code;
using schema::Status;

// Weights of the real size are made in seconds; a machine under load may need longer.
constexpr int start_timeout_ms = 600000;

struct Limit {
  int resource;
  rlim_t enough, unit; // from `enough` on it is not the cause
  const char *words, *option;
};

const Limit limits[] = {
    {RLIMIT_AS, RLIM_INFINITY, 1 << 20, " MiB of memory", "ulimit -v"},
    {RLIMIT_NOFILE, 256, 1, " open files", "ulimit -n"},
    {RLIMIT_FSIZE, RLIM_INFINITY, 1 << 10, " KiB in a file", "ulimit -f"},
};

// An engine that meets a limit fails in whatever call meets it first, and libraries below it do not
// always say which it was; the simulated device's memory, for one, lies in files. Where there is a
// limit, it is named.
Status with_limits(Status outcome) {
  if (outcome.code() != Code::io_error && outcome.code() != Code::unsupported) return outcome;
  std::string message = outcome.message();
  for (const Limit& l : limits) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource>(l.resource), &limit) != 0 ||
        limit.rlim_cur >= l.enough || outcome.message().find(l.option) != std::string::npos)
      continue;
    message += "; each process may have at most " + std::to_string(limit.rlim_cur / l.unit) +
               l.words + " here, which may be the cause: raise the limit (" + l.option + ")";
  }
  return Status(outcome.code(), message);
}

ProbeOptions probe_options(const ArmOptions& o) {
  ProbeOptions probes;
  // The control arm moves nothing, so there is nothing to watch but its schedule.
  probes.probes = o.plan.probes == "all" && o.arm == "control" ? "metadata" : o.plan.probes;
  probes.save_delay_ms = static_cast<int>(o.plan.save_delay_ms);
  probes.tail_effect = o.plan.tail_effect;
  probes.force_drop = o.force_drop;
  return probes;
}

EngineOptions engine_options(const ArmOptions& o) {
  EngineOptions engine;
  engine.preset = o.plan.preset;
  engine.device = o.plan.device;
  engine.gpus = o.gpus;
  engine.tp = o.plan.tp;
  engine.collectives = o.collectives;
  engine.external_bytes = external_bytes_for(o.plan, o.facts);
  engine.lookup = o.plan.lookup;
  engine.connector = o.arm == "candidate";
  engine.weight_seed = o.plan.weight_seed;
  engine.break_name = o.plan.break_name;
  for (const auto& choice : o.plan.profile)
    if (choice.rank == 0) engine.profile[choice.name] = choice.value;
  engine.extra = o.engine_extra;
  return engine;
}

Status store_head(const ArmOptions& o, Recorder& recorder) {
  auto digest = schema::store_plan(recorder.dir(), o.plan);
  if (!digest.ok()) return digest.status();
  return recorder.with_recording([&](schema::Recording& r) {
    const std::pair<const char*, std::string> facts[] = {
        {"plan_sha256", schema::to_hex(*digest)},
        {"plan_registered_ns", std::to_string(schema::now())},
        {"study", o.plan.study},
        {"arm", o.arm},
        {"preset", o.plan.preset},
        {"device", o.plan.device_name.empty() ? o.plan.device : o.plan.device_name},
        {"lookup", o.plan.lookup},
        {"probes", probe_options(o).probes},
        {"break", o.plan.break_name},
        {"tail_effect", o.plan.tail_effect}};
    for (const auto& [key, value] : facts)
      if (Status s = r.put(key, value); !s.ok()) return s;
    if (o.facts.end_token >= 0)
      if (Status s = r.put("end_token", o.facts.end_token); !s.ok()) return s;
    return r.put("checkpoint", static_cast<int64_t>(o.facts.checkpoint));
  });
}

class ArmRun {
 public:
  ArmRun(const ArmOptions& options, Recorder& recorder, EngineClient& engine)
      : o_(options), recorder_(recorder), engine_(engine) {}

  Status run() {
    const auto operations = schema::operations_of(o_.plan, o_.arm);
    uint64_t total = 0;
    for (const auto& op : operations)
      total += cost(op);
    Progress progress(o_.title.empty() ? o_.arm : o_.title, total, o_.quiet);
    uint64_t done = 0;
    for (size_t i = 0; i < operations.size(); ++i) {
      const auto& op = operations[i];
      progress.update(done, "operation " + std::to_string(i + 1) + "/" +
                                std::to_string(operations.size()) + " " + op.kind + " " +
                                std::to_string(op.length));
      if (interrupted())
        return Status(Code::incomplete, "interrupted before operation " + std::to_string(i + 1));
      if (Status s = recorder_.health(); !s.ok())
        return Status(s).with_context("the recorder stopped");
      if (Status s = perform(static_cast<int64_t>(i), op); !s.ok()) return s;
      done += cost(op);
    }
    progress.finish(std::to_string(operations.size()) + " operations done");
    return Status();
  }

 private:
  static uint64_t cost(const schema::PlannedOperation& op) {
    return op.generates() ? op.length + op.tokens : 0;
  }

  Status perform(int64_t number, const schema::PlannedOperation& op) {
    schema::StudyOperation row;
    row.op = number;
    row.arm = o_.arm;
    row.case_index = static_cast<int64_t>(op.case_index);
    row.prompt_tokens = op.length;
    row.kind = op.kind;
    row.prompt_template = op.prompt_template;
    row.trial = op.trial;
    row.warmup = op.warmup;
    row.status = "running";
    std::vector<int32_t> prompt;
    if (op.generates()) {
      row.which = std::string(1, op.which);
      row.tag = o_.arm + "-" + std::to_string(op.length) + "-" + op.which + "-" + op.kind;
      prompt = make_prompt(op, prompt_source(o_.plan, o_.facts));
      row.prompt = prompt_sha256(prompt);
    }
    row.begin_ns = schema::now();
    if (Status s = store(row, nullptr); !s.ok()) return s;
    Completion completion;
    Status done = op.generates() ? engine_.complete(prompt, op.tokens, row.tag, &completion)
                                 : engine_.reset_device_cache();
    row.end_ns = schema::now();
    row.request = completion.request;
    row.status = done.ok() ? "ok" : "failed";
    row.error = done.message();
    if (Status s = store(row, &completion); !s.ok()) return s;
    return done;
  }

  Status store(const schema::StudyOperation& row, const Completion* completion) {
    return recorder_.with_recording([&](schema::Recording& r) {
      if (Status s = r.put_operation(row); !s.ok()) return s;
      if (!completion) return Status();
      int64_t position = 0;
      for (const auto& token : completion->tokens) {
        schema::StudyToken t{row.op,       position++, token.id, token.logits_sha256,
                             token.margin, token.t_ns};
        if (Status s = r.put_token(t); !s.ok()) return s;
      }
      return Status();
    });
  }

  const ArmOptions& o_;
  Recorder& recorder_;
  EngineClient& engine_;
};

Status store_exit(Recorder& recorder, const EngineClient& engine_client, int status, pid_t pid) {
  return recorder.with_recording([&](schema::Recording& r) {
    return r.put_process_exit(static_cast<uint32_t>(pid), "front",
                              WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                              WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  });
}

Status copy_reference(const ArmOptions& o) {
  if (o.reference.empty()) return Status();
  const std::string& dir = o.dir;
  std::error_code error;
  fs::create_directories(fs::path(dir) / "data" / "reference", error);
  for (const char* file : {"recording.sqlite", "plan.toml"})
    if (!error)
      fs::copy_file(fs::path(o.reference) / "data" / file,
                    fs::path(dir) / "data" / "reference" / file, error);
  if (error)
    return Status::from_errno(error.value(),
                              "copy the control arm's recording from " + o.reference);
  return Status();
}

Status close_folder(const ArmOptions& o) {
  auto closed =
      schema::close_archive(o.dir, {{"Hitproof-Arm", o.arm}, {"Hitproof-Preset", o.plan.preset}});
  return closed.ok() ? Status() : closed.status();
}

} // namespace

PromptSource prompt_source(const schema::Plan& plan, const PresetFacts& facts) {
  return {plan.prompt_seed, facts.vocabulary, facts.first_byte_token};
}

uint64_t external_bytes_for(const schema::Plan& plan, const PresetFacts& facts) {
  uint64_t checkpoints = 0; // of one rank
  for (const auto& op : schema::operations_of(plan, "candidate"))
    if (op.generates()) checkpoints += (op.length + op.tokens) / facts.checkpoint;
  const uint64_t need = checkpoints * plan.tp * facts.checkpoint_bytes;
  // A sixteenth more, because objects do not cross the pieces in which memory is pinned.
  return std::max(uint64_t{1} << 30, need + need / 16);
}

Status run_arm(const ArmOptions& o) {
  auto created = Recorder::create(o.dir);
  if (!created.ok()) return created.status();
  Recorder& recorder = **created;
  if (Status s = store_head(o, recorder); !s.ok()) return s;
  if (!o.reference_follows)
    if (Status s = copy_reference(o); !s.ok()) return s;
  recorder.start();

  const auto environment = recorder.environment(probe_options(o));
  const std::string logs = recorder.dir() + "/data/logs/";
  EngineOptions engine_opts = engine_options(o);
  engine_opts.extra.insert(engine_opts.extra.end(), {"--log-dir", logs});
  SharedServer shared;
  if (o.other_engine || o.plan.break_name == "key-omits-weights") {
    if (Status s = shared.start(o, engine_opts, environment, logs); !s.ok()) return s;
    engine_opts.cache_server = shared.address();
  }
  EngineClient engine;
  Status outcome = engine.start(engine_opts, environment, logs + "front.log", start_timeout_ms);
  if (outcome.ok()) outcome = ArmRun(o, recorder, engine).run();
  const pid_t pid = engine.process().pid();
  const int status = engine.stop();
  shared.stop();
  if (pid > 0)
    if (Status s = store_exit(recorder, engine, status, pid); outcome.ok()) outcome = s;
  if (outcome.ok() && status != 0)
    outcome = Status(Code::io_error, "the engine " + describe_exit(status) +
                                         " when it was told to end; see " + logs);
  if (!outcome.ok()) {
    outcome = with_limits(std::move(outcome));
    Status abandoned = recorder.abandon(outcome.message());
    return std::move(outcome).with_context(abandoned.ok()
                                               ? "recorded so far in " + o.dir + " (not closed)"
                                               : "the recording in " + o.dir + " may lack its end");
  }
  if (Status s = recorder.finish("completed"); !s.ok()) return s;
  return o.reference_follows ? Status() : close_folder(o);
}

Status close_arm(const ArmOptions& o) {
  if (Status s = copy_reference(o); !s.ok()) return s;
  return close_folder(o);
}

} // namespace hitproof::cli
