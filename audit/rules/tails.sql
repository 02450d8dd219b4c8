-- Rule tails: the tail that the next computation reads, at the address and strides that follow from
-- the registration, is not zero and is what the load wrote. One row a violation.
-- Run: sqlite3 data/recording.sqlite < tails.sql
WITH
tail AS ( -- registered by the model runner, in its own process
  SELECT e.process, e.rank, e.entry, MAX(e.base) AS base, MAX(e.page_stride) AS page_stride,
         MAX(e.content_bytes) AS content_bytes, MAX(e.num_pages) AS num_pages,
         MAX(e.transferred) AS transferred
  FROM entry e WHERE e.origin = 0 AND e.kind = 3 GROUP BY e.process, e.rank, e.entry),
shape AS (
  SELECT process, rank, entry, MAX(shape0 * shape1 * shape2) AS elements, MAX(shape1) AS ring,
         MAX(stride0) AS stride0, MAX(stride1) AS stride1, MAX(stride2) AS stride2
  FROM entry_shape WHERE ndim = 3 GROUP BY process, rank, entry),
seen AS (
  SELECT r.*, t.base, t.page_stride, t.content_bytes, s.elements AS all_elements, s.ring AS all_ring,
         s.stride0 AS s0, s.stride1 AS s1, s.stride2 AS s2,
         t.base + r.block * t.page_stride AS registered
  FROM tail_read r
  LEFT JOIN tail t ON t.process = r.process AND t.rank = r.rank AND t.entry = r.entry
  LEFT JOIN shape s ON s.process = r.process AND s.rank = r.rank AND s.entry = r.entry),
load_of AS (SELECT transfer, request, rank, t_ns FROM transfer WHERE direction = 1),
wanted AS (
  SELECT l.transfer, l.request, l.rank, l.t_ns, t.entry
  FROM load_of l JOIN (SELECT DISTINCT rank, entry FROM tail WHERE transferred = 1) t ON t.rank = l.rank),
reads AS (SELECT transfer, rank, entry, COUNT(*) AS n FROM tail_read WHERE transfer <> 0
          GROUP BY transfer, rank, entry),
landing AS ( -- the page that the load announced for a tail, as offset from page 0, per map of its process
  SELECT p.transfer, p.rank, p.entry, p.block, p.process, p.bytes, e.base AS mapped_base,
         p.device_address - e.base AS landing_offset
  FROM transfer_page p JOIN load_of l ON l.transfer = p.transfer
  JOIN (SELECT DISTINCT process, rank, entry, base FROM entry WHERE kind = 3) e
    ON e.process = p.process AND e.rank = p.rank AND e.entry = p.entry),
followed AS ( -- a read of a restored tail with the page that was to restore it
  SELECT r.transfer, r.request, r.rank, r.entry, r.block, r.t_ns, l.block AS landing_block,
         l.landing_offset, r.effective - r.base AS read_offset, r.naive - r.base AS naive_offset,
         l.mapped_base, l.process AS mapper, l.bytes
  FROM seen r JOIN landing l ON l.transfer = r.transfer AND l.rank = r.rank AND l.entry = r.entry
  WHERE r.transfer <> 0 AND r.base IS NOT NULL),
landed AS ( -- non-zero bytes of a tail where the load put it
  SELECT transfer, rank, entry, MAX(nonzero) AS nonzero FROM page_digest
  WHERE place = 0 AND moment = 1 GROUP BY transfer, rank, entry),
saved AS ( -- a tail that holds the same bytes under two prefixes is not the one that was written
  SELECT t.rank, d.entry, d.content, MAX(t.transfer) AS transfer, MAX(t.request) AS request,
         MAX(t.t_ns) AS t_ns, MAX(d.block) AS block, COUNT(DISTINCT t.key) AS keys
  FROM page_digest d JOIN transfer t ON t.transfer = d.transfer
  JOIN (SELECT DISTINCT rank, entry FROM tail) e ON e.rank = t.rank AND e.entry = d.entry
  WHERE t.direction = 0 AND d.place = 0 AND d.moment = 0 AND d.nonzero > 0
  GROUP BY t.rank, d.entry, d.content)
