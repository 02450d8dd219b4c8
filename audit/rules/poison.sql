-- Rule poison: every destination of a load was seen poisoned before its copies, and nothing of the
-- poison was left after them. One row a violation.
-- Run: sqlite3 data/recording.sqlite < poison.sql
WITH
destination AS (
  SELECT t.request, t.rank, t.boundary, p.transfer, p.t_ns, p.entry, p.block, p.generation,
         p.token_end, p.bytes
  FROM transfer_page p JOIN transfer t ON t.transfer = p.transfer WHERE t.direction = 1),
complete AS (
  SELECT transfer, MAX(t_ns) AS t_ns FROM transfer_mark WHERE kind = 3 GROUP BY transfer),
poisoned AS (
  SELECT d.*, q.page_bytes, q.verified_bytes, q.residue_bytes, q.residue_content, q.first_residue,
         q.poison_ns, q.generation AS poison_generation, c.t_ns AS complete_ns
  FROM destination d
  LEFT JOIN page_poison q ON q.transfer = d.transfer AND q.entry = d.entry AND q.block = d.block
                         AND q.token_end = d.token_end AND q.rank = d.rank
  LEFT JOIN complete c ON c.transfer = d.transfer),
declared AS (
  SELECT rank, entry FROM entry WHERE origin = 0 GROUP BY rank, entry HAVING MAX(transferred) = 1),
wanted AS (
  SELECT t.transfer, t.request, t.rank, t.t_ns, d.entry
  FROM transfer t JOIN declared d ON d.rank = t.rank WHERE t.direction = 1),
named AS (SELECT transfer, entry, COUNT(*) AS pages FROM destination GROUP BY transfer, entry)
SELECT 'residue' AS violation, 'fail' AS effect, t_ns AS at_ns, rank AS rank, transfer AS transfer,
       request AS request, entry AS entry, block AS block, NULL AS op,
       CAST(first_residue AS VARCHAR(40)) AS expected, CAST(residue_bytes AS VARCHAR(40)) AS actual
  FROM poisoned WHERE residue_bytes > 0
UNION ALL
SELECT 'destination_never_named', 'fail', w.t_ns, w.rank, w.transfer, w.request, w.entry, NULL, NULL,
       '1', '0'
  FROM wanted w LEFT JOIN named n ON n.transfer = w.transfer AND n.entry = w.entry
  WHERE n.pages IS NULL
UNION ALL
SELECT 'not_poisoned', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(bytes AS VARCHAR(40)), '0' FROM poisoned WHERE page_bytes IS NULL
UNION ALL
SELECT 'poison_not_proved', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(bytes AS VARCHAR(40)), CAST(verified_bytes AS VARCHAR(40))
  FROM poisoned WHERE page_bytes IS NOT NULL AND (verified_bytes <> bytes OR page_bytes <> bytes)
UNION ALL
SELECT 'poison_of_another_generation', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(generation AS VARCHAR(40)), CAST(poison_generation AS VARCHAR(40))
  FROM poisoned WHERE poison_generation <> generation
UNION ALL
SELECT 'poisoned_after_the_copies', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(complete_ns AS VARCHAR(40)), CAST(poison_ns AS VARCHAR(40))
  FROM poisoned WHERE poison_ns > complete_ns OR poison_ns < t_ns;
