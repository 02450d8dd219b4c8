-- Page moves: announced pages that were copied, per rank and direction (0 save, 1 load).
-- `bytes` are those of the copies joined to them, not those that the announcement claims.
SELECT t.rank AS rank, t.direction AS direction, COUNT(DISTINCT m.entry) AS entries,
       COUNT(*) AS pages, SUM(m.bytes) AS bytes
FROM (SELECT p.transfer, p.entry, p.block, p.token_end, SUM(c.bytes) AS bytes
      FROM transfer_page p JOIN copy c
        ON c.transfer = p.transfer AND c.entry = p.entry AND c.block = p.block AND c.process = p.process
      WHERE p.held = 0 AND c.result = 0
      GROUP BY p.transfer, p.entry, p.block, p.token_end) m
JOIN transfer t ON t.transfer = m.transfer
GROUP BY t.rank, t.direction ORDER BY t.direction, t.rank;
