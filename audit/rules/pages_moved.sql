-- Page moves: announced pages that were copied, per rank and direction (0 save, 1 load).
-- `bytes` are those of the copies joined to them, not those that the announcement claims.
-- Run: sqlite3 data/recording.sqlite < pages_moved.sql
SELECT rank, direction, COUNT(DISTINCT entry) AS entries, COUNT(*) AS pages, SUM(bytes) AS bytes
FROM (SELECT t.rank, t.direction, p.transfer, p.entry, p.block, p.token_end, SUM(c.bytes) AS bytes
      FROM transfer t JOIN transfer_page p ON p.transfer = t.transfer
      JOIN copy c
        ON c.transfer = p.transfer AND c.entry = p.entry AND c.block = p.block AND c.process = p.process
      WHERE p.held = 0 AND c.result = 0
      GROUP BY t.rank, t.direction, p.transfer, p.entry, p.block, p.token_end) m
GROUP BY rank, direction ORDER BY direction, rank;
