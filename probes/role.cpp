#include "probes/role.h"

#include "probes/spin_lock.h"
#include "schema/records.h"

namespace hitproof::probes {
namespace {

SpinLock changing;
Role announced;
std::atomic<bool> there{false};

} // namespace

Role announce_role(const char* text, std::int32_t rank) noexcept {
  Role role;
  schema::set_text(role.text, text);
  role.rank = rank;
  const LockGuard guard(changing);
  announced = role;
  there.store(true, std::memory_order_release);
  return role;
}

Role announced_role() noexcept {
  const LockGuard guard(changing);
  return announced;
}

bool role_announced() noexcept { return there.load(std::memory_order_acquire); }

void forget_role_after_fork() noexcept {
  changing.reset();
  announced = Role{};
  there.store(false, std::memory_order_relaxed);
}

} // namespace hitproof::probes