SELECT 'address_not_registered' AS violation, 'fail' AS effect, t_ns AS at_ns, rank AS rank,
       transfer AS transfer, request AS request, entry AS entry, block AS block, NULL AS op,
       CAST(registered AS VARCHAR(40)) AS expected, CAST(effective AS VARCHAR(40)) AS actual
  FROM seen WHERE base IS NOT NULL AND effective <> registered
UNION ALL
SELECT 'tail_not_registered', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM seen WHERE base IS NULL
UNION ALL
SELECT 'stride_not_registered', 'fail', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(s0 AS VARCHAR(40)) || ',' || CAST(s1 AS VARCHAR(40)) || ',' || CAST(s2 AS VARCHAR(40)),
       CAST(stride0 AS VARCHAR(40)) || ',' || CAST(stride1 AS VARCHAR(40)) || ',' || CAST(stride2 AS VARCHAR(40))
  FROM seen WHERE s0 IS NOT NULL AND (s0 <> stride0 OR s1 <> stride1 OR s2 <> stride2)
UNION ALL
SELECT 'shape_unknown', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL, NULL, NULL
  FROM seen WHERE base IS NOT NULL AND s0 IS NULL
UNION ALL
SELECT 'read_in_part', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(all_elements AS VARCHAR(40)), CAST(elements AS VARCHAR(40))
  FROM seen WHERE all_elements <> elements OR all_ring <> ring
UNION ALL
SELECT 'only_zeros', 'inconclusive', t_ns, rank, transfer, request, entry, block, NULL,
       CAST(elements AS VARCHAR(40)), CAST(naive_nonzero AS VARCHAR(40))
  FROM seen WHERE nonzero = 0
UNION ALL
SELECT 'only_at_contiguous_address', 'fail', r.t_ns, r.rank, r.transfer, r.request, r.entry, r.block, NULL,
       CAST(r.elements AS VARCHAR(40)), CAST(r.naive_nonzero AS VARCHAR(40))
  FROM seen r JOIN landed l ON l.transfer = r.transfer AND l.rank = r.rank AND l.entry = r.entry
  WHERE r.nonzero = 0 AND l.nonzero = 0 AND r.naive_nonzero > 0 AND r.naive <> r.effective
UNION ALL
SELECT 'same_tail_under_two_keys', 'fail', t_ns, rank, transfer, request, entry, block, NULL, '1',
       CAST(keys AS VARCHAR(40)) FROM saved WHERE keys > 1
UNION ALL
SELECT 'tail_not_read', 'inconclusive', w.t_ns, w.rank, w.transfer, w.request, w.entry, NULL, NULL, '1', '0'
  FROM wanted w LEFT JOIN reads r
    ON r.transfer = w.transfer AND r.rank = w.rank AND r.entry = w.entry WHERE r.n IS NULL
UNION ALL
SELECT 'landed_elsewhere', 'fail', MAX(t_ns), rank, transfer, MAX(request), entry, block, NULL,
       CAST(MAX(read_offset) AS VARCHAR(40)), CAST(MAX(landing_offset) AS VARCHAR(40))
  FROM followed GROUP BY transfer, rank, entry, block, landing_block
  HAVING SUM(CASE WHEN landing_offset = read_offset THEN 1 ELSE 0 END) = 0
UNION ALL
SELECT 'written_at_contiguous_address', 'fail', f.t_ns, f.rank, f.transfer, f.request, f.entry, f.block,
       NULL, CAST(f.read_offset AS VARCHAR(40)), CAST(f.naive_offset AS VARCHAR(40))
  FROM followed f JOIN copy c ON c.transfer = f.transfer AND c.process = f.mapper AND c.direction = 1
   AND c.dst = f.mapped_base + f.naive_offset AND c.bytes <= f.bytes
  WHERE f.naive_offset <> f.read_offset AND c.entry = 65535
UNION ALL
SELECT 'tail_is_poison', 'fail', f.t_ns, f.rank, f.transfer, f.request, f.entry, f.block, NULL, '0',
       CAST(q.residue_content AS VARCHAR(40))
  FROM followed f JOIN page_poison q ON q.transfer = f.transfer AND q.rank = f.rank
   AND q.entry = f.entry AND q.block = f.landing_block
  WHERE q.residue_content > 0;
