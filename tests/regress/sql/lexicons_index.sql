-- An index on fingerprint64[], with one fingerprint for each lexicon: the distance is the least
-- over equal positions.
CREATE TABLE lexicons (id integer PRIMARY KEY, fps fingerprint64[]);

-- 400 documents in up to 50 variants; NULLs, empty arrays, arrays of NULLs, equal elements, arrays
-- of unequal lengths.
INSERT INTO lexicons
SELECT i, CASE i % 50
    WHEN 0 THEN NULL
    WHEN 1 THEN '{}'::fingerprint64[]
    WHEN 2 THEN '{NULL,NULL}'
    ELSE (SELECT array_agg(CASE WHEN (i + p) % 11 > 0 THEN
              (hashint8extended(i % 400 * 10 + CASE WHEN i % 7 = 0 THEN 0 ELSE p END, 0)
               # (1::bigint << i % 60) # (1::bigint << i % 13))::fingerprint64 END ORDER BY p)
          FROM generate_series(1, 1 + i % 5) p)
  END
FROM generate_series(1, 12000) i;
CREATE INDEX lexicons_fps ON lexicons USING simhash (fps);
ANALYZE lexicons;
SELECT simhash_index_check('lexicons_fps');
-- The index holds every distinct element of a row, and a row without one once.
SELECT rows = (SELECT sum(greatest(1, n)) FROM (
         SELECT (SELECT count(DISTINCT fp) FROM unnest(fps) fp) AS n FROM lexicons) _)
       AS every_element
FROM simhash_index_info('lexicons_fps');

EXPLAIN (COSTS OFF) SELECT id FROM lexicons
  WHERE hamming(fps, '{00ff00ff00ff00ff,0123456789abcdef}') <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM lexicons WHERE fps ~= '{00ff00ff00ff00ff,0123456789abcdef}';
EXPLAIN (COSTS OFF) SELECT id FROM lexicons
  ORDER BY fps <~> '{00ff00ff00ff00ff,0123456789abcdef}' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM lexicons a JOIN lexicons b ON hamming(a.fps, b.fps) <= 4;

-- Each kind of scan finds what a look at every row finds.
CREATE FUNCTION scan_settings(kind text) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('enable_seqscan', (kind = 'seq')::text, false),
         set_config('enable_indexscan', (kind = 'index')::text, false),
         set_config('enable_bitmapscan', (kind = 'bitmap')::text, false),
         set_config('enable_sort', (kind <> 'order')::text, false),
         set_config('simhash.enable_rewrite', (kind <> 'seq')::text, false) $$;
CREATE FUNCTION answers(kind text) RETURNS TABLE (query integer, k integer, hits bigint, ids bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE q record;
BEGIN
  PERFORM scan_settings(kind);
  FOR q IN SELECT id, fps FROM lexicons WHERE id % 1201 < 3 ORDER BY id LOOP
    FOREACH k IN ARRAY '{0,1,3,6,10,20,31,64}'::integer[] LOOP
      query := q.id;
      SELECT count(*), sum(hashint8(id)) INTO hits, ids FROM lexicons
        WHERE hamming(fps, q.fps) <= k;
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;
CREATE TABLE truth AS SELECT * FROM answers('seq');
SELECT count(*), count(*) FILTER (WHERE hits > 1) > 20 AS found_some,
  bool_or(hits > 10000) AS found_nearly_all FROM truth;
SELECT count(*) FROM (SELECT * FROM answers('index') EXCEPT SELECT * FROM truth) _;
SELECT count(*) FROM (SELECT * FROM answers('bitmap') EXCEPT SELECT * FROM truth) _;

-- In order of distance: every row once, with the distances that a sort gives, and rows without a
-- distance last.
CREATE FUNCTION ordered(kind text, lim bigint)
  RETURNS TABLE (query integer, distances integer[], different bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
DECLARE q record;
BEGIN
  PERFORM set_config('enable_seqscan', (kind = 'seq')::text, true),
    set_config('enable_indexscan', (kind <> 'seq')::text, true);
  FOR q IN SELECT id, fps FROM lexicons WHERE id % 2003 < 3 ORDER BY id LOOP
    query := q.id;
    SELECT array_agg(d ORDER BY place), count(DISTINCT id) INTO distances, different
    FROM (SELECT *, row_number() OVER () AS place
          FROM (SELECT id, fps <~> q.fps AS d FROM lexicons
                ORDER BY fps <~> q.fps LIMIT lim) nearest) _;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT count(*) FROM (SELECT * FROM ordered('index', 20) EXCEPT SELECT * FROM ordered('seq', 20)) _;
SELECT count(*) FROM (
  SELECT * FROM ordered('index', NULL) EXCEPT SELECT * FROM ordered('seq', NULL)) _;
SELECT DISTINCT different FROM ordered('index', NULL);

SELECT scan_settings('index');
EXPLAIN (COSTS OFF) SELECT id FROM lexicons WHERE fps IS NULL;
SELECT count(*), min(id), max(id) FROM lexicons WHERE fps IS NULL;
SELECT count(*) FROM lexicons WHERE fps IS NOT NULL;
SELECT count(*) FROM lexicons WHERE fps ~= '{}' OR fps ~= '{NULL}';
SELECT count(*) FROM lexicons WHERE hamming(fps, NULL) <= 3;
-- The same fingerprint at another position is no match, though the index finds it.
INSERT INTO lexicons VALUES (20001, '{aaaaaaaaaaaaaaaa,5555555555555555}'),
  (20002, '{5555555555555555,aaaaaaaaaaaaaaaa}');
CREATE FUNCTION rows_of_scan(query text)
  RETURNS TABLE (index text, found integer, rechecked_away integer) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
  plan := plan->0->'Plan';
  RETURN QUERY SELECT plan->>'Index Name', (plan->>'Actual Rows')::numeric::integer,
    (plan->>'Rows Removed by Index Recheck')::integer;
END $$;
SELECT * FROM rows_of_scan($$SELECT id FROM lexicons
  WHERE hamming(fps, '{NULL,5555555555555555}') <= 0$$);
SELECT id, fps <~> '{NULL,5555555555555555}' AS distance FROM lexicons
  WHERE id > 20000 ORDER BY fps <~> '{NULL,5555555555555555}', id;
SELECT id FROM lexicons ORDER BY fps <~> '{NULL,5555555555555555}' LIMIT 1;
DELETE FROM lexicons WHERE id > 20000;
RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_sort;
RESET simhash.enable_rewrite;

-- Changes: a deleted row leaves every block table of the index.
DELETE FROM lexicons WHERE id % 3 = 0;
UPDATE lexicons SET fps = fps || fps[1] WHERE id % 3 = 1;
VACUUM lexicons;
SELECT simhash_index_check('lexicons_fps');
DROP TABLE truth;
CREATE TABLE truth AS SELECT * FROM answers('seq');
SELECT count(*) FROM (SELECT * FROM answers('index') EXCEPT SELECT * FROM truth) _;

-- Conditions on two arrays at once.
SELECT scan_settings('index');
SELECT count(*) FROM lexicons a, lexicons b, lexicons c
WHERE a.id = 103 AND b.id = 503 AND hamming(c.fps, a.fps) <= 4 AND hamming(c.fps, b.fps) <= 8;
SELECT scan_settings('seq');
SELECT count(*) FROM lexicons a, lexicons b, lexicons c
WHERE a.id = 103 AND b.id = 503 AND hamming(c.fps, a.fps) <= 4 AND hamming(c.fps, b.fps) <= 8;
RESET enable_seqscan; RESET enable_indexscan; RESET enable_bitmapscan; RESET enable_sort;
RESET simhash.enable_rewrite;

-- simhash_pairs and simhash_clusters take only indexes with one fingerprint for each row.
SELECT count(*) FROM simhash_pairs('lexicons_fps', 3);

-- ORDER BY two distances is sorted, even where disabled plans make a sort look expensive: the
-- sub-select adds that cost once for each row.
CREATE TABLE few AS SELECT i AS id, ARRAY[i, i * 7]::bigint[]::fingerprint64[] AS fps
  FROM generate_series(1, 200) i;
CREATE INDEX few_fps ON few USING simhash (fps);
CREATE TABLE many AS SELECT i FROM generate_series(1, 1000) i;
CREATE INDEX ON many (i);
CREATE TABLE one AS SELECT 1 AS i;
ANALYZE few, many, one;
SET enable_seqscan = off;
SELECT f.fps <~> '{0000000000000000}'::fingerprint64[] AS distance
FROM few f JOIN many m ON m.i > 0 AND (SELECT z.i FROM one z WHERE z.i < m.i) >= f.id - 3
ORDER BY f.fps <~> '{0000000000000000}'::fingerprint64[],
  f.fps <~> '{ffffffffffffffff}'::fingerprint64[] LIMIT 2;
RESET enable_seqscan;
DROP TABLE few, many, one;

-- An exclusion constraint: no near-duplicates under any lexicon.
CREATE TABLE unlike (fps fingerprint64[], EXCLUDE USING simhash (fps WITH ~=));
INSERT INTO unlike VALUES ('{00000000000000ff,ff00000000000000}');
INSERT INTO unlike VALUES ('{ffffffff00000000,ff00000000000001}');
INSERT INTO unlike VALUES ('{ffffffff00000000,ff00000000000001}') ON CONFLICT DO NOTHING;
-- Equal elements do not conflict, nor does an element that another row has at another position.
INSERT INTO unlike VALUES ('{ff00000000000000,ff000000000fffff,ff000000000fffff}');
SELECT count(*) FROM unlike;

SELECT hamming_ball('{0000000000000000,NULL}'::fingerprint64[], 3),
       '{00000000000000ff}'::fingerprint64[]
         <@ hamming_ball('{0000000000000000}'::fingerprint64[], 8) AS within,
       hamming_ball('{0000000000000000}'::fingerprint64[], 7)
         @> '{00000000000000ff}'::fingerprint64[] AS not_within,
       '{00000000000000ff}'::fingerprint64[]
         <@ hamming_ball('{}'::fingerprint64[], 8) IS NULL AS no_position;
SELECT hamming_ball('{0000000000000000}'::fingerprint64[], 65);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'fingerprint64_array_ops';
DROP TABLE lexicons, truth, unlike;
DROP FUNCTION scan_settings, answers, ordered, rows_of_scan;
