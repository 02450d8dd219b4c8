-- Rule generations, arm against arm: this recording (the candidate) against the reference (the
-- control), operation by operation. One row a violation; `actual` is the index of the first token
-- that differs. A control that never reloads (that of a performance study) generated the prompt of a
-- reload when it was cold: the two are compared.
-- Run: sqlite3 data/recording.sqlite -cmd "ATTACH 'data/reference/recording.sqlite' AS reference" < generations_arms.sql
WITH -- the same prompt for the same purpose, first with first, second with second: the arms may number cases otherwise
control_reloads AS (SELECT COUNT(*) AS n FROM reference.study_operation WHERE kind = 'reload'),
candidate AS (
  SELECT o.*, CASE WHEN o.kind = 'reload' AND c.n = 0 THEN 'cold' ELSE o.kind END AS against,
         ROW_NUMBER() OVER (PARTITION BY o.prompt, o.kind ORDER BY o.op) AS place
  FROM study_operation o CROSS JOIN control_reloads c
  WHERE o.kind <> 'reset'),
control AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY prompt, kind ORDER BY op) AS place FROM reference.study_operation
  WHERE kind <> 'reset'),
pair AS (
  SELECT a.op, b.op AS control_op, a.request, a.begin_ns, a.prompt_tokens
  FROM candidate a JOIN control b ON b.prompt = a.prompt AND b.kind = a.against AND b.place = a.place),
length AS (SELECT op, COUNT(*) AS tokens FROM study_token GROUP BY op),
control_length AS (SELECT op, COUNT(*) AS tokens FROM reference.study_token GROUP BY op),
difference AS (
  SELECT p.op, MIN(CASE WHEN a.token <> b.token THEN a.position END) AS token_at,
         MIN(CASE WHEN a.logits <> b.logits THEN a.position END) AS logits_at
  FROM pair p JOIN study_token a ON a.op = p.op
  JOIN reference.study_token b ON b.op = p.control_op AND b.position = a.position
  GROUP BY p.op)
SELECT 'candidate_differs_from_control' AS violation, 'fail' AS effect, p.begin_ns AS at_ns, NULL AS rank,
       NULL AS transfer, p.request AS request, NULL AS entry, NULL AS block, p.op AS op,
       CAST(p.prompt_tokens AS VARCHAR(40)) AS expected, CAST(d.token_at AS VARCHAR(40)) AS actual
  FROM pair p JOIN difference d ON d.op = p.op WHERE d.token_at IS NOT NULL
UNION ALL
SELECT 'candidate_logits_differ', 'fail', p.begin_ns, NULL, NULL, p.request, NULL, NULL, p.op,
       CAST(p.prompt_tokens AS VARCHAR(40)), CAST(d.logits_at AS VARCHAR(40))
  FROM pair p JOIN difference d ON d.op = p.op WHERE d.logits_at IS NOT NULL AND d.token_at IS NULL
UNION ALL
SELECT 'candidate_has_another_length', 'fail', p.begin_ns, NULL, NULL, p.request, NULL, NULL, p.op,
       CAST(b.tokens AS VARCHAR(40)), CAST(a.tokens AS VARCHAR(40))
  FROM pair p JOIN length a ON a.op = p.op JOIN control_length b ON b.op = p.control_op
  WHERE a.tokens <> b.tokens
UNION ALL
SELECT 'operation_without_control', 'inconclusive', a.begin_ns, NULL, NULL, a.request, NULL, NULL, a.op, a.kind,
       NULL
  FROM candidate a LEFT JOIN control b ON b.prompt = a.prompt AND b.kind = a.against AND b.place = a.place
  LEFT JOIN control_length l ON l.op = b.op
  WHERE l.tokens IS NULL;
