-- Indexes with columns compared by equality and with included columns: what is refused, what
-- index-only scans return, constraints, kinds of tables, and how tables may change.
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;

-- What is refused.
CREATE TABLE t (id bigint, a integer, b integer, c integer, d integer, body text, u uuid,
  fp fingerprint64);
CREATE INDEX ON t USING simhash (fp, a);
CREATE INDEX ON t USING simhash (a, fp, b);
CREATE INDEX ON t USING simhash (fp, fp);
CREATE INDEX ON t USING simhash (a);
CREATE INDEX ON t USING simhash (a, b);
CREATE INDEX ON t USING simhash (a, b, c, d, fp);
CREATE INDEX ON t USING simhash (a, fp) INCLUDE (body);
CREATE INDEX ON t USING simhash (a, fp) INCLUDE (id, body);
CREATE INDEX ON t USING simhash (fp) INCLUDE (id, a, b, u, c);
DO $$ BEGIN
  CREATE INDEX ON t USING simhash (a, fp) INCLUDE ((b + 1));
EXCEPTION WHEN OTHERS THEN RAISE WARNING '%', SQLERRM;
END $$;
CREATE UNIQUE INDEX ON t USING simhash (a, fp);
DO $$ BEGIN
  CREATE INDEX ON t USING simhash (a DESC, fp);
EXCEPTION WHEN OTHERS THEN RAISE WARNING '%', SQLERRM;
END $$;
CREATE INDEX ON t USING simhash (a int8_ops, fp);
CREATE INDEX ON t USING simhash (a oid_ops, fp);
CREATE INDEX ON t USING simhash (a, id hamming_int8_ops, fp);
CREATE TABLE odd (n name, c "char", y bytea, one char(3), fp fingerprint64);
CREATE INDEX ON odd USING simhash (fp) INCLUDE (n);
CREATE INDEX ON odd USING simhash (fp) INCLUDE (y);
CREATE INDEX ON odd USING simhash (one, fp);
CREATE INDEX ON odd USING simhash (c, fp);
-- 32 bytes and three columns are the most.
CREATE INDEX t_most ON t USING simhash (a, b, c, fp) INCLUDE (id, u, d, a);
CREATE INDEX t_same ON t USING simhash (a, a, fp) INCLUDE (a, fp);
DROP TABLE odd;

-- Included columns of every kind of fixed length: the values of index-only scans are those of the
-- table, NULLs among them.
CREATE DOMAIN counted AS smallint;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE v (id integer, b boolean, c "char", i2 smallint, i4 integer, i8 bigint, f4 real,
  f8 float8, u uuid, tz timestamptz, iv interval, mac macaddr, p point, mon money, dom counted,
  e mood, d date, ti timetz, o oid, ball hamming_ball64, x xid, tenant bigint, fp fingerprint64);
INSERT INTO v VALUES
  (1, true, 'x', -1, -1, -1, -1, -1.5, 'ffffffff-ffff-ffff-ffff-ffffffffffff', '-infinity',
    '-1 year 3 days -00:00:01', 'ff:ff:ff:ff:ff:ff', '(-1,2)', -12.34, -5, 'happy', '-infinity',
    '23:59:59.5+13', 4294967295, '<ffffffffffffffff,64>', '4294967295', -1, 'ffffffffffffffff'),
  (2, false, '', 0, 0, 0, '-0', '-0', '00000000-0000-0000-0000-000000000000', '2000-01-01', '0',
    '00:00:00:00:00:00', '(0,-0)', 0, 0, 'sad', '2000-01-01', '00:00+00', 0,
    '<0000000000000000,0>', '0', 0, '0000000000000000'),
  (3, true, E'\\377', -32768, -2147483648, -9223372036854775808, '-infinity', 'NaN', NULL,
    'infinity', '178000000 years', '08:00:2b:01:02:03', '(1e300,-1e-300)', '-92233720368547758.08',
    32767, 'sad', 'infinity', '24:00-15:59', 2147483648, NULL, '3', NULL, '8000000000000001'),
  (4, NULL, '~', 32767, 2147483647, 9223372036854775807, 3.4e38, 'infinity',
    '80000000-0000-0000-0000-000000000001', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, 9223372036854775807, NULL);
