#include "audit/selftest/world/study.h"

#include "audit/selftest/world/world.h"

#include <stdexcept>

namespace hitproof::audit::selftest {
namespace {

void check(const schema::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.to_string());
}

// Reproducible token ids without a fixed point.
std::int64_t token_of(const std::string& prompt, std::uint32_t position, bool wrong) {
  const auto digest = digest_of(prompt + " token " + std::to_string(position) +
                                (wrong && position >= 3 ? " wrong" : ""));
  return digest[0] * 16 + digest[1] / 16;
}

} // namespace

void write_study(const std::string& dir, const StudySpec& spec) {
  auto opened = schema::Recording::open_new(dir);
  check(opened.status());
  schema::Recording recording = std::move(opened).value();
  check(recording.begin());
  check(recording.put("arm", spec.arm));
  check(recording.put("lookup", spec.full_lookup ? "full" : "strict"));
  check(recording.put("device", "synthetic (sim)"));
  check(recording.put("preset", "tiny"));
  if (!spec.plan_sha256.empty()) check(recording.put("plan_sha256", spec.plan_sha256));

  World world(recording, spec);
  world.announce_processes();
  world.announce_entries();
  std::int64_t op = 0;
  std::uint64_t request = 0;
  for (std::size_t index = 0; index < spec.lengths.size(); ++index) {
    const std::uint32_t n = spec.lengths[index];
    const std::pair<const char*, const char*> operations[] = {
        {"cold", "A"}, {"interpose", "X"}, {"interpose", "Y"}, {"reset", ""}, {"reload", "A"}};
    for (const auto& [kind, which] : operations) {
      schema::StudyOperation o;
      o.op = op++;
      o.arm = spec.arm;
      o.case_index = static_cast<std::int64_t>(index);
      o.prompt_tokens = n;
      o.kind = kind;
      o.which = which;
      o.begin_ns = world.tick();
      o.status = "ok";
      if (*which) {
        const std::string prompt = std::to_string(n) + which;
        o.request = ++request;
        o.prompt = digest_of(prompt);
        RequestRun run(world, request, prompt, n);
        run.run(std::string(kind) == "reload");
        for (std::uint32_t i = 0; i < spec.tokens; ++i) {
          schema::StudyToken t;
          t.op = o.op;
          t.position = i;
          t.token = token_of(prompt, i, run.wrong_state());
          t.logits = digest_of(prompt + " logits " + std::to_string(i) +
                               (run.wrong_state() ? " wrong" : ""));
          t.margin = 0.5;
          t.t_ns = world.now;
          check(recording.put_token(t));
        }
      }
      o.end_ns = world.tick();
      check(recording.put_operation(o));
    }
  }
  world.announce_end();
  check(recording.commit());
  check(recording.close("completed"));
}

} // namespace hitproof::audit::selftest
