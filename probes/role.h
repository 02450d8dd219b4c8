// Which part of its program the process plays, as it announced it through hitproof.h. Any thread
// may announce, ask and read; a role and its rank are always of one announcement.
#pragma once

#include <cstdint>

namespace hitproof::probes {

struct Role {
  char text[24] = {}; // zeros behind the text; none: not announced
  std::int32_t rank = -1;
};

// Cut to the field; a later announcement replaces an earlier one. Returns this one. Precondition:
// `text` is not empty.
Role announce_role(const char* text, std::int32_t rank) noexcept;
// The latest announcement.
Role announced_role() noexcept;
// True once a role was announced. On the path of every kernel launch: one load, no lock.
bool role_announced() noexcept;
// In a forked child, which is another process and may play another part.
void forget_role_after_fork() noexcept;

} // namespace hitproof::probes
