-- The index beside its rivals, all in one run and one connection: latency, size, build, inserts, WAL.
--
-- ROWS (1,000,000 unless set in the environment) uniform random fingerprints, a tenth of them planted copies of others with 1 to 3
-- bits flipped; half of the queries have a near-duplicate. Warm; plans are prepared (static SQL in PL/pgSQL functions).

\set ON_ERROR_STOP on
\pset footer off
\getenv rows ROWS
\if :{?rows} \else \set rows 1000000 \endif
SET client_min_messages = warning;
SET maintenance_work_mem = '2GB';
SET work_mem = '256MB';
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
DROP SCHEMA IF EXISTS bench CASCADE;
CREATE EXTENSION IF NOT EXISTS pg_simhash;
CREATE SCHEMA bench;
SET search_path = bench, public;
SELECT setseed(0.5) AS seeded \gset
\timing off

CREATE FUNCTION random64() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT (floor(random() * 4294967296)::bigint << 32) | floor(random() * 4294967296)::bigint $$;
-- 1 to `bits` bits flipped
CREATE FUNCTION flipped(h bigint, bits integer) RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT bit_or_all # h FROM (SELECT bit_or(1::bigint << floor(random() * 64)::integer) AS bit_or_all FROM generate_series(1, bits)) s $$;

\echo '== data'
CREATE UNLOGGED TABLE source AS SELECT i AS id, random64() AS h FROM generate_series(1, :rows) i;
CREATE TABLE doc AS
SELECT id, h, h::fingerprint64 AS fp, (h::bit(64) || random64()::bit(64))::bit(128)::fingerprint128 AS fp128
FROM (SELECT id, CASE WHEN id % 10 = 0 THEN flipped(lag(h) OVER (ORDER BY id), 1 + (id / 10 % 3)::integer) ELSE h END AS h
      FROM source) s;
DROP TABLE source;
-- What a rival does for a distance: the keys of block b (16 bits) within `radius` bits of the query's.
CREATE FUNCTION block_keys(h bigint, b integer, radius integer) RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(((h >> (16 * b)) & 65535)::integer # mask)
  FROM (SELECT 0 UNION ALL SELECT 1 << i FROM generate_series(0, 15) i WHERE radius >= 1) m (mask)
$$;

CREATE TABLE built (what text, seconds numeric, bytes bigint, bytes_a_row numeric);
CREATE PROCEDURE build(what text, command text, relation text) LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp();
BEGIN
  EXECUTE command;
  INSERT INTO built SELECT what, round(extract(epoch FROM clock_timestamp() - started)::numeric, 2), size,
    round(size::numeric / (SELECT reltuples FROM pg_class WHERE oid = 'doc'::regclass)::numeric, 1)
  FROM (SELECT sum(pg_total_relation_size(r::regclass)) AS size FROM unnest(string_to_array(relation, ',')) r) s;
END $$;

ANALYZE doc;
\echo '== builds'
CALL build('primary key', 'ALTER TABLE doc ADD PRIMARY KEY (id)', 'doc_pkey');
CREATE TABLE query AS
SELECT i AS n, CASE WHEN i % 2 = 0 THEN flipped(h, 2) ELSE random64() END AS h
FROM generate_series(1, 1000) i JOIN doc ON doc.id = i * (:rows / 1000);
ALTER TABLE query ADD COLUMN fp fingerprint64, ADD COLUMN fp128 fingerprint128;
UPDATE query SET fp = h::fingerprint64,
  fp128 = coalesce((SELECT fp128 FROM doc WHERE n % 2 = 0 AND doc.id = n * (:rows / 1000)), (h::bit(64) || random64()::bit(64))::bit(128)::fingerprint128);
CALL build('B-tree on the bigint', 'CREATE INDEX doc_h ON doc (h)', 'doc_h');
DROP INDEX doc_h;
CALL build('simhash, 64 bits', 'CREATE INDEX doc_fp ON doc USING simhash (fp)', 'doc_fp');
CALL build('simhash, 128 bits', 'CREATE INDEX doc_fp128 ON doc USING simhash (fp128)', 'doc_fp128');
CALL build('four expression B-trees', $$
  CREATE INDEX doc_b0 ON doc (((h & 65535)::integer)); CREATE INDEX doc_b1 ON doc (((h >> 16 & 65535)::integer));
  CREATE INDEX doc_b2 ON doc (((h >> 32 & 65535)::integer)); CREATE INDEX doc_b3 ON doc (((h >> 48 & 65535)::integer)) $$,
  'doc_b0,doc_b1,doc_b2,doc_b3');
CALL build('covering SQL block table', $$
  CREATE TABLE block AS SELECT b::smallint AS b, (h >> (16 * b) & 65535)::integer AS key, h, id FROM doc, generate_series(0, 3) b;
  CREATE INDEX block_key ON block (b, key) INCLUDE (h, id) $$, 'block');
VACUUM ANALYZE block;
VACUUM ANALYZE doc;
SELECT what, seconds, pg_size_pretty(bytes) AS size, bytes_a_row FROM built;

-- Each contender answers the same question: how many rows lie within the distance.
CREATE FUNCTION pk_lookup(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM doc WHERE id = q.n); END $$;
CREATE FUNCTION simhash_3(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp, q.fp) <= 3); END $$;
CREATE FUNCTION simhash_6(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp, q.fp) <= 6); END $$;
CREATE FUNCTION simhash_8(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp, q.fp) <= 8); END $$;
CREATE FUNCTION simhash_10(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp, q.fp) <= 10); END $$;
CREATE FUNCTION simhash_12(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp, q.fp) <= 12); END $$;
CREATE FUNCTION simhash128_3(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp128, q.fp128) <= 3); END $$;
CREATE FUNCTION simhash128_10(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp128, q.fp128) <= 10); END $$;
CREATE FUNCTION simhash128_16(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp128, q.fp128) <= 16); END $$;
CREATE FUNCTION simhash128_20(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp128, q.fp128) <= 20); END $$;
CREATE FUNCTION simhash128_24(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(id) FROM doc WHERE hamming(fp128, q.fp128) <= 24); END $$;
CREATE FUNCTION nearest_10(q query) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
  RETURN (SELECT count(*) FROM (SELECT id FROM doc ORDER BY fp <~> q.fp LIMIT 10) s); END $$;
