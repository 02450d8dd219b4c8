-- Rule generations, inside one recording: a reload, and the immediate repeat of a performance study,
-- generate what the cold run of the same prompt generated. One row a violation; `actual` is the index
-- of the first token that differs, or that only one of the two has.
-- Run: sqlite3 data/recording.sqlite < generations.sql
WITH
twin AS (
  SELECT c.op AS cold, r.op AS reload, r.kind, r.request, r.begin_ns, r.prompt_tokens, c.prompt AS cold_prompt,
         r.prompt AS reload_prompt, c.status AS cold_status, r.status AS reload_status
  FROM study_operation c JOIN study_operation r
    ON r.case_index = c.case_index AND r.which = c.which AND r.arm = c.arm
  WHERE c.kind = 'cold' AND r.kind IN ('reload', 'repeat')),
length AS (SELECT op, COUNT(*) AS tokens FROM study_token GROUP BY op),
difference AS (
  SELECT t.reload, MIN(CASE WHEN a.token <> b.token THEN a.position END) AS token_at,
         MIN(CASE WHEN a.logits <> b.logits THEN a.position END) AS logits_at
  FROM twin t JOIN study_token a ON a.op = t.cold
  JOIN study_token b ON b.op = t.reload AND b.position = a.position
  GROUP BY t.reload)
SELECT 'reload_differs_from_cold' AS violation, 'fail' AS effect, t.begin_ns AS at_ns, NULL AS rank,
       NULL AS transfer, t.request AS request, NULL AS entry, NULL AS block, t.reload AS op,
       CAST(t.prompt_tokens AS VARCHAR(40)) AS expected, CAST(d.token_at AS VARCHAR(40)) AS actual
  FROM twin t JOIN difference d ON d.reload = t.reload WHERE t.kind = 'reload' AND d.token_at IS NOT NULL
UNION ALL
SELECT 'reload_logits_differ', 'fail', t.begin_ns, NULL, NULL, t.request, NULL, NULL, t.reload,
       CAST(t.prompt_tokens AS VARCHAR(40)), CAST(d.logits_at AS VARCHAR(40))
  FROM twin t JOIN difference d ON d.reload = t.reload
  WHERE t.kind = 'reload' AND d.logits_at IS NOT NULL AND d.token_at IS NULL
UNION ALL
SELECT 'reload_has_another_length', 'fail', t.begin_ns, NULL, NULL, t.request, NULL, NULL, t.reload,
       CAST(a.tokens AS VARCHAR(40)), CAST(b.tokens AS VARCHAR(40))
  FROM twin t JOIN length a ON a.op = t.cold JOIN length b ON b.op = t.reload
  WHERE t.kind = 'reload' AND a.tokens <> b.tokens
UNION ALL
SELECT 'repeat_differs_from_cold', 'fail', t.begin_ns, NULL, NULL, t.request, NULL, NULL, t.reload,
       CAST(t.prompt_tokens AS VARCHAR(40)),
       CAST(COALESCE(d.token_at, d.logits_at, CASE WHEN a.tokens < b.tokens THEN a.tokens ELSE b.tokens END)
            AS VARCHAR(40))
  FROM twin t JOIN length a ON a.op = t.cold JOIN length b ON b.op = t.reload
  LEFT JOIN difference d ON d.reload = t.reload
  WHERE t.kind = 'repeat' AND (d.token_at IS NOT NULL OR d.logits_at IS NOT NULL OR a.tokens <> b.tokens)
UNION ALL
SELECT 'twin_has_another_prompt', 'inconclusive', begin_ns, NULL, NULL, request, NULL, NULL, reload, NULL, NULL
  FROM twin WHERE cold_prompt <> reload_prompt
UNION ALL
SELECT 'operation_not_finished', 'inconclusive', o.begin_ns, NULL, NULL, o.request, NULL, NULL, o.op, o.kind,
       o.status FROM study_operation o WHERE o.status <> 'ok'
UNION ALL
SELECT 'nothing_generated', 'inconclusive', o.begin_ns, NULL, NULL, o.request, NULL, NULL, o.op, o.kind, '0'
  FROM study_operation o LEFT JOIN length l ON l.op = o.op
  WHERE o.kind <> 'reset' AND o.status = 'ok' AND l.tokens IS NULL;
