-- The same as timings.sql for the control arm, attached as reference: one row an operation that generated
-- something. `path` is what the request really did (admission.source): 0 recomputed, 1 local reuse, 2 external
-- reload, 3 both; NULL where no admission is recorded. `prompt` is its digest in hexadecimal: engines print bytes each in
-- its own way. Milliseconds; `rate` is tokens per second after the first.
-- Run: sqlite3 -cmd "ATTACH 'data/reference/recording.sqlite' AS reference" data/recording.sqlite < timings_control.sql
SELECT o.arm AS arm, o.op AS op, o.kind AS kind, o.prompt_tokens AS prompt_tokens, HEX(o.prompt) AS prompt,
       a.source AS path, t.tokens AS tokens, (t.first_ns - o.begin_ns) / 1e6 AS ttft_ms,
       (o.end_ns - o.begin_ns) / 1e6 AS total_ms,
       CASE WHEN t.last_ns > t.first_ns THEN (t.tokens - 1) * 1e9 / (t.last_ns - t.first_ns) END AS rate
FROM reference.study_operation o
JOIN (SELECT op, MIN(t_ns) AS first_ns, MAX(t_ns) AS last_ns, COUNT(*) AS tokens FROM reference.study_token GROUP BY op) t
  ON t.op = o.op
LEFT JOIN (SELECT request, MAX(source) AS source FROM reference.admission GROUP BY request) a ON a.request = o.request
WHERE o.status = 'ok' AND o.end_ns > o.begin_ns AND t.first_ns > o.begin_ns ORDER BY o.op;
