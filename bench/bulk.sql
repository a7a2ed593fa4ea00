-- Deduplicating a whole table: simhash_clusters and simhash_pairs beside SQL over a block table, in
-- one run and one connection.
--
-- ROWS (1,000,000 unless set in the environment) random fingerprints, a tenth of them planted
-- copies of others with 1 to 3 bits flipped. Warm: each call once to warm up, then the median of
-- three. SQL and distance 10 only up to 2 million rows.

\ir include/common.sql
\getenv rows ROWS
\if :{?rows} \else \set rows 1000000 \endif
SET maintenance_work_mem = '2GB';
SET work_mem = '256MB';
\ir include/random.sql

\echo '== data'
CREATE UNLOGGED TABLE source AS SELECT i AS id, random64() AS h FROM generate_series(1, :rows) i;
CREATE TABLE doc AS
SELECT id, h, h::fingerprint64 AS fp
FROM (SELECT id,
        CASE WHEN id % 10 = 0
          THEN flipped(lag(h) OVER (ORDER BY id), 1 + (id / 10 % 3)::integer) ELSE h END AS h
      FROM source) s;
DROP TABLE source;
ANALYZE doc;
CREATE INDEX doc_fp ON doc USING simhash (fp);
SELECT :rows <= 2000000 AS small \gset

CREATE TABLE run (what text, seconds numeric, answer bigint);
CREATE PROCEDURE measure(what text, query text, times integer DEFAULT 4) LANGUAGE plpgsql AS $$
DECLARE started timestamptz; answer bigint;
BEGIN
  FOR pass IN 1..times LOOP
    started := clock_timestamp();
    EXECUTE query INTO answer;
    IF pass > 1 OR times = 1 THEN
      INSERT INTO run VALUES (what, extract(epoch FROM clock_timestamp() - started), answer);
    END IF;
  END LOOP;
END $$;
CREATE FUNCTION memory(line text) RETURNS text LANGUAGE sql AS $$
  SELECT substring(pg_read_file('/proc/self/status') FROM line || ':\s*(\d+ kB)')
$$;

\echo '== in bulk'
CALL measure('clusters ≤ 3', $$ SELECT count(*) FROM simhash_clusters('doc_fp', 3) $$);
CALL measure('pairs ≤ 3', $$ SELECT count(*) FROM simhash_pairs('doc_fp', 3) $$);
CALL measure('first pair only',
  $$ SELECT count(*) FROM (SELECT simhash_pairs('doc_fp', 3) LIMIT 1) s $$);
CALL measure('clusters ≤ 6', $$ SELECT count(*) FROM simhash_clusters('doc_fp', 6) $$, 2);
\if :small
CALL measure('clusters ≤ 10', $$ SELECT count(*) FROM simhash_clusters('doc_fp', 10) $$, 2);
CALL measure('pairs ≤ 10', $$ SELECT count(*) FROM simhash_pairs('doc_fp', 10) $$, 2);

\echo '== the rival: SQL over a covering block table that is ready'
CREATE TABLE block AS
SELECT b::smallint AS b, (h >> (16 * b) & 65535)::integer AS key, h, id
FROM doc, generate_series(0, 3) b;
CREATE INDEX block_key ON block (b, key) INCLUDE (h, id);
VACUUM ANALYZE block;
-- Each pair at the first block that it shares.
CALL measure('SQL over a covering block table: pairs ≤ 3', $$
  SELECT count(*)
  FROM (SELECT DISTINCT a.id, b.id
        FROM block a JOIN block b ON a.b = b.b AND a.key = b.key AND a.id < b.id
        WHERE hamming(a.h, b.h) <= 3) s $$, 2);
\endif
SELECT what, count(*) AS times,
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::numeric, 3) AS seconds,
  min(answer) AS answer
FROM run GROUP BY what ORDER BY min(ctid);
INSERT INTO bench_result
SELECT 'bulk', 'uniform', :rows,
  CASE WHEN what LIKE 'SQL%' THEN 'SQL over a covering block table' ELSE 'simhash' END,
  regexp_replace(what, '.*: ', '') || ', seconds',
  percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)
FROM run GROUP BY what ORDER BY min(ctid);
INSERT INTO bench_result
SELECT 'bulk', 'uniform', :rows, 'simhash', 'own memory afterwards, MB',
  replace(memory('RssAnon'), ' kB', '')::float8 / 1024;
-- The peak counts pages of shared_buffers that the backend has touched. The second is its own
-- memory now.
SELECT memory('VmHWM') AS "peak of this backend", memory('RssAnon') AS "its own now",
  current_setting('shared_buffers') AS "shared_buffers";
DROP SCHEMA bench CASCADE;
