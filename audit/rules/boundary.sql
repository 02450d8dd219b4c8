-- Rule boundary: what a restored state covers is where the engine resumes, B = p, on every rank and in
-- every state entry; scheduled = N - B, p <= N - 1, no drafts in the first step; and each saved state
-- is filed under the boundary that it holds. B_content is joined by digest: the tokens that the model
-- runner had folded into a page of the same rank and entry with the same content. One row a violation.
-- Run: sqlite3 data/recording.sqlite < boundary.sql
WITH
state_entry AS (
  SELECT rank, entry, MAX(tokens_per_page) AS chunk FROM entry
  WHERE origin = 0 AND kind = 2 GROUP BY rank, entry),
grid AS (SELECT MAX(chunk) AS chunk FROM state_entry),
ranks AS (SELECT COUNT(DISTINCT rank) AS n FROM entry WHERE origin = 0),
prompt AS (SELECT request, MAX(prompt_tokens) AS n FROM request GROUP BY request),
admitted AS ( -- newest admission of the request when the load was announced
  SELECT *, CAST(MAX(CASE WHEN what = 0 THEN at_time END) OVER (
    PARTITION BY request ORDER BY at_time, what ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS admitted_ns
  FROM (SELECT 0 AS what, request, t_ns AS at_time, CAST(0 AS BIGINT) AS transfer FROM admission
        UNION ALL
        SELECT 1, request, t_ns, transfer FROM transfer WHERE direction = 1)),
reload AS (
  SELECT t.transfer, t.request, t.rank, t.boundary, t.token_end, t.t_ns, a.computed, a.scheduled,
         a.drafts, a.label_boundary, a.local_hit, a.external_hit, p.n
  FROM transfer t
  LEFT JOIN admitted d ON d.what = 1 AND d.transfer = t.transfer
  LEFT JOIN admission a ON a.request = t.request AND a.t_ns = d.admitted_ns
  LEFT JOIN prompt p ON p.request = t.request
  WHERE t.direction = 1),
first_step AS (
  SELECT transfer, rank, request, MIN(start) AS start, MIN(tokens) AS tokens, MAX(drafts) AS drafts,
         MIN(prompt_tokens) AS n, MIN(t_ns) AS t_ns
  FROM step_request WHERE transfer <> 0 GROUP BY transfer, rank, request),
state_page AS ( -- device digest of each state page that a transfer left (save) or landed (load)
  SELECT t.transfer, t.request, t.rank, t.direction, t.boundary, t.t_ns, d.entry, d.block, d.content
  FROM page_digest d JOIN transfer t ON t.transfer = d.transfer
  JOIN state_entry e ON e.rank = t.rank AND e.entry = d.entry
  WHERE d.place = 0 AND d.moment = t.direction),
computed_state AS ( -- distinct: one digest may stand for several token counts
  SELECT DISTINCT rank, entry, content, tokens FROM state),
held AS (
  SELECT p.transfer, p.request, p.rank, p.direction, p.boundary, p.t_ns, p.entry, p.block,
         COUNT(c.tokens) AS candidates, MIN(c.tokens) AS tokens,
         SUM(CASE WHEN c.tokens = p.boundary THEN 1 ELSE 0 END) AS as_labelled,
         SUM(CASE WHEN c.tokens = r.computed THEN 1 ELSE 0 END) AS as_computed, MAX(r.computed) AS computed
  FROM state_page p
  LEFT JOIN computed_state c ON c.rank = p.rank AND c.entry = p.entry AND c.content = p.content
  LEFT JOIN reload r ON r.transfer = p.transfer
  GROUP BY p.transfer, p.request, p.rank, p.direction, p.boundary, p.t_ns, p.entry, p.block),
seen AS (SELECT transfer, COUNT(*) AS pages FROM state_page GROUP BY transfer),
per_request AS (
  SELECT request, COUNT(DISTINCT rank) AS n, MIN(boundary) AS least, MAX(boundary) AS most,
         MIN(t_ns) AS t_ns, MIN(transfer) AS transfer FROM reload GROUP BY request),
holding AS (
  SELECT lookup, MIN(answer_tokens) AS least FROM lookup_answer GROUP BY lookup),
asked AS (SELECT lookup, MAX(request) AS request, MAX(answer_tokens) AS answer, MIN(t_ns) AS t_ns
          FROM lookup GROUP BY lookup),
due AS ( -- reloads that the study did and that had something to load
  SELECT o.op, o.request, o.prompt_tokens FROM study_operation o CROSS JOIN grid g
  WHERE o.kind = 'reload' AND o.arm <> 'control' AND o.prompt_tokens > g.chunk),
served AS (SELECT DISTINCT request FROM transfer WHERE direction = 1)
SELECT 'label_is_not_p' AS violation, 'fail' AS effect, t_ns AS at_ns, rank AS rank, transfer AS transfer,
       request AS request, NULL AS entry, NULL AS block, NULL AS op, CAST(boundary AS VARCHAR(40)) AS expected,
       CAST(computed AS VARCHAR(40)) AS actual
  FROM reload WHERE boundary <> computed
UNION ALL
SELECT 'content_is_not_p', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(tokens AS VARCHAR(40)), CAST(computed AS VARCHAR(40))
  FROM held WHERE direction = 1 AND candidates > 0 AND as_computed = 0 AND computed IS NOT NULL
UNION ALL
SELECT 'content_is_not_label', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(tokens AS VARCHAR(40)), CAST(boundary AS VARCHAR(40))
  FROM held WHERE direction = 1 AND candidates > 0 AND as_labelled = 0
UNION ALL
SELECT 'filed_under_another_boundary', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(tokens AS VARCHAR(40)), CAST(boundary AS VARCHAR(40))
  FROM held WHERE direction = 0 AND candidates > 0 AND as_labelled = 0
UNION ALL
SELECT 'content_unknown', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM held WHERE candidates = 0
UNION ALL
SELECT 'content_not_observed', 'inconclusive', r.t_ns, r.rank, r.transfer, r.request, NULL, NULL, NULL,
       CAST(r.boundary AS VARCHAR(40)), NULL
  FROM reload r LEFT JOIN seen s ON s.transfer = r.transfer WHERE s.pages IS NULL
UNION ALL
SELECT 'admission_missing', 'inconclusive', t_ns, rank, transfer, request, NULL, NULL, NULL, NULL, NULL
  FROM reload WHERE computed IS NULL OR n IS NULL
UNION ALL
SELECT 'label_is_not_admitted', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(boundary AS VARCHAR(40)), CAST(label_boundary AS VARCHAR(40))
  FROM reload WHERE label_boundary <> boundary
UNION ALL
SELECT 'credited_more_than_found', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(local_hit + external_hit AS VARCHAR(40)), CAST(computed AS VARCHAR(40))
  FROM reload WHERE computed > local_hit + external_hit
UNION ALL
SELECT 'credited_more_than_loaded', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(token_end AS VARCHAR(40)), CAST(computed AS VARCHAR(40)) FROM reload WHERE computed > token_end
UNION ALL
SELECT 'nothing_left_to_compute', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL,
       CAST(n - 1 AS VARCHAR(40)), CAST(computed AS VARCHAR(40)) FROM reload WHERE computed > n - 1
UNION ALL
SELECT 'scheduled_is_not_the_suffix', 'fail', r.t_ns, r.rank, r.transfer, r.request, NULL, NULL, NULL,
       CAST(r.n - r.boundary AS VARCHAR(40)), CAST(r.scheduled AS VARCHAR(40))
  FROM reload r CROSS JOIN grid g
  WHERE r.scheduled <> r.n - r.boundary
    AND NOT (r.scheduled < r.n - r.boundary AND (r.computed + r.scheduled) % g.chunk = 0)
UNION ALL
SELECT 'resumes_elsewhere', 'fail', f.t_ns, r.rank, r.transfer, r.request, NULL, NULL, NULL,
       CAST(r.computed AS VARCHAR(40)), CAST(f.start AS VARCHAR(40))
  FROM reload r JOIN first_step f ON f.transfer = r.transfer AND f.rank = r.rank WHERE f.start <> r.computed
UNION ALL
SELECT 'step_is_not_as_scheduled', 'fail', f.t_ns, r.rank, r.transfer, r.request, NULL, NULL, NULL,
       CAST(r.scheduled AS VARCHAR(40)), CAST(f.tokens AS VARCHAR(40))
  FROM reload r JOIN first_step f ON f.transfer = r.transfer AND f.rank = r.rank
  WHERE f.tokens <> r.scheduled
UNION ALL
SELECT 'first_step_unknown', 'inconclusive', r.t_ns, r.rank, r.transfer, r.request, NULL, NULL, NULL, NULL, NULL
  FROM reload r LEFT JOIN first_step f ON f.transfer = r.transfer AND f.rank = r.rank WHERE f.transfer IS NULL
UNION ALL
SELECT 'drafts_in_the_first_step', 'fail', r.t_ns, r.rank, r.transfer, r.request, NULL, NULL, NULL, '0',
       CAST(CASE WHEN f.drafts > r.drafts THEN f.drafts ELSE r.drafts END AS VARCHAR(40))
  FROM reload r LEFT JOIN first_step f ON f.transfer = r.transfer AND f.rank = r.rank
  WHERE r.drafts > 0 OR f.drafts > 0
UNION ALL
SELECT 'ranks_disagree', 'fail', t_ns, NULL, transfer, request, NULL, NULL, NULL,
       CAST(least AS VARCHAR(40)), CAST(most AS VARCHAR(40)) FROM per_request WHERE least <> most
UNION ALL
SELECT 'rank_without_load', 'fail', q.t_ns, NULL, q.transfer, q.request, NULL, NULL, NULL,
       CAST(r.n AS VARCHAR(40)), CAST(q.n AS VARCHAR(40)) FROM per_request q CROSS JOIN ranks r WHERE q.n <> r.n
UNION ALL
SELECT 'answer_exceeds_what_is_held', 'fail', a.t_ns, NULL, NULL, a.request, NULL, NULL, NULL,
       CAST(h.least AS VARCHAR(40)), CAST(a.answer AS VARCHAR(40))
  FROM asked a JOIN holding h ON h.lookup = a.lookup WHERE a.answer > h.least
UNION ALL
SELECT 'reload_loaded_nothing', 'inconclusive', NULL, NULL, NULL, d.request, NULL, NULL, d.op,
       CAST(d.prompt_tokens AS VARCHAR(40)), '0'
  FROM due d LEFT JOIN served s ON s.request = d.request WHERE s.request IS NULL;
