// Counters of the probe (table coverage), which grow within a life of a process: until another
// program takes it over by exec, or another process is given its id. Rules' own files have the same
// as their tables `life` and `of_life`.
#pragma once

// The newest of each counter in each life, for FROM: columns process, name, calls, bytes, dropped,
// installed. A text of the compiler's, so that it can stand inside another one.
#define HITPROOF_NEWEST_COUNTERS                                                                   \
  "(SELECT c.process, c.name, MAX(c.calls) AS calls, MAX(c.bytes) AS bytes, MAX(c.dropped) AS "    \
  "dropped, MAX(c.installed) AS installed FROM coverage c LEFT JOIN (SELECT process, t_ns AS "     \
  "began, LEAD(t_ns) OVER (PARTITION BY process ORDER BY t_ns) AS next_began FROM meta WHERE "     \
  "name = 'probe.version') l ON l.process = c.process AND c.t_ns >= l.began AND (l.next_began "    \
  "IS NULL OR c.t_ns < l.next_began) GROUP BY c.process, l.began, c.name)"
