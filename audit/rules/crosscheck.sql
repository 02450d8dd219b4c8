-- Rule crosscheck: CUPTI counted the same bytes as the ledger, per process and direction. One row a
-- violation.
-- Run: sqlite3 data/recording.sqlite < crosscheck.sql
WITH
life AS ( -- an exec begins another in the same process, as does a process that is given an old id
  SELECT process, t_ns AS began, LEAD(t_ns) OVER (PARTITION BY process ORDER BY t_ns) AS next_began
  FROM meta WHERE name = 'probe.version'),
of_life AS ( -- counters grow; in a life the newest row of each counts
  SELECT c.process, l.began, c.name, MAX(c.installed) AS installed, MAX(c.bytes) AS bytes,
         MAX(c.dropped) AS dropped, MAX(c.t_ns) AS t_ns
  FROM coverage c LEFT JOIN life l ON l.process = c.process AND c.t_ns >= l.began
                                  AND (l.next_began IS NULL OR c.t_ns < l.next_began)
  WHERE c.name LIKE 'cupti:%' GROUP BY c.process, l.began, c.name),
counter AS (
  SELECT process, name, MIN(installed) AS installed, SUM(bytes) AS bytes, SUM(dropped) AS dropped,
         MAX(t_ns) AS t_ns, COUNT(*) AS lives
  FROM of_life GROUP BY process, name),
unsettled AS ( -- threads were at work when CUPTI was asked for the last time
  SELECT DISTINCT u.process
  FROM of_life u JOIN of_life f ON f.process = u.process AND COALESCE(f.began, 0) = COALESCE(u.began, 0)
  WHERE u.name = 'cupti:unsettled' AND f.name = 'cupti:flush' AND u.t_ns >= f.t_ns),
session AS (SELECT * FROM counter WHERE name = 'cupti:session'),
asked AS (
  SELECT process, COUNT(*) AS lives FROM meta WHERE name = 'env:HITPROOF_CUPTI' AND value = '1'
  GROUP BY process),
used AS ( -- processes that reached a device at all
  SELECT DISTINCT process FROM copy UNION SELECT DISTINCT process FROM memory
  UNION SELECT DISTINCT process FROM order_op),
way AS (
  SELECT 'cupti:d2h' AS name, 0 AS direction UNION ALL SELECT 'cupti:h2d', 1
  UNION ALL SELECT 'cupti:d2d', 2),
ledger AS (
  SELECT process, direction, COUNT(*) AS copies, SUM(bytes) AS bytes
  FROM copy WHERE result = 0 GROUP BY process, direction),
compared AS (
  SELECT s.process, w.name, c.t_ns, COALESCE(c.bytes, 0) AS counted, COALESCE(l.bytes, 0) AS recorded
  FROM session s JOIN way w ON 1 = 1
  LEFT JOIN counter c ON c.process = s.process AND c.name = w.name
  LEFT JOIN ledger l ON l.process = s.process AND l.direction = w.direction
  WHERE s.installed = 1)
SELECT 'bytes_differ' AS violation, 'fail' AS effect, t_ns AS at_ns, NULL AS rank, NULL AS transfer,
       NULL AS request, NULL AS entry, process AS process, NULL AS op,
       SUBSTR(name, 7) || ' ' || CAST(counted AS VARCHAR(40)) AS expected,
       CAST(recorded AS VARCHAR(40)) AS actual
  FROM compared WHERE counted <> recorded AND process NOT IN (SELECT process FROM unsettled)
UNION ALL
SELECT 'still_copying', 'inconclusive', t_ns, NULL, NULL, NULL, NULL, process, NULL,
       SUBSTR(name, 7) || ' ' || CAST(counted AS VARCHAR(40)), CAST(recorded AS VARCHAR(40))
  FROM compared WHERE counted <> recorded AND process IN (SELECT process FROM unsettled)
UNION ALL
SELECT 'session_refused', 'inconclusive', t_ns, NULL, NULL, NULL, NULL, process, NULL, NULL, NULL
  FROM session WHERE installed = 0 AND process IN (SELECT process FROM used)
UNION ALL
SELECT 'activity_dropped', 'inconclusive', t_ns, NULL, NULL, NULL, NULL, process, NULL, NULL,
       CAST(dropped AS VARCHAR(40))
  FROM session WHERE dropped > 0
UNION ALL
SELECT 'session_missing', 'inconclusive', NULL, NULL, NULL, NULL, NULL, a.process, NULL, NULL, NULL
  FROM asked a JOIN used u ON u.process = a.process
  LEFT JOIN session s ON s.process = a.process WHERE COALESCE(s.lives, 0) < a.lives;
