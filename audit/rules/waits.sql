-- Rule waits: each save is paired with a wait on its actual completion, by the rank that owns the
-- pages, that ends after it (and after the injected delay); no reuse before. One row a violation.
-- Run: sqlite3 data/recording.sqlite < waits.sql
WITH
named_event AS ( -- everything that names an event; 100 is a completion announced, 101 a wait announced
  SELECT process, event, op AS what, t_ns AS began, end_ns AS ended, seq, CAST(0 AS BIGINT) AS transfer, stream, handle
    FROM order_op WHERE event <> 0 AND result = 0
  UNION ALL
  SELECT process, event, 100, t_ns, t_ns, seq, transfer, 0, NULL FROM transfer_mark
    WHERE kind = 5 AND event <> 0
  UNION ALL
  SELECT process, event, 101, t_ns, end_ns, seq, transfer, 0, NULL FROM wait WHERE kind = 0),
life AS ( -- handles come back: a new life begins where an event is created or opened
  SELECT *, SUM(CASE WHEN what IN (0, 13) THEN 1 ELSE 0 END) OVER (
    PARTITION BY process, event
    ORDER BY CASE WHEN what IN (0, 13) THEN ended ELSE began END, CASE WHEN what IN (0, 13) THEN 0 ELSE 1 END
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS life
  FROM named_event),
handle AS ( -- bytes of IPC handles come back too: an import belongs to the newest earlier export
  SELECT *, CAST(MAX(CASE WHEN what = 12 THEN began END) OVER (
    PARTITION BY handle ORDER BY began ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS exported_ns
  FROM life WHERE what IN (12, 13)),
same AS ( -- an event in one process and the event that it stands for in the process that made it
  SELECT i.process, i.event, i.life, x.process AS made_by, x.event AS made_event, x.life AS made_life
    FROM handle i JOIN handle x ON x.what = 12 AND x.handle = i.handle AND x.began = i.exported_ns
    WHERE i.what = 13
  UNION ALL
  SELECT process, event, life, process, event, life FROM life WHERE what = 100
    GROUP BY process, event, life),
record_after AS (
  SELECT *, MIN(CASE WHEN what = 2 THEN began END) OVER (
    PARTITION BY process, event, life ORDER BY began DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS next_record_ns
  FROM life WHERE what IN (2, 100)),
completion AS (
  SELECT c.transfer, c.process, c.event, c.life, c.next_record_ns, r.stream AS record_stream,
         r.ended AS recorded_ns
  FROM record_after c LEFT JOIN record_after r ON r.what = 2 AND r.process = c.process
   AND r.event = c.event AND r.life = c.life AND r.began = c.next_record_ns
  WHERE c.what = 100),
waited AS ( -- the newest synchronisation on the same event that had ended when the wait ended
  -- The program's clock and the probe's differ by nanoseconds: 1,000 of them count as none.
  SELECT *, MAX(CASE WHEN what IN (3, 4) THEN began END) OVER (
    PARTITION BY process, event, life
    ORDER BY CASE WHEN what = 101 THEN ended WHEN ended - 1000 > began THEN ended - 1000 ELSE began END,
      CASE WHEN what = 101 THEN 1 ELSE 0 END
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sync_ns
  FROM life WHERE what IN (3, 4, 101)),
rank_process AS (SELECT rank, process FROM entry WHERE origin = 0 GROUP BY rank, process),
watched AS (SELECT process, COUNT(*) AS ops FROM order_op GROUP BY process),
moments AS (
  SELECT transfer, MAX(CASE WHEN kind = 1 THEN t_ns END) AS delay_began,
         MAX(CASE WHEN kind = 1 THEN value END) AS delay_asked,
         MAX(CASE WHEN kind = 2 THEN t_ns END) AS delay_ended,
         MAX(CASE WHEN kind = 3 THEN t_ns END) AS complete
  FROM transfer_mark GROUP BY transfer),
delaying AS (SELECT MAX(CASE WHEN mode % 32 >= 16 THEN 1 ELSE 0 END) AS asked FROM process),
candidate AS (
  SELECT t.transfer, t.request, t.rank, t.t_ns, t.stream, t.process, c.event AS completion,
         c.record_stream, c.recorded_ns, w.process AS waiter, w.rank AS wait_rank, w.t_ns AS wait_began,
         w.end_ns AS wait_ended, v.sync_ns,
         CASE WHEN s.made_by = c.process AND s.made_event = c.event AND s.made_life = c.life
              THEN 1 ELSE 0 END AS right_event,
         CASE WHEN w.rank = t.rank AND p.process IS NOT NULL THEN 1 ELSE 0 END AS right_rank
  FROM transfer t
  LEFT JOIN completion c ON c.transfer = t.transfer
  LEFT JOIN wait w ON w.transfer = t.transfer AND w.kind = 0
  LEFT JOIN waited v ON v.what = 101 AND v.transfer = w.transfer AND v.process = w.process
                    AND v.began = w.t_ns AND v.seq = w.seq
  LEFT JOIN same s ON s.process = w.process AND s.event = w.event AND s.life = v.life
  LEFT JOIN rank_process p ON p.process = w.process AND p.rank = t.rank
  WHERE t.direction = 0),
pair AS ( -- per save the wait that proves most
  SELECT c.*, m.delay_began, m.delay_asked, m.delay_ended, m.complete, COALESCE(o.ops, 0) AS ops
  FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY transfer ORDER BY right_event DESC, right_rank DESC,
               CASE WHEN sync_ns >= wait_began - 1000 THEN 0 ELSE 1 END, wait_ended) AS n FROM candidate) c
  LEFT JOIN moments m ON m.transfer = c.transfer
  LEFT JOIN rank_process p ON p.rank = c.rank
  LEFT JOIN watched o ON o.process = p.process
  WHERE c.n = 1),
source AS (
  SELECT DISTINCT p.transfer, p.block FROM transfer_page p JOIN transfer t ON t.transfer = p.transfer
  WHERE t.direction = 0),
given_out AS ( -- next time a saved block's id is given out after the save was announced
  SELECT what, transfer, block, t_ns, MIN(CASE WHEN what = 1 THEN t_ns END) OVER (
    PARTITION BY block ORDER BY t_ns DESC, what ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS next_ns
  FROM (SELECT 1 AS what, CAST(0 AS BIGINT) AS transfer, block, t_ns FROM block WHERE op = 0
        UNION ALL
        SELECT 0, s.transfer, s.block, t.t_ns FROM source s JOIN transfer t ON t.transfer = s.transfer))
SELECT 'save_not_waited_for' AS violation, CASE WHEN ops > 0 THEN 'fail' ELSE 'inconclusive' END AS effect,
       t_ns AS at_ns, rank AS rank, transfer AS transfer, request AS request, NULL AS entry, NULL AS block,
       NULL AS op, '1' AS expected, '0' AS actual
  FROM pair WHERE wait_began IS NULL
UNION ALL
SELECT 'wait_of_another_rank', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(rank AS VARCHAR(40)), CAST(wait_rank AS VARCHAR(40))
  FROM pair WHERE wait_began IS NOT NULL AND right_rank = 0
UNION ALL
SELECT 'wait_on_another_event', CASE WHEN ops > 0 THEN 'fail' ELSE 'inconclusive' END, t_ns, rank, transfer,
       request, NULL, NULL, NULL, NULL, NULL
  FROM pair WHERE wait_began IS NOT NULL AND completion IS NOT NULL AND right_rank = 1 AND right_event = 0
UNION ALL
SELECT 'wait_without_synchronisation', CASE WHEN ops > 0 THEN 'fail' ELSE 'inconclusive' END, t_ns, rank,
       transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM pair WHERE right_event = 1 AND (sync_ns IS NULL OR sync_ns < wait_began - 1000)
UNION ALL
SELECT 'waited_before_it_was_recorded', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(recorded_ns AS VARCHAR(40)), CAST(sync_ns AS VARCHAR(40))
  FROM pair WHERE right_event = 1 AND sync_ns >= wait_began - 1000 AND sync_ns < recorded_ns
UNION ALL
SELECT 'announcement_not_closed', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM pair WHERE completion IS NULL
UNION ALL
SELECT 'completion_never_recorded', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM pair WHERE completion IS NOT NULL AND recorded_ns IS NULL
UNION ALL
SELECT 'completion_on_another_stream', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(stream AS VARCHAR(40)), CAST(record_stream AS VARCHAR(40))
  FROM pair WHERE record_stream <> stream
UNION ALL
SELECT 'never_completed', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM pair WHERE complete IS NULL
UNION ALL
SELECT 'ended_before_completion', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(complete AS VARCHAR(40)), CAST(wait_ended AS VARCHAR(40))
  FROM pair WHERE wait_ended < complete
UNION ALL
SELECT 'delay_missing', 'inconclusive', p.t_ns, p.rank, p.transfer, p.request, NULL, NULL, NULL, NULL, NULL
  FROM pair p CROSS JOIN delaying d WHERE d.asked = 1 AND (p.delay_began IS NULL OR p.delay_ended IS NULL)
UNION ALL
SELECT 'delay_too_short', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(delay_asked AS VARCHAR(40)), CAST(delay_ended - delay_began AS VARCHAR(40))
  FROM pair WHERE delay_ended - delay_began < delay_asked
UNION ALL
SELECT 'delay_not_covered', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(delay_ended AS VARCHAR(40)), CAST(wait_ended AS VARCHAR(40))
  FROM pair WHERE wait_ended < delay_ended
UNION ALL
SELECT 'page_reused_before_wait_ended', 'fail', u.t_ns, u.rank, u.transfer, p.request, u.entry, u.block, NULL,
       CAST(p.wait_ended AS VARCHAR(40)), CAST(u.t_ns AS VARCHAR(40))
  FROM reuse u JOIN pair p ON p.transfer = u.transfer
  WHERE p.wait_ended IS NULL OR u.t_ns < p.wait_ended
UNION ALL
SELECT 'page_given_out_before_wait_ended', 'fail', g.next_ns, p.rank, p.transfer, p.request, NULL, g.block,
       NULL, CAST(p.wait_ended AS VARCHAR(40)), CAST(g.next_ns AS VARCHAR(40))
  FROM given_out g JOIN pair p ON p.transfer = g.transfer
  WHERE g.what = 0 AND g.next_ns < p.wait_ended;
