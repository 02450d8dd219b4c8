-- Rule evidence: the recording is complete, and what it cannot see is said. One row a violation.
-- Run: sqlite3 data/recording.sqlite < evidence.sql
WITH
fact AS (SELECT key, value FROM recording),
every_record AS ( -- sequence numbers count from 1 in each thread, over all tables
  SELECT process, thread, seq FROM process
  UNION ALL SELECT process, thread, seq FROM meta
  UNION ALL SELECT process, thread, seq FROM coverage
  UNION ALL SELECT process, thread, seq FROM profile
  UNION ALL SELECT process, thread, seq FROM entry
  UNION ALL SELECT process, thread, seq FROM entry_shape
  UNION ALL SELECT process, thread, seq FROM memory
  UNION ALL SELECT process, thread, seq FROM hook
  UNION ALL SELECT process, thread, seq FROM request
  UNION ALL SELECT process, thread, seq FROM admission
  UNION ALL SELECT process, thread, seq FROM lookup
  UNION ALL SELECT process, thread, seq FROM lookup_answer
  UNION ALL SELECT process, thread, seq FROM key_input
  UNION ALL SELECT process, thread, seq FROM content_input
  UNION ALL SELECT process, thread, seq FROM step
  UNION ALL SELECT process, thread, seq FROM step_request
  UNION ALL SELECT process, thread, seq FROM block
  UNION ALL SELECT process, thread, seq FROM state
  UNION ALL SELECT process, thread, seq FROM transfer
  UNION ALL SELECT process, thread, seq FROM transfer_page
  UNION ALL SELECT process, thread, seq FROM transfer_mark
  UNION ALL SELECT process, thread, seq FROM copy
  UNION ALL SELECT process, thread, seq FROM page_digest
  UNION ALL SELECT process, thread, seq FROM page_compare
  UNION ALL SELECT process, thread, seq FROM page_poison
  UNION ALL SELECT process, thread, seq FROM tail_read
  UNION ALL SELECT process, thread, seq FROM pooled_key
  UNION ALL SELECT process, thread, seq FROM tail_flip
  UNION ALL SELECT process, thread, seq FROM order_op
  UNION ALL SELECT process, thread, seq FROM wait
  UNION ALL SELECT process, thread, seq FROM reuse),
numbered AS (
  SELECT process, thread, COUNT(*) AS n, COUNT(DISTINCT seq) AS different, MAX(seq) AS last
  FROM every_record GROUP BY process, thread),
covered AS (SELECT DISTINCT process FROM coverage),
life AS ( -- an exec begins another in the same process, as does a process that is given an old id
  SELECT process, t_ns AS began, LEAD(t_ns) OVER (PARTITION BY process ORDER BY t_ns) AS next_began
  FROM meta WHERE name = 'probe.version'),
of_life AS ( -- counters grow; in a life the newest row of each counts
  SELECT c.process, c.name, MAX(c.installed) AS installed, MAX(c.calls) AS calls, MAX(c.dropped) AS dropped,
         MAX(c.t_ns) AS t_ns
  FROM coverage c LEFT JOIN life l ON l.process = c.process AND c.t_ns >= l.began
                                  AND (l.next_began IS NULL OR c.t_ns < l.next_began)
  GROUP BY c.process, l.began, c.name),
counter AS (
  SELECT process, name, MAX(installed) AS installed, SUM(calls) AS calls, SUM(dropped) AS dropped, MAX(t_ns) AS t_ns
  FROM of_life GROUP BY process, name),
uncovered AS ( -- an exec that failed takes back the sum (hooks) that was written before it
  SELECT p.process, p.role, p.t_ns FROM process p LEFT JOIN covered c ON c.process = p.process
  WHERE c.process IS NULL
  UNION ALL
  SELECT l.process, '', MIN(l.began) FROM life l JOIN covered d ON d.process = l.process
  LEFT JOIN coverage c ON c.process = l.process AND c.t_ns >= l.began
                      AND (l.next_began IS NULL OR c.t_ns < l.next_began)
  GROUP BY l.process, l.began
  HAVING COALESCE(MAX(CASE WHEN c.name = 'hooks' THEN c.t_ns END), -1)
         < COALESCE(MAX(CASE WHEN c.name = 'exec:failed' THEN c.t_ns END), 0))
SELECT 'records_missing' AS violation, 'inconclusive' AS effect, NULL AS at_ns, NULL AS rank, NULL AS transfer,
       NULL AS request, NULL AS entry, process AS process, NULL AS op, CAST(last AS VARCHAR(40)) AS expected,
       CAST(different AS VARCHAR(40)) AS actual
  FROM numbered WHERE last > different
UNION ALL
SELECT 'records_doubled', 'inconclusive', NULL, NULL, NULL, NULL, NULL, process, NULL, CAST(different AS VARCHAR(40)),
       CAST(n AS VARCHAR(40))
  FROM numbered WHERE n > different
UNION ALL
SELECT 'not_closed', 'inconclusive', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1', MAX(value)
  FROM fact WHERE key = 'closed' HAVING COALESCE(MAX(value), '0') <> '1'
UNION ALL
SELECT 'not_completed', 'inconclusive', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'completed', value
  FROM fact WHERE key = 'closed_reason' AND value NOT IN ('completed', '')
UNION ALL
SELECT 'records_dropped', 'inconclusive', t_ns, NULL, NULL, NULL, NULL, process, NULL, name, CAST(dropped AS VARCHAR(40))
  FROM counter WHERE dropped > 0
UNION ALL
SELECT 'recorder_dropped', 'inconclusive', NULL, NULL, NULL, NULL, NULL, NULL, NULL, key, value
  FROM fact WHERE key IN ('dropped', 'gaps', 'damaged_slots', 'live_writers') AND value NOT IN ('0', '')
UNION ALL
SELECT 'journal_incomplete', 'inconclusive', NULL, NULL, NULL, NULL, NULL, pid, NULL, CAST(tid AS VARCHAR(40)),
       CAST(gaps + damaged + dropped AS VARCHAR(40))
  FROM journal_file WHERE gaps + damaged + dropped > 0
UNION ALL
SELECT 'process_died', 'inconclusive', NULL, NULL, NULL, NULL, NULL, pid, NULL, role,
       CAST(CASE WHEN signal <> 0 THEN signal ELSE status END AS VARCHAR(40))
  FROM process_exit WHERE signal <> 0 OR status <> 0
UNION ALL
SELECT 'coverage_missing', 'inconclusive', MIN(t_ns), NULL, NULL, NULL, NULL, process, NULL, MAX(role), NULL
  FROM uncovered GROUP BY process
UNION ALL
SELECT 'blind_path_used', 'inconclusive', t_ns, NULL, NULL, NULL, NULL, process, NULL, name, CAST(calls AS VARCHAR(40))
  FROM counter WHERE name LIKE 'path:%' AND installed = 1 AND calls > 0
UNION ALL
SELECT 'blind_path_exists', 'note', t_ns, NULL, NULL, NULL, NULL, process, NULL, name, CAST(calls AS VARCHAR(40))
  FROM counter WHERE name LIKE 'path:%' AND installed = 0
UNION ALL
SELECT 'results_changed_on_purpose', 'inconclusive', MIN(t_ns), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM tail_flip HAVING COUNT(*) > 0
UNION ALL
SELECT 'excluded', 'note', NULL, NULL, NULL, NULL, NULL, NULL, NULL, what, reason FROM exclusion;
