-- Rule control, arm against arm: same weights, same kernel choices, and the same steps wherever nothing
-- was reloaded. One row a violation.
-- Run: sqlite3 data/recording.sqlite -cmd "ATTACH 'data/reference/recording.sqlite' AS reference" < control_arms.sql
WITH -- the same prompt for the same purpose, first with first, second with second: the arms may number cases otherwise
candidate AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY prompt, kind ORDER BY op) AS place FROM study_operation
  WHERE kind <> 'reset'),
control AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY prompt, kind ORDER BY op) AS place FROM reference.study_operation
  WHERE kind <> 'reset'),
reloaded AS (SELECT DISTINCT request FROM transfer WHERE direction = 1),
both_arms AS (
  SELECT a.op, b.op AS control_op, a.request, b.request AS control_request
  FROM candidate a JOIN control b ON b.prompt = a.prompt AND b.kind = a.kind AND b.place = a.place
  WHERE a.request <> 0 AND b.request <> 0),
unequal AS ( -- other tokens lead to other drafts and steps: rule generations answers for those
  SELECT DISTINCT p.op FROM both_arms p JOIN study_token a ON a.op = p.op
  JOIN reference.study_token b ON b.op = p.control_op AND b.position = a.position WHERE a.token <> b.token),
pair AS ( -- generations of which the candidate reloaded nothing
  SELECT p.op, p.request, p.control_request, CASE WHEN u.op IS NULL THEN 1 ELSE 0 END AS equal_tokens
  FROM both_arms p LEFT JOIN reloaded r ON r.request = p.request LEFT JOIN unequal u ON u.op = p.op
  WHERE r.request IS NULL),
shape AS (
  SELECT q.request, q.rank, q.start, q.tokens, q.drafts, q.prompt_tokens, s.requests, s.tokens AS batch, s.t_ns,
         ROW_NUMBER() OVER (PARTITION BY q.request, q.rank ORDER BY q.step) AS n
  FROM step_request q JOIN step s ON s.step = q.step AND s.rank = q.rank AND s.process = q.process),
control_shape AS (
  SELECT q.request, q.rank, q.start, q.tokens, q.drafts, s.requests, s.tokens AS batch,
         ROW_NUMBER() OVER (PARTITION BY q.request, q.rank ORDER BY q.step) AS n
  FROM reference.step_request q
  JOIN reference.step s ON s.step = q.step AND s.rank = q.rank AND s.process = q.process),
different AS (
  SELECT p.op, p.request, a.rank, a.n, a.t_ns, a.start, a.tokens, b.start AS control_start,
         b.tokens AS control_tokens,
         ROW_NUMBER() OVER (PARTITION BY p.op, a.rank ORDER BY a.n) AS first
  FROM pair p JOIN shape a ON a.request = p.request
  LEFT JOIN control_shape b ON b.request = p.control_request AND b.rank = a.rank AND b.n = a.n
  WHERE (p.equal_tokens = 1 OR a.start < a.prompt_tokens)
    AND (b.n IS NULL OR a.start <> b.start OR a.tokens <> b.tokens OR a.drafts <> b.drafts
         OR a.requests <> b.requests OR a.batch <> b.batch)),
steps AS (SELECT request, COUNT(*) AS n FROM shape GROUP BY request),
control_steps AS (SELECT request, COUNT(*) AS n FROM control_shape GROUP BY request),
choice AS (
  SELECT rank, name, MAX(selected) AS selected FROM profile WHERE phase = 1 GROUP BY rank, name),
control_choice AS (
  SELECT rank, name, MAX(selected) AS selected FROM reference.profile WHERE phase = 1 GROUP BY rank, name),
depends AS (SELECT DISTINCT rank, name, value FROM content_input),
control_depends AS (SELECT DISTINCT rank, name, value FROM reference.content_input)
SELECT 'step_differs_from_control' AS violation, 'fail' AS effect, t_ns AS at_ns, rank AS rank,
       NULL AS transfer, request AS request, NULL AS entry, NULL AS block, op AS op,
       CAST(control_start AS VARCHAR(40)) || '+' || CAST(control_tokens AS VARCHAR(40)) AS expected,
       CAST(start AS VARCHAR(40)) || '+' || CAST(tokens AS VARCHAR(40)) AS actual
  FROM different WHERE first = 1
UNION ALL
SELECT 'other_number_of_steps', 'fail', NULL, NULL, NULL, p.request, NULL, NULL, p.op,
       CAST(b.n AS VARCHAR(40)), CAST(a.n AS VARCHAR(40))
  FROM pair p JOIN steps a ON a.request = p.request JOIN control_steps b ON b.request = p.control_request
  WHERE p.equal_tokens = 1 AND a.n <> b.n
UNION ALL
SELECT 'steps_not_recorded', 'inconclusive', NULL, NULL, NULL, p.request, NULL, NULL, p.op, NULL, NULL
  FROM pair p LEFT JOIN steps a ON a.request = p.request
  LEFT JOIN control_steps b ON b.request = p.control_request WHERE a.n IS NULL OR b.n IS NULL
UNION ALL
SELECT 'profile_differs_from_control', 'fail', NULL, a.rank, NULL, NULL, NULL, NULL, NULL,
       a.name || '=' || b.selected, a.selected
  FROM choice a JOIN control_choice b ON b.rank = a.rank AND b.name = a.name WHERE a.selected <> b.selected
UNION ALL
SELECT 'profile_without_control', 'inconclusive', NULL, a.rank, NULL, NULL, NULL, NULL, NULL, a.name, NULL
  FROM choice a LEFT JOIN control_choice b ON b.rank = a.rank AND b.name = a.name WHERE b.name IS NULL
UNION ALL
SELECT 'content_input_differs_from_control', 'fail', NULL, a.rank, NULL, NULL, NULL, NULL, NULL, a.name, NULL
  FROM (SELECT DISTINCT rank, name FROM depends) a
  JOIN (SELECT DISTINCT rank, name FROM control_depends) b ON b.rank = a.rank AND b.name = a.name
  LEFT JOIN (SELECT x.rank, x.name FROM depends x JOIN control_depends y
               ON y.rank = x.rank AND y.name = x.name AND y.value = x.value) m
    ON m.rank = a.rank AND m.name = a.name
  WHERE m.rank IS NULL
UNION ALL
SELECT 'weights_of_control_unknown', 'inconclusive', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'weights', NULL
  FROM (SELECT COUNT(*) AS n FROM depends WHERE name = 'weights') a
  CROSS JOIN (SELECT COUNT(*) AS n FROM control_depends WHERE name = 'weights') b
  WHERE a.n = 0 OR b.n = 0;