INSERT INTO v (id) VALUES (5);
CREATE FUNCTION kept(cols text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE plan text := ''; line text; by_index text; by_table text; query text;
BEGIN
  EXECUTE format('CREATE INDEX v_kept ON v USING simhash (tenant, fp) INCLUDE (%s)', cols);
  query := format('SELECT string_agg(r::text, '' '' ORDER BY r::text) FROM (SELECT %s, tenant, fp'
    ' FROM v) r', cols);
  SET LOCAL enable_seqscan = off;
  SET LOCAL enable_bitmapscan = off;
  SET LOCAL enable_indexonlyscan = on;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
  EXECUTE query INTO by_index;
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_indexonlyscan = off;
  EXECUTE query INTO by_table;
  PERFORM simhash_index_check('v_kept');
  DROP INDEX v_kept;
  RETURN CASE WHEN plan !~ 'Index Only Scan using v_kept' THEN plan
    WHEN by_index = by_table THEN 'the same' ELSE by_index || ' should be ' || by_table END;
END $$;
BEGIN;
SELECT cols, kept(cols) FROM unnest(ARRAY['id', 'b', 'c', 'i2', 'i4', 'i8', 'f4', 'f8', 'u', 'tz',
  'iv',
  'mac', 'p', 'mon', 'dom', 'e', 'd', 'ti', 'o', 'ball', 'x', 'fp', 'tenant',
    'b, c, i2, i4, i8, f4, f8, id',
  'iv, u', 'p, iv', 'u, p', 'c, b, ball, d, mac, b', 'i2, iv, mac, id']) cols;
SELECT kept('b, c, ' || repeat('b, c, ', 13) || 'b');
ROLLBACK;
BEGIN;
SELECT kept('b, c, ' || repeat('b, c, ', 13) || 'b');
ROLLBACK;
-- All of them in the same order in one table, in leaves of one scope and of many, through splits.
CREATE TABLE paid (id integer, s smallint, c "char", f8 float8, tenant integer, fp fingerprint128);
CREATE INDEX paid_fp ON paid USING simhash (tenant, fp) INCLUDE (id, s, c,
  f8) WITH (fillfactor = 50);
INSERT INTO paid SELECT i, CASE WHEN i % 5 > 0 THEN -i END, chr(48 + i % 75)::"char", -i / 3.0,
    CASE WHEN i % 3 = 0 THEN 7 WHEN i % 3 = 1 THEN i % 200 END,
      CASE WHEN i % 9 > 0 THEN md5(i::text)::fingerprint128 END
  FROM generate_series(1, 6000) i;
DELETE FROM paid WHERE id % 7 = 0;
VACUUM paid;
INSERT INTO paid SELECT -id, s, c, f8, tenant, fp FROM paid WHERE id % 4 = 0;
VACUUM ANALYZE paid;
CREATE FUNCTION paid_digest(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
  EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(r::text, '';'' ORDER BY r::text))'
    ' FROM (SELECT id, s, c, f8, tenant, fp FROM paid WHERE %s) r', condition) INTO answer;
  RETURN coalesce(answer, 'none');
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id, s, c, f8, tenant, fp FROM paid WHERE tenant = 7 AND hamming(fp,
  md5('1')::fingerprint128) <= 60;
CREATE TEMPORARY TABLE digests AS SELECT condition, paid_digest(condition) AS digest
  FROM unnest(ARRAY['tenant = 7', 'tenant IS NULL',
  'tenant = ANY (''{1, 2, 3, 100}'')', 'true', 'hamming(fp, md5(''1'')::fingerprint128) <= 60',
  'tenant = 7 AND hamming(fp, md5(''1'')::fingerprint128) <= 60', 'tenant = 101 AND fp IS NULL',
    'fp IS NULL',
  'fp ~= md5(''8'')::fingerprint128']) condition;
SELECT paid_digest('tenant = 7 ORDER BY fp <~> md5(''1'')::fingerprint128') AS nearest_first;
RESET enable_seqscan;
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET simhash.enable_rewrite = off;
SELECT condition, digest = paid_digest(condition) AS same, split_part(digest, ' ', 1) AS rows
  FROM digests;
SELECT paid_digest('tenant = 7');
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET simhash.enable_rewrite;

-- Inspection.
SELECT rows, tables, levels, bytes_per_row BETWEEN 300 AND 700 AS size,
  fill BETWEEN 0.2 AND 1 AS filled
  FROM simhash_index_info('paid_fp');
SELECT simhash_index_check('paid_fp'), simhash_index_check('paid_fp', false);
REINDEX INDEX paid_fp;
REINDEX TABLE CONCURRENTLY paid;
SELECT simhash_index_check('paid_fp');
SELECT rows, tables, levels FROM simhash_index_info('paid_fp');
SELECT rows, tables, levels, largest_run FROM simhash_index_info('t_most');
CLUSTER paid USING paid_fp;

-- Constraints: no near-duplicates within a tenant. NULL is no tenant.
CREATE TABLE kept_out (id integer, tenant integer, lang text, fp fingerprint64,
  CONSTRAINT near EXCLUDE USING simhash (tenant WITH =, lang WITH =, fp WITH ~=) INCLUDE (id));
