-- Rule control, inside one recording: the kernel choices that the profile asks for are the ones that
-- were used. One row a violation.
-- Run: sqlite3 data/recording.sqlite < control.sql
WITH
choice AS (
  SELECT rank, name, MAX(CASE WHEN phase = 1 THEN selected END) AS used,
         MAX(recorded) AS recorded, MIN(recorded) AS recorded_too, MIN(t_ns) AS t_ns
  FROM profile GROUP BY rank, name),
per_rank AS (SELECT rank, COUNT(*) AS n FROM choice GROUP BY rank),
most AS (SELECT MAX(n) AS n FROM per_rank),
model_rank AS (SELECT DISTINCT rank FROM entry WHERE origin = 0)
SELECT 'profile_not_in_force' AS violation, 'fail' AS effect, t_ns AS at_ns, rank AS rank, NULL AS transfer,
       NULL AS request, NULL AS entry, NULL AS block, NULL AS op, name || '=' || recorded AS expected,
       selected AS actual
  FROM profile WHERE recorded <> selected AND selected <> ''
UNION ALL -- a kernel that never ran chose nothing, and changed nothing
SELECT 'profile_not_exercised', 'note', t_ns, rank, NULL, NULL, NULL, NULL, NULL, name, NULL
  FROM choice WHERE used = ''
UNION ALL
SELECT 'profile_not_read_back', 'inconclusive', t_ns, rank, NULL, NULL, NULL, NULL, NULL, name, NULL
  FROM choice WHERE used IS NULL
UNION ALL
SELECT 'profile_changed', 'fail', t_ns, rank, NULL, NULL, NULL, NULL, NULL, name || '=' || recorded, recorded_too
  FROM choice WHERE recorded <> recorded_too
UNION ALL
SELECT 'profile_incomplete', 'inconclusive', NULL, r.rank, NULL, NULL, NULL, NULL, NULL,
       CAST(m.n AS VARCHAR(40)), CAST(COALESCE(p.n, 0) AS VARCHAR(40))
  FROM model_rank r CROSS JOIN most m LEFT JOIN per_rank p ON p.rank = r.rank
  WHERE COALESCE(p.n, 0) < COALESCE(m.n, 1);
