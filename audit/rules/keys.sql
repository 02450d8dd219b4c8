-- Rule keys: everything that the cached bytes depend on is among the inputs of the key they are filed
-- under, with the same value, and one key never names two contents. One row a violation.
-- Run: sqlite3 data/recording.sqlite < keys.sql
WITH
filed AS (
  SELECT key, rank, MIN(transfer) AS transfer, MIN(request) AS request, MIN(t_ns) AS t_ns
  FROM transfer WHERE direction = 0 GROUP BY key, rank),
content AS (SELECT DISTINCT process, rank, name, value FROM content_input),
input AS (SELECT DISTINCT key, rank, name, value FROM key_input),
input_name AS (SELECT DISTINCT key, rank, name FROM key_input),
known AS (SELECT key, rank, COUNT(*) AS inputs FROM input GROUP BY key, rank),
check_one AS ( -- per process that has this rank: how many of its inputs the key lacks or has otherwise
  SELECT f.key, f.rank, f.transfer, f.request, f.t_ns, c.process,
         SUM(CASE WHEN n.name IS NULL THEN 1 ELSE 0 END) AS absent,
         MIN(CASE WHEN n.name IS NULL THEN c.name END) AS absent_name,
         SUM(CASE WHEN n.name IS NOT NULL AND i.name IS NULL THEN 1 ELSE 0 END) AS other,
         MIN(CASE WHEN n.name IS NOT NULL AND i.name IS NULL THEN c.name END) AS other_name
  FROM filed f JOIN known k ON k.key = f.key AND k.rank = f.rank
  JOIN content c ON c.rank = f.rank
  LEFT JOIN input_name n ON n.key = f.key AND n.rank = f.rank AND n.name = c.name
  LEFT JOIN input i ON i.key = f.key AND i.rank = f.rank AND i.name = c.name AND i.value = c.value
  GROUP BY f.key, f.rank, f.transfer, f.request, f.t_ns, c.process),
best AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY key, rank ORDER BY absent + other, process) AS n FROM check_one),
scope AS (SELECT entry, MAX(key_scope) AS key_scope FROM entry WHERE origin = 0 GROUP BY entry),
named AS ( -- device content at the moment it was saved, under key and, where it matters, next token;
           -- also of another engine that used the same cache
  SELECT t.key, d.entry, CASE WHEN s.key_scope = 1 THEN t.next_token ELSE 0 END AS next_token,
         COUNT(DISTINCT d.content) AS contents, MIN(t.transfer) AS transfer, MIN(t.rank) AS rank,
         MIN(t.request) AS request, MAX(t.t_ns) AS t_ns, MAX(d.block) AS block
  FROM page_digest d JOIN main.transfer t ON t.transfer = d.transfer
  JOIN scope s ON s.entry = d.entry
  WHERE t.direction = 0 AND d.place = 0 AND d.moment = 0
    AND NOT (s.key_scope = 1 AND t.next_token = 4294967295)
  GROUP BY t.key, d.entry, CASE WHEN s.key_scope = 1 THEN t.next_token ELSE 0 END)
SELECT 'content_input_not_in_key' AS violation, 'fail' AS effect, t_ns AS at_ns, rank AS rank,
       transfer AS transfer, request AS request, NULL AS entry, NULL AS block, NULL AS op,
       absent_name AS expected, NULL AS actual
  FROM best WHERE n = 1 AND absent > 0
UNION ALL
SELECT 'key_input_has_another_value', 'fail', t_ns, rank, transfer, request, NULL, NULL, NULL, other_name, NULL
  FROM best WHERE n = 1 AND other > 0
UNION ALL
SELECT 'key_inputs_unknown', 'inconclusive', f.t_ns, f.rank, f.transfer, f.request, NULL, NULL, NULL, NULL, NULL
  FROM filed f LEFT JOIN known k ON k.key = f.key AND k.rank = f.rank WHERE k.inputs IS NULL
UNION ALL
SELECT 'content_inputs_unknown', 'inconclusive', f.t_ns, f.rank, f.transfer, f.request, NULL, NULL, NULL, NULL, NULL
  FROM (SELECT rank, MIN(t_ns) AS t_ns, MIN(transfer) AS transfer, MIN(request) AS request FROM filed GROUP BY rank) f
  LEFT JOIN (SELECT DISTINCT rank FROM content) c ON c.rank = f.rank WHERE c.rank IS NULL
UNION ALL
SELECT 'one_key_two_contents', 'fail', t_ns, rank, transfer, request, entry, block, NULL, '1',
       CAST(contents AS VARCHAR(40)) FROM named WHERE contents > 1;
