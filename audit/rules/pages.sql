-- Rule pages: bytes that landed equal bytes that left, and every entry that the model registered as
-- transferred is covered, per rank and per direction. One row a violation.
-- Run: sqlite3 data/recording.sqlite < pages.sql
WITH
declared AS ( -- the model's own list, one row per rank and entry
  SELECT rank, entry, MAX(kind) AS kind, MAX(transferred) AS transferred,
         MAX(page_bytes) AS page_bytes, MAX(content_bytes) AS content_bytes,
         MAX(page_stride) AS page_stride, MAX(storage_offset) AS storage_offset
  FROM entry WHERE origin = 0 GROUP BY rank, entry),
mapped AS ( -- where each process sees an entry; the model's own process where nobody else maps it
  SELECT DISTINCT process, rank, entry, base, page_stride, page_bytes, content_bytes, num_pages, origin
  FROM entry),
page AS (
  SELECT t.request, t.rank, t.direction, t.boundary, t.token_begin AS from_token,
         t.token_end AS to_token, p.transfer, p.process, p.thread, p.seq, p.t_ns, p.rank AS page_rank,
         p.entry, p.block, p.generation, p.token_begin, p.token_end, p.device_address,
         p.host_address, p.host_object, p.host_offset, p.bytes, p.held
  FROM transfer_page p JOIN transfer t ON t.transfer = p.transfer),
addressed AS ( -- does the announced address follow from a registration of that process?
  SELECT p.transfer, p.rank, p.entry, p.block, p.token_end, p.request, p.t_ns,
         COUNT(m.base) AS maps,
         MAX(CASE WHEN p.device_address = m.base + p.block * m.page_stride
                   AND p.bytes = m.page_bytes THEN 1 ELSE 0 END) AS as_registered,
         MAX(m.base + p.block * m.page_stride) AS registered, MAX(p.device_address) AS announced
  FROM page p LEFT JOIN mapped m
    ON m.process = p.process AND m.rank = p.rank AND m.entry = p.entry
  GROUP BY p.transfer, p.rank, p.entry, p.block, p.token_end, p.request, p.t_ns),
moved AS ( -- copies that touch an announced page, split into those that are right in every respect
  SELECT p.transfer, p.entry, p.block, p.token_end, COUNT(c.bytes) AS copies,
         SUM(CASE WHEN c.result <> 0 THEN 1 ELSE 0 END) AS refused,
         SUM(CASE WHEN c.result = 0 AND c.direction = p.direction
           AND CASE p.direction WHEN 0 THEN c.src ELSE c.dst END >= p.device_address
           AND CASE p.direction WHEN 0 THEN c.src ELSE c.dst END + c.bytes
               <= p.device_address + p.bytes
           AND CASE p.direction WHEN 0 THEN c.src ELSE c.dst END - p.device_address
               = CASE p.direction WHEN 0 THEN c.dst ELSE c.src END - p.host_address
           THEN c.bytes ELSE 0 END) AS right_bytes,
         SUM(CASE WHEN c.result = 0 THEN c.bytes ELSE 0 END) AS all_bytes
  FROM page p LEFT JOIN copy c
    ON c.transfer = p.transfer AND c.entry = p.entry AND c.block = p.block AND c.process = p.process
  GROUP BY p.transfer, p.entry, p.block, p.token_end),
digest AS ( -- what left and what landed; a save leaves the device (place 0), a load the host (1)
  SELECT d.transfer, d.entry, d.block, d.token_end,
         MAX(CASE WHEN d.moment = 0 AND d.place = t.direction THEN d.content END) AS left_content,
         MAX(CASE WHEN d.moment = 0 AND d.place = t.direction THEN d.page END) AS left_page,
         MAX(CASE WHEN d.moment = 1 AND d.place <> t.direction THEN d.content END) AS landed_content,
         MAX(CASE WHEN d.moment = 1 AND d.place <> t.direction THEN d.page END) AS landed_page,
         MIN(d.nonzero) AS nonzero, MIN(d.bytes) AS bytes
  FROM page_digest d JOIN transfer t ON t.transfer = d.transfer
  GROUP BY d.transfer, d.entry, d.block, d.token_end),