CREATE FUNCTION expression_3(q query) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE k0 integer[] := block_keys(q.h, 0, 0); k1 integer[] := block_keys(q.h, 1, 0); k2 integer[] := block_keys(q.h, 2, 0); k3 integer[] := block_keys(q.h, 3, 0); BEGIN
  RETURN (SELECT count(id) FROM doc WHERE ((h & 65535)::integer = ANY (k0) OR (h >> 16 & 65535)::integer = ANY (k1) OR (h >> 32 & 65535)::integer = ANY (k2) OR (h >> 48 & 65535)::integer = ANY (k3)) AND hamming(h, q.h) <= 3); END $$;
CREATE FUNCTION block_3(q query) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE k0 integer[] := block_keys(q.h, 0, 0); k1 integer[] := block_keys(q.h, 1, 0); k2 integer[] := block_keys(q.h, 2, 0); k3 integer[] := block_keys(q.h, 3, 0); BEGIN
  RETURN (SELECT count(DISTINCT id) FROM (
    SELECT id FROM block WHERE b = 0 AND key = ANY (k0) AND hamming(h, q.h) <= 3 UNION ALL SELECT id FROM block WHERE b = 1 AND key = ANY (k1) AND hamming(h, q.h) <= 3 UNION ALL SELECT id FROM block WHERE b = 2 AND key = ANY (k2) AND hamming(h, q.h) <= 3 UNION ALL SELECT id FROM block WHERE b = 3 AND key = ANY (k3) AND hamming(h, q.h) <= 3) s); END $$;
CREATE FUNCTION expression_6(q query) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE k0 integer[] := block_keys(q.h, 0, 1); k1 integer[] := block_keys(q.h, 1, 1); k2 integer[] := block_keys(q.h, 2, 1); k3 integer[] := block_keys(q.h, 3, 1); BEGIN
  RETURN (SELECT count(id) FROM doc WHERE ((h & 65535)::integer = ANY (k0) OR (h >> 16 & 65535)::integer = ANY (k1) OR (h >> 32 & 65535)::integer = ANY (k2) OR (h >> 48 & 65535)::integer = ANY (k3)) AND hamming(h, q.h) <= 6); END $$;
CREATE FUNCTION block_6(q query) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE k0 integer[] := block_keys(q.h, 0, 1); k1 integer[] := block_keys(q.h, 1, 1); k2 integer[] := block_keys(q.h, 2, 1); k3 integer[] := block_keys(q.h, 3, 1); BEGIN
  RETURN (SELECT count(DISTINCT id) FROM (
    SELECT id FROM block WHERE b = 0 AND key = ANY (k0) AND hamming(h, q.h) <= 6 UNION ALL SELECT id FROM block WHERE b = 1 AND key = ANY (k1) AND hamming(h, q.h) <= 6 UNION ALL SELECT id FROM block WHERE b = 2 AND key = ANY (k2) AND hamming(h, q.h) <= 6 UNION ALL SELECT id FROM block WHERE b = 3 AND key = ANY (k3) AND hamming(h, q.h) <= 6) s); END $$;

CREATE TABLE latency (what text, n bigint, milliseconds float8, found bigint);
-- Every query once to warm up, once to measure.
CREATE PROCEDURE measure(what text, queries integer) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($f$ DO $d$
    DECLARE q query; started timestamptz; found bigint;
    BEGIN
      SET LOCAL enable_seqscan = off;
      FOR pass IN 1..2 LOOP
        FOR q IN SELECT * FROM query WHERE n <= %2$s LOOP
          started := clock_timestamp();
          found := %1$s(q);
          IF pass = 2 THEN
            INSERT INTO latency VALUES (%1$L, q.n, 1000 * extract(epoch FROM clock_timestamp() - started), found);
          END IF;
        END LOOP;
      END LOOP;
    END $d$ $f$, what, queries);
