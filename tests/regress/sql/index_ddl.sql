-- How an index is created and kept: kinds of index, exclusion constraints, storage parameters,
-- inspection.
SET client_min_messages = warning;
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;

-- Every operator class is sound.
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
  WHERE amname = 'simhash' ORDER BY 1;

-- Storage parameters.
CREATE TABLE t (id integer, fp fingerprint64, wanted boolean);
CREATE INDEX ON t USING simhash (fp) WITH (blocks = 17);
CREATE INDEX ON t USING simhash (fp) WITH (fillfactor = 10);
CREATE INDEX ON t USING simhash (fp) WITH (levels = 2);
CREATE UNIQUE INDEX ON t USING simhash (fp);
CREATE INDEX ON t USING simhash (fp, fp);
CREATE INDEX ON t USING simhash (id);

-- Partial, expression, concurrent, reindexed.
INSERT INTO t SELECT i, random64(i::text), i % 2 = 0 FROM generate_series(1, 1000) i;
CREATE INDEX t_partial ON t USING simhash (fp) WHERE wanted;
CREATE INDEX t_expression ON t USING simhash ((fp::bigint # 1) hamming_int8_ops);
CREATE INDEX CONCURRENTLY t_concurrent ON t USING simhash (fp) WITH (blocks = 2);
INSERT INTO t SELECT i, random64(i::text), i % 2 = 0 FROM generate_series(1001, 1500) i;
REINDEX INDEX CONCURRENTLY t_concurrent;
SELECT simhash_index_check('t_partial'), simhash_index_check('t_expression'),
  simhash_index_check('t_concurrent');
SELECT rows, tables FROM simhash_index_info('t_partial');
SELECT rows, tables FROM simhash_index_info('t_concurrent');
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM t WHERE wanted AND fp <@ hamming_ball(random64('8'), 0);
SELECT id FROM t WHERE wanted AND fp <@ hamming_ball(random64('8'), 0);
SELECT id FROM t WHERE wanted AND fp <@ hamming_ball(random64('7'), 0);
EXPLAIN (COSTS off) SELECT id FROM t
  WHERE (fp::bigint # 1) <@ hamming_ball(random64('7')::bigint, 1);
SELECT id FROM t WHERE (fp::bigint # 1) <@ hamming_ball(random64('7')::bigint, 1);
RESET enable_seqscan;

-- Unlogged, temporary, partitioned.
CREATE UNLOGGED TABLE u AS SELECT * FROM t;
CREATE INDEX u_fp ON u USING simhash (fp);
CREATE TEMPORARY TABLE temp AS SELECT * FROM t;
CREATE INDEX temp_fp ON temp USING simhash (fp);
INSERT INTO temp SELECT i, random64(i::text), true FROM generate_series(2001, 4000) i;
DELETE FROM temp WHERE id % 2 = 0;
VACUUM temp;
SELECT simhash_index_check('u_fp'), simhash_index_check('temp_fp');
SELECT rows FROM simhash_index_info('temp_fp');
CREATE TABLE parts (id integer, fp fingerprint64) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (500);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (500) TO (5000);
CREATE INDEX parts_fp ON parts USING simhash (fp);
INSERT INTO parts SELECT id, fp FROM t;
SET enable_seqscan = off;
SELECT id FROM parts
  WHERE fp <@ hamming_ball(random64('8'), 3) OR fp <@ hamming_ball(random64('800'), 3) ORDER BY id;
SELECT id FROM parts ORDER BY fp <~> random64('900') LIMIT 1;
RESET enable_seqscan;

-- A transaction that is rolled back leaves no trace.
BEGIN;
INSERT INTO t SELECT i, random64(i::text), true FROM generate_series(5001, 6000) i;
ROLLBACK;
SELECT count(*) FROM t WHERE fp <@ hamming_ball(random64('5500'), 0);
BEGIN;
SAVEPOINT s;
CREATE INDEX t_gone ON t USING simhash (fp);
ROLLBACK TO s;
COMMIT;
VACUUM t;
SELECT simhash_index_check('t_concurrent');

-- Exclusion constraints: no near-duplicates, of fingerprints and of balls.
CREATE TABLE unique_docs (id integer, fp fingerprint64, EXCLUDE USING simhash (fp WITH ~=));
INSERT INTO unique_docs VALUES (1, '00000000000000ff'), (2, NULL), (3, NULL);
INSERT INTO unique_docs VALUES (4, '00000000000000f8');
INSERT INTO unique_docs VALUES (4, '00000000000000f0');
INSERT INTO unique_docs VALUES (5, '00000000000000fe') ON CONFLICT DO NOTHING;
INSERT INTO unique_docs VALUES (6, '1111111111111111'), (7, '1111111111111113')
  ON CONFLICT DO NOTHING;
UPDATE unique_docs SET fp = '1111111111111110' WHERE id = 4;
UPDATE unique_docs SET fp = '1111111111111110' WHERE id = 6;
SELECT * FROM unique_docs ORDER BY id;
CREATE TABLE unique_balls (id integer, fp fingerprint64,
  EXCLUDE USING simhash (hamming_ball(fp, 5) WITH ~=));
INSERT INTO unique_balls VALUES (1, '00000000000000ff');
INSERT INTO unique_balls VALUES (2, '0000000000000007');
INSERT INTO unique_balls VALUES (2, '0000000000000003');
SELECT * FROM unique_balls ORDER BY id;
-- Balls of unequal radii: each must hold the other's centre.
CREATE TABLE balls (ball hamming_ball64, EXCLUDE USING simhash (ball WITH ~=));
INSERT INTO balls VALUES ('<0000000000000000,2>');
INSERT INTO balls VALUES ('<0000000000000007,10>');
INSERT INTO balls VALUES ('<0000000000000003,1>');
INSERT INTO balls VALUES ('<0000000000000003,2>');
CREATE TABLE deferred (fp fingerprint128,
  EXCLUDE USING simhash (fp WITH ~=) DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO deferred VALUES (repeat('0', 32)::fingerprint128),
  ((repeat('0', 30) || 'ff')::fingerprint128);
COMMIT;
BEGIN;
INSERT INTO deferred VALUES (repeat('0', 32)::fingerprint128),
  ((repeat('0', 30) || 'ff')::fingerprint128);
DELETE FROM deferred WHERE fp = repeat('0', 32)::fingerprint128;
COMMIT;
SELECT * FROM deferred;

-- Relations that are no simhash index are refused.
CREATE TABLE ordinary (id integer PRIMARY KEY);
SELECT simhash_index_check('ordinary_pkey');
DROP TABLE ordinary;
SELECT * FROM simhash_index_info('pg_class');

-- Only the owner may check an index, and the check runs with the owner's rights: the functions in
-- an index are the owner's.
CREATE ROLE regress_simhash_owner ROLE CURRENT_USER;
CREATE ROLE regress_simhash_other ROLE CURRENT_USER;
-- To name the extension's functions a role needs USAGE on their schema.
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO regress_simhash_owner, regress_simhash_other;
CREATE FUNCTION who(fp fingerprint64) RETURNS fingerprint64 IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING 'runs with the rights of %',
    CASE WHEN current_user = session_user THEN 'the session' ELSE current_user END;
  RETURN fp;
END $$;
CREATE TABLE owned (fp fingerprint64, secret int);
CREATE INDEX owned_who ON owned USING simhash (who(fp));
ALTER TABLE owned OWNER TO regress_simhash_owner;
INSERT INTO owned VALUES ('0123456789abcdef');
SELECT simhash_index_check('owned_who');
SELECT current_user = session_user AS back;
SET ROLE regress_simhash_owner;
SELECT simhash_index_check('owned_who', false);
SET ROLE regress_simhash_other;
SELECT simhash_index_check('owned_who');
RESET ROLE;

-- simhash_index_info answers roles that may read the table or the indexed column, and the owner. Of
-- a partial index it would tell about the other columns too.
CREATE INDEX owned_fp ON owned USING simhash (fp);
CREATE INDEX owned_some ON owned USING simhash (fp) WHERE secret IS NULL;
SET ROLE regress_simhash_owner;
SELECT rows FROM simhash_index_info('owned_fp');
SET ROLE regress_simhash_other;
SELECT rows FROM simhash_index_info('owned_fp');
RESET ROLE;
GRANT SELECT (fp) ON owned TO regress_simhash_other;
SET ROLE regress_simhash_other;
SELECT rows FROM simhash_index_info('owned_fp');
SELECT rows FROM simhash_index_info('owned_who');
SELECT rows FROM simhash_index_info('owned_some');
RESET ROLE;
GRANT SELECT ON owned TO regress_simhash_other;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
SET ROLE regress_simhash_other;
SELECT rows FROM simhash_index_info('owned_fp');
SET ROLE regress_simhash_owner;
REVOKE ALL ON owned FROM regress_simhash_owner;
SELECT rows FROM simhash_index_info('owned_fp');
RESET ROLE;
DROP TABLE owned;
DROP FUNCTION who;
REVOKE USAGE ON SCHEMA :home FROM regress_simhash_owner, regress_simhash_other;
DROP ROLE regress_simhash_owner, regress_simhash_other;

-- A tree of several levels. A build whose sort spills to disk makes the same index.
CREATE TABLE many (fp fingerprint64);
INSERT INTO many SELECT random64(i::text) FROM generate_series(1, 100000) i;
SET maintenance_work_mem = '1MB';
CREATE INDEX many_spilled ON many USING simhash (fp);
RESET maintenance_work_mem;
CREATE INDEX many_sorted ON many USING simhash (fp);
-- Memory for a few rows more than the sorter's room after its last doubling.
SET maintenance_work_mem = '1093kB';
CREATE INDEX many_nearly ON many USING simhash (fp);
RESET maintenance_work_mem;
SELECT simhash_index_check('many_spilled'), simhash_index_check('many_sorted'),
  simhash_index_check('many_nearly');
DROP INDEX many_nearly;
SELECT rows, tables, levels, bytes_per_row < 52 AS compact, round(fill::numeric, 1) AS fill
  FROM simhash_index_info('many_spilled');
SELECT pg_relation_size('many_spilled') = pg_relation_size('many_sorted') AS same_size;
SELECT reltuples FROM pg_class WHERE relname = 'many_sorted';
-- Space freed by vacuum is used again.
DELETE FROM many;
VACUUM many;
INSERT INTO many SELECT random64(i::text) FROM generate_series(100001, 150000) i;
SELECT pg_relation_size('many_sorted') <= 1.1 * pg_relation_size('many_spilled') AS bounded;
SELECT simhash_index_check('many_sorted');

DROP TABLE t, u, temp, parts, unique_docs, unique_balls, balls, deferred, many;
DROP FUNCTION random64;
