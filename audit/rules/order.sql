-- Rule order: no step reads a loaded page before the load is known to be done, no save copies before
-- its producer is known to be done, and nothing else takes a page while a transfer is on it.
-- One row a violation.
-- Run: sqlite3 data/recording.sqlite < order.sql
WITH
named_event AS ( -- everything that names an event; 100 is a completion announced, 101 a wait announced
  SELECT process, thread, event, op AS what, t_ns AS began, end_ns AS ended, seq, CAST(0 AS BIGINT) AS transfer, stream,
         handle
    FROM order_op WHERE event <> 0 AND result = 0
  UNION ALL
  SELECT process, thread, event, 100, t_ns, t_ns, seq, transfer, 0, NULL FROM transfer_mark
    WHERE kind = 5 AND event <> 0
  UNION ALL
  SELECT process, thread, event, 101, t_ns, end_ns, seq, transfer, 0, NULL FROM wait WHERE kind = 1),
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
  SELECT process, event, life, process, event, life FROM life WHERE what <> 13
    GROUP BY process, event, life
    HAVING SUM(CASE WHEN what = 0 THEN 1 ELSE 0 END) > 0),
watched AS (SELECT process, COUNT(*) AS ops FROM order_op GROUP BY process),
rank_process AS (SELECT rank, process FROM entry WHERE origin = 0 GROUP BY rank, process),
complete AS (SELECT transfer, MAX(t_ns) AS t_ns FROM transfer_mark WHERE kind = 3 GROUP BY transfer),
-- loads: the wait that was proved
completion AS (SELECT transfer, process, event, life FROM life WHERE what = 100),
waited AS (
  SELECT *, MAX(CASE WHEN what IN (3, 4) THEN began END) OVER (
    PARTITION BY process, event, life
    ORDER BY CASE WHEN what = 101 THEN ended WHEN ended - 1000 > began THEN ended - 1000 ELSE began END,
      CASE WHEN what = 101 THEN 1 ELSE 0 END
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS sync_ns -- 1,000 ns: as in rule waits
  FROM life WHERE what IN (3, 4, 101)),
load_wait AS (
  SELECT v.transfer, v.process, MIN(v.ended) AS wait_ended
  FROM waited v JOIN completion c ON c.transfer = v.transfer
  JOIN same s ON s.process = v.process AND s.event = v.event AND s.life = v.life
   AND s.made_by = c.process AND s.made_event = c.event AND s.made_life = c.life
  WHERE v.what = 101 AND v.sync_ns >= v.began - 1000 GROUP BY v.transfer, v.process),
first_read AS (
  SELECT q.transfer, q.request, q.rank, q.process, MIN(s.t_ns) AS t_ns
  FROM step_request q JOIN step s ON s.step = q.step AND s.rank = q.rank AND s.process = q.process
  WHERE q.transfer <> 0 GROUP BY q.transfer, q.request, q.rank, q.process),
read AS (
  SELECT t.transfer, t.request, t.rank, t.t_ns, r.process, r.t_ns AS read_ns, w.wait_ended,
         c.t_ns AS complete_ns, COALESCE(o.ops, 0) AS ops
  FROM transfer t LEFT JOIN first_read r ON r.transfer = t.transfer AND r.rank = t.rank
  LEFT JOIN load_wait w ON w.transfer = t.transfer AND w.process = r.process
  LEFT JOIN complete c ON c.transfer = t.transfer
  LEFT JOIN watched o ON o.process = r.process
  WHERE t.direction = 1),
-- copies: what they are ordered behind
first_copy AS (
  SELECT c.transfer, c.process, MIN(c.thread) AS thread, MIN(c.stream) AS stream, MIN(c.t_ns) AS t_ns,
         MAX(c.access_order) AS access_order
  FROM copy c WHERE c.transfer <> 0 AND c.result = 0 GROUP BY c.transfer, c.process),
produced AS ( -- newest step of the request on that rank that had begun when the transfer was announced
  SELECT what, transfer, rank, request, at_time, MAX(CASE WHEN what = 0 THEN at_time END) OVER (
    PARTITION BY rank, request ORDER BY at_time, what ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS step_ns
  FROM (SELECT 0 AS what, CAST(0 AS BIGINT) AS transfer, q.rank, q.request, s.t_ns AS at_time
          FROM step_request q JOIN step s ON s.step = q.step AND s.rank = q.rank AND s.process = q.process
        UNION ALL
        SELECT 1, transfer, rank, request, t_ns FROM transfer WHERE direction = 0)),
edge AS ( -- a wait of any kind, with the newest record of the event that it stands for
  SELECT *, MAX(CASE WHEN what = 2 THEN at_time END) OVER (
    PARTITION BY made_by, made_event, made_life ORDER BY at_time, CASE WHEN what = 2 THEN 0 ELSE 1 END
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS recorded_ns
  FROM (SELECT l.what, l.process, l.thread, l.stream, l.began AS at_time, s.made_by, s.made_event, s.made_life
          FROM life l JOIN same s ON s.process = l.process AND s.event = l.event AND s.life = l.life
          WHERE l.what IN (3, 4, 5)
        UNION ALL
        SELECT what, process, thread, stream, began, process, event, life FROM life WHERE what = 2)),
behind AS ( -- per save the newest record of its rank that its stream or its thread waits for
  SELECT transfer, MAX(on_stream) AS on_stream, MAX(on_thread) AS on_thread
  FROM (
    SELECT transfer, NULL AS on_thread, MAX(recorded_ns) OVER (
        PARTITION BY process, stream, made_by ORDER BY at_time, CASE WHEN transfer = 0 THEN 0 ELSE 1 END
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS on_stream
    FROM (SELECT CAST(0 AS BIGINT) AS transfer, process, stream, made_by, at_time, recorded_ns FROM edge WHERE what = 5
          UNION ALL
          SELECT f.transfer, f.process, f.stream, p.process, f.t_ns, NULL
            FROM first_copy f JOIN transfer t ON t.transfer = f.transfer AND t.direction = 0
            JOIN rank_process p ON p.rank = t.rank)
    UNION ALL
    SELECT transfer, MAX(recorded_ns) OVER (
        PARTITION BY process, thread, made_by ORDER BY at_time, CASE WHEN transfer = 0 THEN 0 ELSE 1 END
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), NULL
    FROM (SELECT CAST(0 AS BIGINT) AS transfer, process, thread, made_by, at_time, recorded_ns FROM edge WHERE what IN (3, 4)
          UNION ALL
          SELECT f.transfer, f.process, f.thread, p.process, f.t_ns, NULL
            FROM first_copy f JOIN transfer t ON t.transfer = f.transfer AND t.direction = 0
            JOIN rank_process p ON p.rank = t.rank))
  WHERE transfer <> 0 GROUP BY transfer),
save_copy AS (
  SELECT t.transfer, t.request, t.rank, f.t_ns, f.access_order, b.on_stream, b.on_thread, p.step_ns,
         COALESCE(o.ops, 0) AS ops
  FROM first_copy f JOIN transfer t ON t.transfer = f.transfer AND t.direction = 0
  LEFT JOIN behind b ON b.transfer = f.transfer
  LEFT JOIN produced p ON p.what = 1 AND p.transfer = f.transfer
  LEFT JOIN watched o ON o.process = f.process),
-- pages that a transfer is on, from its announcement until its copies are complete
busy AS (
  SELECT DISTINCT t.transfer, t.request, t.rank, t.direction, p.entry, p.block, t.t_ns AS began,
         c.t_ns AS ended
  FROM transfer t JOIN transfer_page p ON p.transfer = t.transfer
  JOIN complete c ON c.transfer = t.transfer),
overlap AS (
  SELECT *, MAX(ended) OVER (PARTITION BY rank, entry, block ORDER BY began, transfer
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS any_ended,
         MAX(CASE WHEN direction = 1 THEN ended END) OVER (
              PARTITION BY rank, entry, block ORDER BY began, transfer
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS load_ended
  FROM busy),
busy_block AS (
  SELECT transfer, MAX(request) AS request, MAX(rank) AS rank, block, MIN(began) AS began, MAX(ended) AS ended
  FROM busy GROUP BY transfer, block),
taken AS ( -- next time the block manager frees or gives out a block after a transfer was announced
  SELECT what, transfer, block, t_ns, MIN(CASE WHEN what = 1 THEN t_ns END) OVER (
    PARTITION BY block ORDER BY t_ns DESC, what ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS next_ns
  FROM (SELECT 1 AS what, CAST(0 AS BIGINT) AS transfer, block, t_ns FROM block WHERE op IN (0, 1)
        UNION ALL
        SELECT 0, transfer, block, began FROM busy_block))
SELECT 'read_before_load_waited_for' AS violation,
       CASE WHEN ops > 0 THEN 'fail' ELSE 'inconclusive' END AS effect,
       read_ns AS at_ns, rank AS rank, transfer AS transfer, request AS request, NULL AS entry,
       NULL AS block, NULL AS op, CAST(wait_ended AS VARCHAR(40)) AS expected, CAST(read_ns AS VARCHAR(40)) AS actual
  FROM read WHERE read_ns IS NOT NULL AND (wait_ended IS NULL OR wait_ended > read_ns)
UNION ALL
SELECT 'read_before_load_complete', 'fail', read_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(complete_ns AS VARCHAR(40)), CAST(read_ns AS VARCHAR(40)) FROM read WHERE complete_ns > read_ns
UNION ALL
SELECT 'load_never_completed', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM read WHERE complete_ns IS NULL
UNION ALL
SELECT 'first_read_not_announced', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM read WHERE read_ns IS NULL
UNION ALL
SELECT 'save_before_producer', CASE WHEN ops > 0 THEN 'fail' ELSE 'inconclusive' END, t_ns, rank, transfer,
       request, NULL, NULL, NULL, NULL, NULL
  FROM save_copy WHERE on_stream IS NULL AND on_thread IS NULL
UNION ALL
SELECT 'producer_wait_is_stale', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(step_ns AS VARCHAR(40)),
       CAST(CASE WHEN COALESCE(on_stream, 0) > COALESCE(on_thread, 0) THEN on_stream ELSE on_thread END AS VARCHAR(40))
  FROM save_copy WHERE (on_stream IS NOT NULL OR on_thread IS NOT NULL)
   AND COALESCE(on_stream, 0) < step_ns AND COALESCE(on_thread, 0) < step_ns
UNION ALL
SELECT 'producer_step_unknown', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM save_copy WHERE step_ns IS NULL
UNION ALL
SELECT 'any_order_behind_a_stream_wait', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, '1',
       CAST(access_order AS VARCHAR(40))
  FROM save_copy WHERE access_order = 3 AND (on_thread IS NULL OR on_thread < step_ns)
UNION ALL
SELECT 'second_transfer_on_a_busy_page', 'fail', began, rank, transfer, request, entry, block, NULL,
       CAST(CASE direction WHEN 1 THEN any_ended ELSE load_ended END AS VARCHAR(40)), CAST(began AS VARCHAR(40))
  FROM overlap WHERE (direction = 1 AND any_ended > began) OR (direction = 0 AND load_ended > began)
UNION ALL
SELECT 'block_taken_while_busy', 'fail', k.next_ns, b.rank, k.transfer, b.request, NULL, k.block, NULL,
       CAST(b.ended AS VARCHAR(40)), CAST(k.next_ns AS VARCHAR(40))
  FROM taken k JOIN busy_block b ON b.transfer = k.transfer AND b.block = k.block
  WHERE k.what = 0 AND k.next_ns < b.ended;