INSERT INTO kept_out VALUES (1, 1, 'en', '00000000000000ff'), (2, 2, 'en', '00000000000000ff'),
  (3, 1, 'de', '00000000000000ff'), (4, NULL, 'en', '00000000000000ff'),
  (5, NULL, 'en', '00000000000000ff'), (6, 1, NULL, '00000000000000ff'), (7, 1, 'en', NULL),
  (8, 1, 'en', NULL), (9, 1, 'en', '00000000000000f0');
INSERT INTO kept_out VALUES (10, 1, 'en', '00000000000000f1');
INSERT INTO kept_out VALUES (10, 1, 'de', '00000000000000fe'), (11, 3, 'de', '00000000000000ff')
  ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO kept_out VALUES (12, 2, 'en', '00000000000000fe')
  ON CONFLICT ON CONSTRAINT near DO NOTHING RETURNING id;
UPDATE kept_out SET tenant = 2 WHERE id = 1;
UPDATE kept_out SET lang = 'fr' WHERE id = 3 RETURNING id;
UPDATE kept_out SET fp = '00000000000000fe' WHERE id = 2 RETURNING id;
DELETE FROM kept_out WHERE id = 2;
UPDATE kept_out SET tenant = 2 WHERE id = 1 RETURNING id;
SELECT id, tenant, lang, fp FROM kept_out ORDER BY id;
SELECT simhash_index_check('near');
ALTER TABLE kept_out ADD CONSTRAINT nearer EXCLUDE USING simhash (lang WITH =, fp WITH ~=);
-- From 17 on the DETAIL names the schema of hamming_ball.
\set VERBOSITY terse
ALTER TABLE kept_out ADD EXCLUDE USING simhash (tenant WITH =, hamming_ball(fp,
  2) WITH ~=) DEFERRABLE;
\set VERBOSITY default
ALTER TABLE kept_out ADD EXCLUDE USING simhash (tenant WITH <>, fp WITH ~=);
DO $$ BEGIN
  ALTER TABLE kept_out ADD EXCLUDE USING simhash (tenant WITH =, fp WITH <@);