leg AS (
  SELECT p.*, m.copies, m.refused, m.right_bytes, m.all_bytes, d.left_content, d.left_page,
         d.landed_content, d.landed_page, d.nonzero, d.bytes AS digest_bytes,
         CAST(MAX(CASE WHEN p.direction = 0 AND p.held = 0 THEN p.t_ns END) OVER (
           PARTITION BY p.process, p.host_object, p.host_offset ORDER BY p.t_ns, p.seq
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS stored_ns
  FROM page p
  JOIN moved m ON m.transfer = p.transfer AND m.entry = p.entry AND m.block = p.block
              AND m.token_end = p.token_end
  LEFT JOIN digest d ON d.transfer = p.transfer AND d.entry = p.entry AND d.block = p.block
                    AND d.token_end = p.token_end),
way AS ( -- a loaded page with the newest save into the same host object
  SELECT l.transfer, l.rank, l.request, l.entry, l.block, l.t_ns, l.stored_ns, s.rank AS saved_rank,
         s.entry AS saved_entry, s.token_end AS saved_token_end, l.token_end,
         s.left_content AS saved_content, s.left_page AS saved_page, l.landed_content, l.landed_page
  FROM leg l LEFT JOIN leg s ON s.direction = 0 AND s.held = 0 AND s.process = l.process
    AND s.host_object = l.host_object AND s.host_offset = l.host_offset AND s.t_ns = l.stored_ns
  WHERE l.direction = 1),
named AS (
  SELECT transfer, entry, COUNT(*) AS pages, SUM(token_end - token_begin) AS tokens,
         MAX(token_end) AS last_token, MAX(rank) AS rank
  FROM page GROUP BY transfer, entry),
wanted AS (
  SELECT t.transfer, t.request, t.rank, t.direction, t.token_begin, t.token_end, t.boundary, t.t_ns,
         d.entry, d.kind
  FROM transfer t JOIN declared d ON d.rank = t.rank AND d.transferred = 1),
ranks AS (SELECT COUNT(DISTINCT rank) AS n FROM declared),
together AS ( -- the same save or load on all ranks
  SELECT request, direction, boundary, COUNT(DISTINCT rank) AS n, MIN(t_ns) AS t_ns, MIN(transfer) AS transfer
  FROM transfer GROUP BY request, direction, boundary),
owner AS (
  SELECT block, generation, MAX(request) AS request FROM block WHERE op = 0 AND request <> 0
  GROUP BY block, generation),
stray AS ( -- copies that touch no announced page
  SELECT process, t_ns, transfer, bytes, direction, CASE direction WHEN 0 THEN src ELSE dst END AS address
  FROM copy WHERE direction IN (0, 1) AND result = 0 AND (transfer = 0 OR entry = 65535)),
region AS (
  SELECT process, MIN(rank) AS rank, MIN(entry) AS entry, base, MAX(num_pages * page_stride) AS bytes
  FROM mapped GROUP BY process, base)
SELECT 'entry_not_covered' AS violation, 'fail' AS effect, w.t_ns AS at_ns, w.rank AS rank,
       w.transfer AS transfer, w.request AS request, w.entry AS entry, NULL AS block, NULL AS op,
       CASE w.direction WHEN 0 THEN 'save' ELSE 'load' END AS expected, '0' AS actual
  FROM wanted w JOIN (SELECT DISTINCT transfer FROM page) g ON g.transfer = w.transfer
  LEFT JOIN named n ON n.transfer = w.transfer AND n.entry = w.entry
  WHERE n.pages IS NULL
UNION ALL
SELECT 'transfer_without_pages', 'inconclusive', t.t_ns, t.rank, t.transfer, t.request, NULL, NULL, NULL,
       CAST(t.pages AS VARCHAR(40)), '0'
  FROM transfer t LEFT JOIN (SELECT DISTINCT transfer FROM page) g ON g.transfer = t.transfer
  WHERE g.transfer IS NULL
UNION ALL
SELECT 'announcements_missing', 'inconclusive', MAX(t.t_ns), MAX(t.rank), t.transfer, MAX(t.request), NULL, NULL,
       NULL, CAST(MAX(t.pages) AS VARCHAR(40)), CAST(COUNT(p.entry) AS VARCHAR(40))
  FROM transfer t JOIN page p ON p.transfer = t.transfer
  GROUP BY t.transfer HAVING MAX(t.pages) > COUNT(p.entry)
UNION ALL
SELECT 'extent_not_covered', 'fail', w.t_ns, w.rank, w.transfer, w.request, w.entry, NULL, NULL,
       CAST(CASE WHEN w.kind IN (0, 1) THEN w.token_end - w.token_begin ELSE w.boundary END AS VARCHAR(40)),
       CAST(CASE WHEN w.kind IN (0, 1) THEN n.tokens ELSE n.last_token END AS VARCHAR(40))
  FROM wanted w JOIN named n ON n.transfer = w.transfer AND n.entry = w.entry
  WHERE (w.kind IN (0, 1) AND (n.tokens <> w.token_end - w.token_begin OR n.last_token <> w.token_end))
     OR (w.kind IN (2, 3) AND (n.pages <> 1 OR n.last_token <> w.boundary))
UNION ALL
SELECT 'entry_not_declared', 'inconclusive', NULL, n.rank, n.transfer, NULL, n.entry, NULL, NULL, NULL, NULL
  FROM named n LEFT JOIN declared d ON d.rank = n.rank AND d.entry = n.entry WHERE d.entry IS NULL
UNION ALL
SELECT 'transfer_missing_on_rank', 'fail', g.t_ns, NULL, g.transfer, g.request, NULL, NULL, NULL,
       CAST(r.n AS VARCHAR(40)), CAST(g.n AS VARCHAR(40))
  FROM together g CROSS JOIN ranks r WHERE r.n > 0 AND g.n <> r.n
UNION ALL
SELECT 'page_of_another_rank', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(rank AS VARCHAR(40)), CAST(page_rank AS VARCHAR(40)) FROM page WHERE page_rank <> rank
UNION ALL
SELECT 'null_block', 'fail', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM page WHERE block = 0
UNION ALL
SELECT 'address_not_registered', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(registered AS VARCHAR(40)), CAST(announced AS VARCHAR(40))
  FROM addressed WHERE maps > 0 AND as_registered = 0
UNION ALL
SELECT 'address_unknown', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM addressed WHERE maps = 0
UNION ALL
SELECT 'map_differs_from_model', 'fail', NULL, m.rank, NULL, NULL, m.entry, NULL, NULL,
       CAST(d.page_stride AS VARCHAR(40)) || '/' || CAST(d.page_bytes AS VARCHAR(40)),
       CAST(m.page_stride AS VARCHAR(40)) || '/' || CAST(m.page_bytes AS VARCHAR(40))
  FROM mapped m JOIN declared d ON d.rank = m.rank AND d.entry = m.entry
  WHERE m.origin = 1 AND (m.page_stride <> d.page_stride OR m.page_bytes <> d.page_bytes
                          OR m.content_bytes <> d.content_bytes)
UNION ALL
SELECT 'page_of_another_request', 'fail', p.t_ns, p.rank, p.transfer, p.request, p.entry, p.block, NULL,
       CAST(p.request AS VARCHAR(40)), CAST(o.request AS VARCHAR(40))
  FROM page p JOIN owner o ON o.block = p.block AND o.generation = p.generation
  WHERE p.direction = 1 AND o.request <> p.request
UNION ALL
SELECT 'page_not_copied', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(bytes AS VARCHAR(40)), '0' FROM leg WHERE held = 0 AND copies = 0
UNION ALL
SELECT 'copy_refused', 'fail', t_ns, rank, transfer, request, entry, block, NULL, '0',
       CAST(refused AS VARCHAR(40)) FROM leg WHERE held = 0 AND refused > 0
UNION ALL
SELECT 'copied_elsewhere', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(all_bytes AS VARCHAR(40)), CAST(right_bytes AS VARCHAR(40))
  FROM leg WHERE held = 0 AND copies > 0 AND right_bytes <> all_bytes
UNION ALL
SELECT 'bytes_do_not_add_up', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(bytes AS VARCHAR(40)), CAST(right_bytes AS VARCHAR(40))
  FROM leg WHERE held = 0 AND copies > refused AND right_bytes = all_bytes AND right_bytes <> bytes
UNION ALL
SELECT 'copy_nobody_announced', 'fail', s.t_ns, r.rank, NULLIF(s.transfer, 0), NULL, r.entry, NULL, NULL,
       '0', CAST(s.bytes AS VARCHAR(40))
  FROM stray s JOIN region r
    ON r.process = s.process AND s.address >= r.base AND s.address < r.base + r.bytes
UNION ALL
SELECT 'digest_missing', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM leg WHERE held = 0 AND (left_content IS NULL OR landed_content IS NULL)
UNION ALL
SELECT 'digest_of_other_bytes', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(bytes AS VARCHAR(40)), CAST(digest_bytes AS VARCHAR(40))
  FROM leg WHERE held = 0 AND digest_bytes <> bytes
UNION ALL
SELECT 'content_differs', 'fail', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM leg WHERE held = 0 AND left_content <> landed_content
UNION ALL
SELECT 'padding_differs', 'fail', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM leg WHERE held = 0 AND left_content = landed_content AND left_page <> landed_page
UNION ALL
SELECT 'content_all_zero', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM leg WHERE held = 0 AND nonzero = 0
UNION ALL
SELECT 'compare_found_difference', 'fail', t_ns, rank, transfer, NULL, entry, block, NULL, '0',
       CAST(content_differ + padding_differ AS VARCHAR(40))
  FROM page_compare WHERE content_differ + padding_differ > 0
UNION ALL
SELECT 'load_without_save', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM way WHERE stored_ns IS NULL
UNION ALL
SELECT 'object_of_another_page', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(entry AS VARCHAR(40)), CAST(saved_entry AS VARCHAR(40))
  FROM way WHERE saved_entry IS NOT NULL
    AND (saved_entry <> entry OR saved_rank <> rank OR saved_token_end <> token_end)
UNION ALL
SELECT 'load_differs_from_save', 'fail', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM way WHERE saved_content IS NOT NULL AND landed_content IS NOT NULL
    AND (saved_content <> landed_content OR saved_page <> landed_page);
