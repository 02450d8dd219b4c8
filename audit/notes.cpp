#include "audit/notes.h"

#include "audit/context.h"
#include "audit/report.h"

#include <utility>

namespace hitproof::audit {

void say_notes(Context& context, RuleReport& report, const std::string& what,
               const std::string& where, std::span<const KnownNote> known) {
  auto q = context.query("SELECT value, COUNT(DISTINCT process) FROM meta WHERE " + where +
                         " GROUP BY value ORDER BY value");
  while (q.next()) {
    const std::string why = q.text(0);
    std::string words = what + " in " + std::to_string(q.integer(1)) +
                        (q.integer(1) == 1 ? " process: " : " processes: ") + why;
    for (const KnownNote& k : known)
      if (why.starts_with(k.begin)) words += k.to_do;
    report.missing.push_back(std::move(words));
  }
  require(q.status());
}

} // namespace hitproof::audit