EXCEPTION WHEN OTHERS THEN RAISE WARNING '%', SQLERRM;
END $$;
CREATE TABLE deferred (id integer, tenant integer, fp fingerprint64, CONSTRAINT deferred_near
  EXCLUDE USING simhash (tenant WITH =, hamming_ball(fp, 2) WITH ~=) DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO deferred VALUES (1, 5, '0f0f0f0f0f0f0f0f'), (2, 5, '0f0f0f0f0f0f0f0e');
COMMIT;
BEGIN;
INSERT INTO deferred VALUES (1, 5, '0f0f0f0f0f0f0f0f'), (2, 5, '0f0f0f0f0f0f0f0e');
UPDATE deferred SET tenant = 6 WHERE id = 2;
COMMIT;
SELECT id, tenant FROM deferred ORDER BY id;
-- Equality within a scope, and of fingerprints too.
CREATE TABLE exact (tenant uuid, fp fingerprint256,
  EXCLUDE USING simhash (tenant WITH =, fp WITH =) WHERE (tenant IS NOT NULL));
INSERT INTO exact SELECT md5(t::text)::uuid, repeat(md5('x'), 2)::fingerprint256
  FROM generate_series(1, 3) t;
INSERT INTO exact VALUES (NULL, repeat(md5('x'), 2)::fingerprint256), (NULL, repeat(md5('x'),
  2)::fingerprint256);
INSERT INTO exact VALUES (md5('1')::uuid, repeat(md5('x'), 2)::fingerprint256);
INSERT INTO exact VALUES (md5('1')::uuid, (left(repeat(md5('x'), 2), 63) || '7')::fingerprint256);
SELECT count(*) FROM exact;

-- Columns change their types: the index follows.
CREATE TABLE changing (id integer, tenant integer, at timestamptz, lang varchar(5),
  fp fingerprint64);
CREATE INDEX changing_fp ON changing USING simhash (tenant, at, lang, fp) INCLUDE (id);
INSERT INTO changing SELECT i, i % 5, '2000-01-01'::timestamptz + i % 3 * interval '1 day', 'l'
  || i % 2,
  random64((i % 40)::text) FROM generate_series(1, 600) i;
CREATE FUNCTION found() RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE line text; plan text := '';
BEGIN
  FOR line IN EXPLAIN (COSTS OFF)
      SELECT id FROM changing
      WHERE tenant = 3 AND at = '2000-01-02' AND lang = 'l1' AND fp ~= random64('13') LOOP
    plan := plan || trim(line) || ' ';
  END LOOP;
  PERFORM simhash_index_check('changing_fp');
  RETURN (SELECT count(*) || ' of ' || (SELECT count(*) FROM changing
        WHERE tenant + 0 = 3 AND at::date = '2000-01-02' AND lang || '' = 'l1' AND hamming(fp,
          random64('13')) + 0 <= 3)
      FROM changing WHERE tenant = 3 AND at = '2000-01-02' AND lang = 'l1' AND fp ~= random64('13'))
    || ' ' || plan;
END $$;
SELECT found();
ALTER TABLE changing ALTER tenant TYPE bigint;
SELECT found();
ALTER TABLE changing ALTER lang TYPE text;
SELECT found();
ALTER TABLE changing ALTER at TYPE timestamp;
SELECT found();
ALTER TABLE changing ALTER at TYPE timestamptz;
SELECT found();
ALTER TABLE changing ALTER tenant TYPE counted, ALTER id TYPE bigint;
SELECT found();
ALTER TABLE changing ALTER id TYPE float8;
ALTER TABLE changing RENAME tenant TO owner;
ALTER TABLE changing RENAME owner TO tenant;
ALTER TABLE changing DROP COLUMN id;
SELECT count(*) FROM pg_class WHERE relname = 'changing_fp';
ALTER TABLE changing ADD id integer;
CREATE INDEX changing_fp ON changing USING simhash (tenant, at, lang, fp);
ALTER TABLE changing ALTER tenant TYPE numeric;
ALTER TABLE changing ALTER lang TYPE json USING '1'::json;
ALTER TYPE mood ADD VALUE 'calm' BEFORE 'sad';
ALTER TYPE mood RENAME VALUE 'sad' TO 'blue';
CREATE TABLE moods (m mood, fp fingerprint64);
CREATE INDEX moods_fp ON moods USING simhash (m, fp);
INSERT INTO moods SELECT m, '0000000000000000' FROM unnest('{calm, blue, blue, happy}'::mood[]) m;
SET enable_seqscan = off;
SELECT m, (SELECT count(*) FROM moods WHERE moods.m = e.m AND fp ~= '0000000000000001')
  FROM unnest(enum_range(NULL::mood)) e (m);
RESET enable_seqscan;

-- Unlogged, temporary and partitioned tables.
CREATE UNLOGGED TABLE unlogged AS SELECT id, tenant, fp FROM paid;
CREATE INDEX unlogged_fp ON unlogged USING simhash (tenant, fp) INCLUDE (id);
CREATE TEMPORARY TABLE temp (LIKE unlogged) ON COMMIT DELETE ROWS;
CREATE INDEX temp_fp ON temp USING simhash (tenant, fp) INCLUDE (id);
BEGIN;
INSERT INTO temp SELECT * FROM unlogged;
SELECT rows FROM simhash_index_info('temp_fp');
SELECT simhash_index_check('temp_fp');
COMMIT;
SELECT rows FROM simhash_index_info('temp_fp');
SELECT simhash_index_check('unlogged_fp');
ALTER TABLE unlogged SET LOGGED;
SELECT simhash_index_check('unlogged_fp');
CREATE TABLE parts (id integer, tenant integer, fp fingerprint128) PARTITION BY LIST (tenant);
CREATE TABLE parts_7 (fp fingerprint128, gone text, tenant integer, id integer);
ALTER TABLE parts_7 DROP gone;
ALTER TABLE parts ATTACH PARTITION parts_7 FOR VALUES IN (7);
CREATE TABLE parts_rest PARTITION OF parts DEFAULT;
CREATE INDEX parts_fp ON parts USING simhash (tenant, fp) INCLUDE (id);
INSERT INTO parts SELECT id, tenant, fp FROM paid;
SELECT fp AS fp FROM paid WHERE id = 3 \gset
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM parts WHERE tenant = 7 AND fp ~= :'fp';
EXPLAIN (COSTS OFF) SELECT id FROM parts WHERE tenant = 8 ORDER BY fp <~> :'fp' LIMIT 3;
SELECT id, tenant FROM parts WHERE tenant = 7 AND fp ~= :'fp';
SELECT count(*) FROM parts WHERE tenant IN (7, 8) AND hamming(fp, :'fp') <= 55;
SELECT fp <~> :'fp' AS d FROM parts WHERE tenant IN (7, 8) ORDER BY fp <~> :'fp' LIMIT 3;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*) FROM paid WHERE tenant IN (7, 8) AND hamming(fp, :'fp') <= 55;
SELECT hamming(fp, :'fp') AS d FROM paid WHERE tenant IN (7, 8) ORDER BY 1 LIMIT 3;
SELECT simhash_index_check(i.oid) FROM pg_inherits JOIN pg_class i ON i.oid = inhrelid
  WHERE inhparent = 'parts_fp'::regclass;

DROP TABLE t, v, paid, digests, kept_out, deferred, exact, changing, moods, unlogged, temp, parts;
DROP FUNCTION random64, kept, paid_digest, found;
DROP DOMAIN counted;
DROP TYPE mood;
