-- The index beside its rivals in the database, in one run and one connection: latency, size, build,
-- WAL, inserts.
--
-- From the environment: ROWS (1,000,000), DATA and RIVALS.
-- DATA: uniform (random fingerprints, a tenth of them planted copies of others with 1 to 3 bits
-- flipped), clusters (20,000 equal clusters, members 1 to 12 flips from the centre) or zipf (the
-- same with cluster sizes by Zipf's law). Half of the queries are rows with up to two bits flipped,
-- half random. RIVALS: all, or none for tables too large for them.
-- Warm. Queries are static SQL in PL/pgSQL functions: prepared, as drivers send them, under the
-- planner settings that everybody has. Every figure also goes to bench_result.

\ir include/common.sql
\getenv rows ROWS
\if :{?rows} \else \set rows 1000000 \endif
\getenv data DATA
\if :{?data} \else \set data uniform \endif
\getenv rivals RIVALS
\if :{?rivals} \else \set rivals all \endif
SELECT :'rivals' = 'all' AS with_rivals, :'data' = 'uniform' AS uniform \gset
SET maintenance_work_mem = '2GB';
SET work_mem = '256MB';
\ir include/random.sql
\ir include/measure.sql
\timing off

-- A cluster's centre, whatever the row that asks.
CREATE FUNCTION centre(cluster bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT hashint8extended(cluster, 20) $$;

\echo '== data'
CREATE TABLE doc (id bigint, h bigint, fp fingerprint64, fp128 fingerprint128);
\if :uniform
INSERT INTO doc (id, h)
SELECT id,
  CASE WHEN id % 10 = 0
    THEN flipped(lag(h) OVER (ORDER BY id), 1 + (id / 10 % 3)::integer) ELSE h END
FROM (SELECT i AS id, random64() AS h FROM generate_series(1, :rows) i) s;
\else
INSERT INTO doc (id, h)
SELECT i,
  flipped(centre(CASE :'data' WHEN 'clusters' THEN i % 20000
                 ELSE floor(exp(random() * ln(20000)))::bigint END), 1 + i % 12)
FROM generate_series(1, :rows) i;
\endif
CREATE TABLE filled AS
SELECT id, h, h::fingerprint64 AS fp,
  CASE WHEN :'rivals' = 'all'
    THEN (h::bit(64) || random64()::bit(64))::bit(128)::fingerprint128 END AS fp128
FROM doc;
DROP TABLE doc;
ALTER TABLE filled RENAME TO doc;

-- What a rival looks up: the keys of block b (16 bits) within `radius` (0 or 1) bits of the
-- query's.
CREATE FUNCTION block_keys(h bigint, b integer, radius integer) RETURNS integer[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(((h >> (16 * b)) & 65535)::integer # mask)
  FROM (SELECT 0 UNION ALL SELECT 1 << i FROM generate_series(0, 15) i WHERE radius >= 1) m (mask)
$$;
-- The same for all blocks, the block's number above the key: what GIN holds.
CREATE FUNCTION gin_keys(h bigint, radius integer) RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(b << 16 | key) FROM generate_series(0, 3) b, unnest(block_keys(h, b, radius)) key
$$;
CREATE FUNCTION block_array(h bigint) RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[(h & 65535)::integer, (h >> 16 & 65535)::integer | 65536,
    (h >> 32 & 65535)::integer | 131072, (h >> 48 & 65535)::integer | 196608]
$$;

ANALYZE doc;
\echo '== builds'
CALL build('primary key', 'ALTER TABLE doc ADD PRIMARY KEY (id)', 'doc_pkey');
CREATE TABLE query AS
SELECT i AS n, CASE WHEN i % 2 = 0 THEN flipped(h, 2) ELSE random64() END AS h,
  NULL::fingerprint64 AS fp, NULL::fingerprint128 AS fp128
FROM generate_series(1, 1000) i JOIN doc ON doc.id = i * (:rows / 1000);
UPDATE query SET fp = h::fingerprint64,
  fp128 = coalesce((SELECT fp128 FROM doc WHERE n % 2 = 0 AND doc.id = n * (:rows / 1000)),
    (h::bit(64) || random64()::bit(64))::bit(128)::fingerprint128);
CALL build('B-tree on the bigint', 'CREATE INDEX doc_h ON doc (h)', 'doc_h');
DROP INDEX doc_h;
CALL build('simhash', 'CREATE INDEX doc_fp ON doc USING simhash (fp)', 'doc_fp');
INSERT INTO bench_result
SELECT 'index info', :'data', :rows, 'simhash', key, value::float8
FROM simhash_index_info('doc_fp') info, json_each_text(row_to_json(info));
\if :with_rivals
  \if :uniform
    CALL build('simhash, 128 bits',
      'CREATE INDEX doc_fp128 ON doc USING simhash (fp128)', 'doc_fp128');
  \endif
CALL build('expression B-trees', $$
  CREATE INDEX doc_b0 ON doc (((h & 65535)::integer));
  CREATE INDEX doc_b1 ON doc (((h >> 16 & 65535)::integer));
  CREATE INDEX doc_b2 ON doc (((h >> 32 & 65535)::integer));
  CREATE INDEX doc_b3 ON doc (((h >> 48 & 65535)::integer)) $$,
  'doc_b0,doc_b1,doc_b2,doc_b3');
CALL build('GIN on block keys',
  'CREATE INDEX doc_gin ON doc USING gin (block_array(h))', 'doc_gin');
CALL build('covering block table', $$
  CREATE TABLE block AS
  SELECT b::smallint AS b, (h >> (16 * b) & 65535)::integer AS key, h, id
  FROM doc, generate_series(0, 3) b;
  CREATE INDEX block_key ON block (b, key) INCLUDE (h, id) $$, 'block');
VACUUM ANALYZE block;
\endif
VACUUM ANALYZE doc;
SELECT contender, max(value) FILTER (WHERE metric = 'seconds') AS seconds,
  max(value) FILTER (WHERE metric = 'bytes a row') AS "bytes a row"
FROM bench_result WHERE section = 'build' AND data = :'data' AND rows = :rows GROUP BY 1;

\echo '== latency'
CALL contender('primary key look-up', 'SELECT count(*) FROM doc WHERE id = q.n');
CALL measure('primary key look-up', '', 1000);
CALL within('simhash', 3, 1000, 'hamming(fp, q.fp)');
CALL within('simhash', 6, 1000, 'hamming(fp, q.fp)');
CALL within('simhash', 8, 1000, 'hamming(fp, q.fp)');
CALL within('simhash', 10, 200, 'hamming(fp, q.fp)');
CALL within('simhash', 12, 200, 'hamming(fp, q.fp)');
CALL nearest('simhash', 200, 'doc', 'fp <~> q.fp');
\if :with_rivals
  -- The id from the index alone.
  \if :uniform
  \else
    DROP INDEX doc_fp;
    CALL build('simhash, id included',
      'CREATE INDEX doc_fp ON doc USING simhash (fp) INCLUDE (id)', 'doc_fp');
    CALL within('simhash, id included', 3, 1000, 'hamming(fp, q.fp)');
    CALL within('simhash, id included', 6, 1000, 'hamming(fp, q.fp)');
    CALL nearest('simhash, id included', 200, 'doc', 'fp <~> q.fp');
  \endif
  \if :uniform
    CALL within('simhash, 128 bits', 3, 1000, 'hamming(fp128, q.fp128)');
    CALL within('simhash, 128 bits', 10, 1000, 'hamming(fp128, q.fp128)');
    CALL within('simhash, 128 bits', 16, 1000, 'hamming(fp128, q.fp128)');
    CALL within('simhash, 128 bits', 20, 200, 'hamming(fp128, q.fp128)');
    CALL within('simhash, 128 bits', 24, 200, 'hamming(fp128, q.fp128)');
  \endif
-- What the four blocks look up, declared as k0 to k3.
CREATE FUNCTION declared(radius integer) RETURNS text LANGUAGE sql AS $$
  SELECT 'DECLARE ' || string_agg(
    format('k%1$s integer[] := block_keys(q.h, %1$s, %2$s);', b, radius), ' ')
  FROM generate_series(0, 3) b
$$;
SELECT format('CALL contender(%L, %L, %L)', 'expression B-trees ≤ ' || k,
  'SELECT count(id) FROM doc
   WHERE ((h & 65535)::integer = ANY (k0) OR (h >> 16 & 65535)::integer = ANY (k1)
     OR (h >> 32 & 65535)::integer = ANY (k2) OR (h >> 48 & 65535)::integer = ANY (k3))
     AND hamming(h, q.h) <= ' || k, declared(k / 6))
FROM unnest('{3,6}'::integer[]) k \gexec
SELECT format('CALL contender(%L, %L, %L)', 'GIN on block keys ≤ ' || k,
  'SELECT count(id) FROM doc WHERE block_array(h) && keys AND hamming(h, q.h) <= ' || k,
  format('DECLARE keys integer[] := gin_keys(q.h, %s);', k / 6))
FROM unnest('{3,6}'::integer[]) k \gexec
SELECT format('CALL contender(%L, %L, %L)', 'covering block table ≤ ' || k,
  format('SELECT count(DISTINCT id) FROM (%s) s', string_agg(format(
    'SELECT id FROM block WHERE b = %1$s AND key = ANY (k%1$s) AND hamming(h, q.h) <= %2$s',
    b, k), ' UNION ALL ' ORDER BY b)), declared(k / 6))
FROM unnest('{3,6}'::integer[]) k, generate_series(0, 3) b GROUP BY k ORDER BY k \gexec
SELECT format('CALL measure(%L, %L, %s)', contender, ' ≤ ' || k,
  CASE WHEN k = 3 OR contender LIKE 'covering%' THEN 1000 ELSE 100 END)
FROM unnest('{expression B-trees,GIN on block keys,covering block table}'::text[]) contender,
  unnest('{3,6}'::integer[]) k \gexec
CALL contender('sequential scan ≤ 3',
  'SELECT count(id) FROM doc WHERE bit_count((h # q.h)::bit(64)) <= 3');
CALL measure('sequential scan', ' ≤ 3', 3);
\endif
SELECT contender, metric, round(value::numeric, 3) AS value FROM bench_result
WHERE section = 'latency' AND data = :'data' AND rows = :rows AND metric NOT LIKE '%found%'
ORDER BY ctid;
-- All must have found the same.
SELECT count(*) AS disagreements
FROM bench_result a JOIN bench_result b USING (section, data, rows, metric)
WHERE section = 'latency' AND data = :'data' AND rows = :rows AND metric = ' ≤ 3 found a query'
  AND a.contender = 'simhash' AND a.value <> b.value
  AND b.contender IN ('expression B-trees', 'GIN on block keys', 'covering block table');

\if :with_rivals
\if :uniform
-- A table grows from 100,000 rows to 300,000 by single-row inserts, splits included.
\echo '== WAL a row, without full-page images'
CREATE PROCEDURE grow(what text, index text) LANGUAGE plpgsql AS $$
DECLARE before pg_lsn;
BEGIN
  CREATE TABLE growing AS SELECT id, h, fp FROM doc LIMIT 100000;
  IF index <> '' THEN EXECUTE index; END IF;
  before := pg_current_wal_insert_lsn();
  FOR i IN 1..200000 LOOP
    INSERT INTO growing SELECT i, r, r::fingerprint64 FROM random64() r;
  END LOOP;
  CALL note('wal', what, 'bytes a row',
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), before)::float8 / 200000);
  DROP TABLE growing;
END $$;
ALTER SYSTEM SET full_page_writes = off;
SELECT pg_reload_conf() AS reloaded, pg_sleep(1) AS slept \gset
CHECKPOINT;
CALL grow('no index', '');
CALL grow('simhash', 'CREATE INDEX ON growing USING simhash (fp)');
CALL grow('expression B-trees', $$
  CREATE INDEX ON growing (((h & 65535)::integer));
  CREATE INDEX ON growing (((h >> 16 & 65535)::integer));
  CREATE INDEX ON growing (((h >> 32 & 65535)::integer));
  CREATE INDEX ON growing (((h >> 48 & 65535)::integer)) $$);
ALTER SYSTEM RESET full_page_writes;
SELECT pg_reload_conf() AS reloaded \gset
SELECT contender, value AS "bytes a row" FROM bench_result WHERE section = 'wal' AND rows = :rows;

-- Into the table above, with one contender's indexes at a time.
\echo '== inserts: batches of 1000 rows, each a transaction'
CREATE PROCEDURE insert_batches(what text) LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp();
BEGIN
  FOR i IN 1..500 LOOP
    INSERT INTO doc (id, h, fp)
    SELECT 0, r, r::fingerprint64 FROM (SELECT random64() AS r FROM fresh) s;
    COMMIT;
    -- Right after a checkpoint every page that is touched is logged whole.
    IF i = 100 THEN
      CALL note('insert', what, 'rows a second, first 100,000 after a checkpoint',
        100000 / extract(epoch FROM clock_timestamp() - started));
      started := clock_timestamp();
    END IF;
  END LOOP;
  CALL note('insert', what, 'rows a second',
    400000 / extract(epoch FROM clock_timestamp() - started));
END $$;
CREATE UNLOGGED TABLE fresh AS SELECT i, random64() AS h FROM generate_series(1, 1000) i;
ALTER TABLE doc DROP CONSTRAINT doc_pkey;
DROP INDEX doc_fp128, doc_b0, doc_b1, doc_b2, doc_b3, doc_gin;
CHECKPOINT;
CALL insert_batches('simhash');
DROP INDEX doc_fp;
CHECKPOINT;
CALL insert_batches('no index');
CREATE INDEX doc_b0 ON doc (((h & 65535)::integer));
CREATE INDEX doc_b1 ON doc (((h >> 16 & 65535)::integer));
CREATE INDEX doc_b2 ON doc (((h >> 32 & 65535)::integer));
CREATE INDEX doc_b3 ON doc (((h >> 48 & 65535)::integer));
CHECKPOINT;
CALL insert_batches('expression B-trees');
DROP INDEX doc_b0, doc_b1, doc_b2, doc_b3;
CREATE INDEX doc_gin ON doc USING gin (block_array(h)) WITH (fastupdate = off);
CHECKPOINT;
CALL insert_batches('GIN on block keys');
DROP INDEX doc_gin;
SELECT contender, metric, round(value) AS value
FROM bench_result WHERE section = 'insert' AND rows = :rows;
-- What follows in other files asks this table again.
DELETE FROM doc WHERE id = 0;
VACUUM doc;
ALTER TABLE doc ADD PRIMARY KEY (id);
CREATE INDEX doc_fp ON doc USING simhash (fp);
\endif
\endif
