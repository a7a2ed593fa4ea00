-- Megabytes a second of every method in SQL on the same texts, and a look-up of short texts beside
-- pg_trgm. Medians of three passes.

\ir include/common.sql
SET max_parallel_workers_per_gather = 0;
\ir include/shipped.sql
DROP TABLE IF EXISTS bench_texts;
CREATE TABLE bench_texts AS
SELECT CASE WHEN source LIKE 'zh_l%' THEN 'zh' WHEN source LIKE 'zh%' THEN 'zh, short'
    WHEN source LIKE 'en_l%' THEN 'en' ELSE 'en, short' END AS texts, body
FROM shipped;
-- Reading texts back from where they are stored compressed is not what is measured.
ALTER TABLE bench_texts ALTER body SET STORAGE EXTERNAL;
UPDATE bench_texts SET body = body || '';
SELECT simhash_train('bench', 'SELECT body FROM bench_texts') AS trained_on;

CREATE FUNCTION pg_temp.median(took float8[]) RETURNS float8 LANGUAGE sql AS
  $$ SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(took) t $$;
CREATE FUNCTION pg_temp.measure(method text, call text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE took float8[]; started timestamptz; kind text;
BEGIN
  FOREACH kind IN ARRAY ARRAY['zh', 'zh, short', 'en', 'en, short'] LOOP
    took := '{}';
    FOR pass IN 1..4 LOOP
      started := clock_timestamp();
      EXECUTE format('SELECT count(%s) FROM bench_texts WHERE texts = %L', call, kind);
      IF pass > 1 THEN
        took := took || extract(epoch FROM clock_timestamp() - started)::float8;
      END IF;
    END LOOP;
    INSERT INTO bench_result
    SELECT 'texts', kind, count(*), method, 'MB/s',
      sum(octet_length(body)) / 1e6 / pg_temp.median(took)
    FROM bench_texts WHERE texts = kind;
  END LOOP;
END $$;
SELECT pg_temp.measure(method, call)
FROM (VALUES (1, 'simhash', 'simhash(body)'), (2, 'simhash128', 'simhash128(body)'),
  (2, 'simhash, word pairs', $$simhash(body, '{"shingle": 2}')$$),
  (2, 'simhash128, word pairs', $$simhash128(body, '{"shingle": 2}')$$),
  (2, 'minhash64', $$minhash64(body, '{"shingle": 1}')$$),
  (2, 'minhash128', $$minhash128(body, '{"shingle": 1}')$$),
  (2, 'minhash64, word pairs', 'minhash64(body)'),
  (2, 'minhash128, word pairs', 'minhash128(body)'),
  (3, 'esimhash', $$esimhash(body, 'bench')$$),
  (4, 'simhash_lexicons, 4', $$simhash_lexicons(body, 'bench', 4)$$),
  (5, 'minhash, 128', $$minhash(body, 128, '{"shingle": 1}')$$),
  (5, 'minhash, 128 of 5-shingles', $$minhash(body, 128, '{"shingle": 5}')$$),
  (6, 'imatch', $$imatch(body, 'bench')$$), (7, 'ksentence', 'ksentence(body)'),
  (8, 'shingles, 5', 'shingles(body, 5)')) m (place, method, call) ORDER BY place \g /dev/null
DELETE FROM simhash_model WHERE name = 'bench';
SELECT contender, round((max(value) FILTER (WHERE data = 'zh'))::numeric, 1) AS "Chinese",
  round((max(value) FILTER (WHERE data = 'zh, short'))::numeric, 1) AS "short",
  round((max(value) FILTER (WHERE data = 'en'))::numeric, 1) AS "English",
  round((max(value) FILTER (WHERE data = 'en, short'))::numeric, 1) AS "short, MB/s"
FROM bench_result WHERE section = 'texts' GROUP BY contender ORDER BY min(ctid);

-- A batch of short texts in one pass: 2.5 million of ten words, every fifth of them seen before.
CREATE TABLE bench_batch AS
SELECT i AS id,
  (SELECT string_agg(translate('word' || abs(hashint8(n * 10 + w)) % 50000,
            '0123456789', 'abcdefghij'), ' ' ORDER BY w)
   FROM generate_series(1, 10) w) AS body
FROM (SELECT i, CASE WHEN i % 5 = 0 THEN i / 2 ELSE i END AS n
      FROM generate_series(1, 2500000) i) s;
VACUUM ANALYZE bench_batch;
CREATE FUNCTION pg_temp.batch(stage text, near integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp(); found bigint;
BEGIN
  SELECT count(*) INTO found
  FROM dedup_texts('SELECT id::bigint, body FROM bench_batch', stage, '{}', near);
  INSERT INTO bench_result
  VALUES ('batch', 'en', 2500000,
    stage || CASE WHEN near IS NULL THEN '' ELSE ', then within ' || near END,
    'seconds', extract(epoch FROM clock_timestamp() - started));
END $$;
SELECT pg_temp.batch('bloom', NULL), pg_temp.batch('hash', NULL), pg_temp.batch('trie', NULL),
  pg_temp.batch('hash', 3) \g /dev/null
SELECT contender, value AS seconds FROM bench_result WHERE section = 'batch';
DROP TABLE bench_batch;

-- Short texts, one by one, against all: what a trigram index needs for similarity >= 0.5.
SELECT count(*) > 0 AS has_trgm FROM pg_available_extensions WHERE name = 'pg_trgm' \gset
\if :has_trgm
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE TEMP TABLE short AS
SELECT row_number() OVER () AS id, substr(body, 1 + 120 * part, 120) AS body,
  NULL::fingerprint64 AS fp
FROM shipped, generate_series(0, length(body) / 120) part WHERE source LIKE 'en%';
UPDATE short SET fp = simhash(body);
CREATE INDEX short_fp ON short USING simhash (fp);
CREATE INDEX short_trgm ON short USING gin (body gin_trgm_ops);
ANALYZE short;
-- For the rival's sake: the planner thinks that a scan of this table is cheaper than its index. The
-- scan takes 80 times longer.
SET enable_seqscan = off;
SET pg_trgm.similarity_threshold = 0.5;
CREATE FUNCTION pg_temp.look_up(contender text, condition text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE took float8[] := '{}'; started timestamptz; q record;
BEGIN
  FOR q IN SELECT body, fp FROM short WHERE id % 101 = 0 AND fp IS NOT NULL LOOP
    started := clock_timestamp();
    EXECUTE 'SELECT count(*) FROM short WHERE ' || condition USING q.body, q.fp;
    took := took || 1000 * extract(epoch FROM clock_timestamp() - started)::float8;
  END LOOP;
  INSERT INTO bench_result
  SELECT 'short texts', 'en', (SELECT count(*) FROM short), contender, 'p50',
    pg_temp.median(took);
END $$;
SELECT pg_temp.look_up('simhash ≤ 10', 'hamming(fp, $2) <= 10'),
  pg_temp.look_up('pg_trgm, similarity ≥ 0.5', 'body % $1') \g /dev/null
SELECT rows, contender, round(value::numeric, 3) AS "p50, ms"
FROM bench_result WHERE section = 'short texts';
\else
\echo 'pg_trgm: skipped, it is not installed'
\endif