END $$;
\echo '== latency'
CALL measure('pk_lookup', 1000);
CALL measure('simhash_3', 1000);
CALL measure('expression_3', 1000);
CALL measure('block_3', 1000);
CALL measure('simhash_6', 1000);
CALL measure('expression_6', 200);
CALL measure('block_6', 1000);
CALL measure('simhash_8', 1000);
CALL measure('simhash_10', 1000);
CALL measure('simhash_12', 200);
CALL measure('simhash128_3', 1000);
CALL measure('simhash128_10', 1000);
CALL measure('simhash128_16', 1000);
CALL measure('simhash128_20', 200);
CALL measure('simhash128_24', 200);
CALL measure('nearest_10', 200);
SELECT what, count(*) AS queries, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY milliseconds)::numeric, 3) AS "p50, ms",
       round(percentile_cont(0.99) WITHIN GROUP (ORDER BY milliseconds)::numeric, 3) AS "p99, ms",
       sum(found) AS found
FROM latency GROUP BY what ORDER BY min(ctid);
-- The rivals found the same.
SELECT count(*) AS disagreements
FROM latency s JOIN latency r ON r.n = s.n AND r.found <> s.found
 AND (s.what, r.what) IN (('simhash_3', 'expression_3'), ('simhash_3', 'block_3'), ('simhash_6', 'expression_6'), ('simhash_6', 'block_6'));

\echo '== WAL a row, without full-page images: a table grows from 100,000 rows to 300,000 by single-row inserts, splits included'
CREATE TABLE grown (what text, bytes_a_row numeric);
CREATE PROCEDURE grow(what text, index text) LANGUAGE plpgsql AS $$
DECLARE before pg_lsn;
BEGIN
  CREATE TABLE growing AS SELECT id, h, fp FROM doc LIMIT 100000;
  IF index <> '' THEN EXECUTE index; END IF;
  before := pg_current_wal_insert_lsn();
  FOR i IN 1..200000 LOOP
    INSERT INTO growing SELECT i, r, r::fingerprint64 FROM random64() r;
  END LOOP;
  INSERT INTO grown VALUES (what, round(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), before) / 200000));
  DROP TABLE growing;
END $$;
ALTER SYSTEM SET full_page_writes = off;
SELECT pg_reload_conf() AS reloaded, pg_sleep(1) AS slept \gset
CHECKPOINT;
CALL grow('no index', '');
CALL grow('simhash, 64 bits', 'CREATE INDEX ON growing USING simhash (fp)');
CALL grow('four expression B-trees', $$
  CREATE INDEX ON growing (((h & 65535)::integer)); CREATE INDEX ON growing (((h >> 16 & 65535)::integer));
  CREATE INDEX ON growing (((h >> 32 & 65535)::integer)); CREATE INDEX ON growing (((h >> 48 & 65535)::integer)) $$);
ALTER SYSTEM RESET full_page_writes;
SELECT pg_reload_conf() AS reloaded \gset
SELECT what, bytes_a_row, bytes_a_row - (SELECT bytes_a_row FROM grown WHERE what = 'no index') AS "of the index" FROM grown;

\echo '== inserts: batches of 1000 rows, each a transaction; right after a checkpoint every page touched is logged whole'
CREATE TABLE inserted (what text, "first 100,000 rows after a checkpoint, rows/s" numeric, "the next 400,000" numeric);
CREATE PROCEDURE insert_batches(what text) LANGUAGE plpgsql AS $$
DECLARE
  started timestamptz := clock_timestamp();
  first numeric;
BEGIN
  FOR i IN 1..500 LOOP
    INSERT INTO doc (id, h, fp) SELECT 0, r, r::fingerprint64 FROM (SELECT random64() AS r FROM fresh) s;
    COMMIT;
    IF i = 100 THEN
      first := round(100000 / extract(epoch FROM clock_timestamp() - started)::numeric);
      started := clock_timestamp();
    END IF;
  END LOOP;
  INSERT INTO inserted VALUES (what, first, round(400000 / extract(epoch FROM clock_timestamp() - started)::numeric));
END $$;
CREATE UNLOGGED TABLE fresh AS SELECT i, random64() AS h FROM generate_series(1, 1000) i;
-- The same rows into the same heap, with one contender's indexes at a time; the others are set aside.
DROP TABLE block;
ALTER TABLE doc DROP CONSTRAINT doc_pkey;
DROP INDEX doc_fp128, doc_b0, doc_b1, doc_b2, doc_b3;
CHECKPOINT;
CALL insert_batches('simhash, 64 bits');
DROP INDEX doc_fp;
CHECKPOINT;
CALL insert_batches('no index');
CREATE INDEX doc_b0 ON doc (((h & 65535)::integer)); CREATE INDEX doc_b1 ON doc (((h >> 16 & 65535)::integer));
CREATE INDEX doc_b2 ON doc (((h >> 32 & 65535)::integer)); CREATE INDEX doc_b3 ON doc (((h >> 48 & 65535)::integer));
CHECKPOINT;
CALL insert_batches('four expression B-trees');
SELECT * FROM inserted;
DROP SCHEMA bench CASCADE;
