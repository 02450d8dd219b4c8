// What the probe noted in words (table meta), said among what a rule lacks.
#pragma once

#include <span>
#include <string>

namespace hitproof::audit {

class Context;
struct RuleReport;

// A note that begins like this, and what to do about it, behind the note's own words.
struct KnownNote {
  const char* begin;
  const char* to_do;
};

// Each different value among the records of meta that `where` (a condition) selects, once, with the
// number of processes that noted it: "<what> in 2 processes: <value>".
void say_notes(Context& context, RuleReport& report, const std::string& what,
               const std::string& where, std::span<const KnownNote> known = {});

} // namespace hitproof::audit
