-- Index, bitmap, index-only and ordered scans answer what a sequential scan answers, for data of
-- every kind and for every distance.
SET client_min_messages = warning;
SET jit = off;

\i test/tests/regress/include/force.sql

-- The plan nodes that a query uses.
CREATE FUNCTION nodes(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text := '';
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
    IF line ~ 'Scan|Sort' THEN
      found := found || regexp_replace(trim(line), '^-> *', '') || '; ';
    END IF;
  END LOOP;
  RETURN found;
END $$;

-- A digest of what a query answers; each way of reading has its own form of the query.
CREATE FUNCTION answer(how text, name text, type text, q text, k integer)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  condition text := format('fp <@ hamming_ball(%L::%s, %s)', q, type, k);
  distance text := format('fp <~> %L::%s', q, type);
  result text;
BEGIN
  EXECUTE CASE how
    WHEN 'rows' THEN
      format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM %I WHERE %s', name, condition)
    WHEN 'values' THEN
      format('SELECT string_agg(fp::text, '' '' ORDER BY fp) FROM %I WHERE %s', name, condition)
    WHEN 'order' THEN
      format('SELECT string_agg(coalesce(d::text, ''null''), '' '')'
        ' FROM (SELECT %s AS d FROM %I ORDER BY %s) s', distance, name, distance)
    WHEN 'nearest' THEN
      format('SELECT string_agg(coalesce(d::text, ''null''), '' '')'
        ' FROM (SELECT %s AS d FROM %I WHERE %s ORDER BY %s LIMIT 20) s',
        distance, name, condition, distance)
  END INTO result;
  RETURN md5(coalesce(result, ''));
END $$;

-- The number of queries that some scan answers differently from a sequential scan.
CREATE FUNCTION disagreements(name text, type text, distances integer[])
  RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  q text; k integer; seq text[]; bad integer := 0;
  bits integer := CASE type WHEN 'fingerprint128' THEN 128 ELSE 64 END;
  queries text[];
BEGIN
  PERFORM force('seq');
  EXECUTE format('SELECT array_agg(fp::text) FROM (SELECT fp FROM %I'
    ' WHERE fp IS NOT NULL ORDER BY md5(id::text) LIMIT 2) s', name) INTO queries;
  queries := queries || ARRAY[
    repeat('0', bits / 4), repeat('f', bits / 4), left(repeat(md5(name), 2), bits / 4)];
  IF type = 'bigint' THEN
    queries := ARRAY['0', '-1', '4711', (-9223372036854775808)::text];
  END IF;
  FOREACH q IN ARRAY queries LOOP
    FOREACH k IN ARRAY distances LOOP
      PERFORM force('seq');
      seq := ARRAY[answer('rows', name, type, q, k), answer('values', name, type, q, k),
        answer('nearest', name, type, q, k)];
      PERFORM force('index');
      bad := bad + (answer('rows', name, type, q, k) <> seq[1])::integer
        + (answer('nearest', name, type, q, k) <> seq[3])::integer;
      PERFORM force('bitmap');
      bad := bad + (answer('rows', name, type, q, k) <> seq[1])::integer;
      PERFORM force('only');
      bad := bad + (answer('values', name, type, q, k) <> seq[2])::integer
        + (answer('nearest', name, type, q, k) <> seq[3])::integer;
    END LOOP;
    PERFORM force('seq');
    seq := ARRAY[answer('order', name, type, q, 0)];
    PERFORM force('index');
    bad := bad + (answer('order', name, type, q, 0) <> seq[1])::integer;
    PERFORM force('only');
    bad := bad + (answer('order', name, type, q, 0) <> seq[1])::integer;
  END LOOP;
  PERFORM force('seq');
  RETURN bad;
END $$;

CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;
-- Some bits of a fingerprint flipped.
CREATE AGGREGATE toggled(bigint) (SFUNC = int8xor, STYPE = bigint);
CREATE FUNCTION flipped(fp fingerprint64, seed integer, flips integer)
  RETURNS fingerprint64 IMMUTABLE LANGUAGE sql AS $$
  SELECT (fp::bigint # toggled(
      1::bigint << (('x' || left(md5(seed || ' ' || i), 4))::bit(16)::integer % 64)))::fingerprint64
  FROM generate_series(1, flips) i $$;

-- The plans that the answers below come from.
CREATE TABLE plans (id integer, fp fingerprint64);
CREATE INDEX plans_fp ON plans USING simhash (fp);
SELECT force('index');
SELECT nodes('SELECT id FROM plans WHERE fp <@ hamming_ball(''0000000000000000'', 3)');
SELECT nodes('SELECT id FROM plans ORDER BY fp <~> ''0000000000000000''');
SELECT force('bitmap');
SELECT nodes('SELECT id FROM plans WHERE fp <@ hamming_ball(''0000000000000000'', 3)');
SELECT force('only');
SELECT nodes('SELECT fp FROM plans WHERE fp <@ hamming_ball(''0000000000000000'', 3)');
SELECT nodes('SELECT fp FROM plans ORDER BY fp <~> ''0000000000000000''');
SELECT force('seq');

-- An empty table; then rows one by one, NULLs among them.
SELECT disagreements('plans', 'fingerprint64', ARRAY[0, 3, 64]);
INSERT INTO plans SELECT i, CASE WHEN i % 7 > 0 THEN flipped(random64((i / 5)::text), i, i % 12) END
  FROM generate_series(1, 3000) i;
SELECT disagreements('plans', 'fingerprint64', array_agg(k)) FROM generate_series(0, 64) k;

-- A built index, other numbers of blocks, rows that come and go.
CREATE TABLE random_rows (id integer, fp fingerprint64);
INSERT INTO random_rows SELECT i, random64(i::text) FROM generate_series(1, 4000) i;
CREATE INDEX random_fp ON random_rows USING simhash (fp) WITH (blocks = 5, fillfactor = 70);
SELECT disagreements('random_rows', 'fingerprint64', ARRAY[0, 1, 2, 3, 5, 8, 13, 21, 29, 34, 64]);
DELETE FROM random_rows WHERE id % 3 = 0;
VACUUM random_rows;
SELECT disagreements('random_rows', 'fingerprint64', ARRAY[0, 3, 10, 26, 64]);
INSERT INTO random_rows SELECT -i, flipped(random64(i::text), i, i % 4)
  FROM generate_series(1, 4000) i;
SELECT disagreements('random_rows', 'fingerprint64', ARRAY[0, 1, 2, 3, 4, 7, 12, 24, 33, 64]);
REINDEX INDEX random_fp;
SELECT disagreements('random_rows', 'fingerprint64', ARRAY[2, 9, 30]);
SELECT simhash_index_check('random_fp');

-- One fingerprint stored again and again beside random ones.
CREATE TABLE copies (id integer, fp fingerprint64);
CREATE INDEX copies_fp ON copies USING simhash (fp);
INSERT INTO copies SELECT i, CASE WHEN i % 20 = 0 THEN random64(i::text) ELSE '00000000ffffffff' END
  FROM generate_series(1, 6000) i;
SELECT disagreements('copies', 'fingerprint64', ARRAY[0, 1, 3, 16, 31, 32, 33, 64]);
SELECT simhash_index_check('copies_fp');

-- Two clusters, built with a constant block in all of them; then sorted numbers.
CREATE TABLE clusters (id integer, fp fingerprint64);
INSERT INTO clusters SELECT i,
  flipped((CASE WHEN i % 2 = 0 THEN '1234000000000000' ELSE '1234ffffffffffff' END)::fingerprint64,
    i, i % 6)
  FROM generate_series(1, 3000) i;
CREATE INDEX clusters_fp ON clusters USING simhash (fp) WITH (blocks = 3);
SELECT disagreements('clusters', 'fingerprint64', ARRAY[0, 1, 2, 3, 4, 5, 6, 12, 40, 48, 52, 64]);
CREATE TABLE numbers (id integer, fp bigint);
CREATE INDEX numbers_fp ON numbers USING simhash (fp hamming_int8_ops);
INSERT INTO numbers SELECT i, i FROM generate_series(1, 2000) i;
INSERT INTO numbers SELECT -i, -i FROM generate_series(1, 2000) i;
SELECT disagreements('numbers', 'bigint', ARRAY[0, 1, 2, 3, 8, 11, 54, 64]);
SELECT simhash_index_check('clusters_fp'), simhash_index_check('numbers_fp');

-- 128 bits.
CREATE TABLE wide (id integer, fp fingerprint128);
INSERT INTO wide SELECT i, md5((i / 3)::text)::uuid::fingerprint128 FROM generate_series(1, 2000) i;
CREATE INDEX wide_fp ON wide USING simhash (fp);
INSERT INTO wide SELECT i,
  CASE WHEN i % 9 > 0 THEN replace(md5((i / 2)::text), 'a', 'b')::uuid::fingerprint128 END
  FROM generate_series(2001, 4000) i;
SELECT disagreements('wide', 'fingerprint128', ARRAY[0, 1, 4, 10, 11, 20, 47, 64, 127, 128]);
SELECT simhash_index_check('wide_fp');

-- Several conditions at once, and conditions beside an order.
SELECT force('index');
SELECT count(*) FROM plans
  WHERE fp <@ hamming_ball('0000000000000000', 30) AND fp <@ hamming_ball('ffffffff00000000', 30);
SELECT force('seq');
SELECT count(*) FROM plans
  WHERE fp <@ hamming_ball('0000000000000000', 30) AND fp <@ hamming_ball('ffffffff00000000', 30);

-- NULLs never match, are last in order, and are found by IS NULL.
SELECT force('index');
SELECT nodes('SELECT count(*) FROM plans WHERE fp IS NULL');
SELECT count(*) FROM plans WHERE fp IS NULL;
SELECT count(*) FROM plans WHERE fp IS NOT NULL;
SELECT count(*) FROM plans WHERE fp IS NULL AND fp <@ hamming_ball('0000000000000000', 64);
SELECT count(*), count(d)
  FROM (SELECT fp <~> '0000000000000000' AS d FROM plans ORDER BY fp <~> '0000000000000000') s;
PREPARE by_parameter(fingerprint64) AS SELECT count(*) FROM plans WHERE fp <@ hamming_ball($1, 3);
SET plan_cache_mode = force_generic_plan;
EXECUTE by_parameter(NULL);
EXECUTE by_parameter(random64('1'));
RESET plan_cache_mode;

-- Rescans: an inner side that is probed once for each outer row, a semijoin, and a bitmap of two
-- indexes.
CREATE INDEX plans_id ON plans (id);
CREATE TABLE probes AS SELECT id, fp FROM plans WHERE id % 50 = 1;
SELECT force('index');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT count(*), sum(plans.id) FROM probes JOIN plans ON plans.fp <@ hamming_ball(probes.fp, 8);
SELECT force('seq');
SELECT count(*), sum(plans.id) FROM probes JOIN plans ON plans.fp <@ hamming_ball(probes.fp, 8);
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT force('bitmap');
SELECT count(*) FROM plans
  WHERE fp <@ hamming_ball('0000000000000000', 30) AND id BETWEEN 1 AND 1500;
SELECT force('seq');
SELECT count(*) FROM plans
  WHERE fp <@ hamming_ball('0000000000000000', 30) AND id BETWEEN 1 AND 1500;

-- The nearest row is at distance 2, with two blocks: the scan probes for it. A sweep would read 190
-- leaves.
CREATE TABLE deep AS SELECT i AS id, random64(i::text) AS fp FROM generate_series(1, 100000) i;
CREATE INDEX deep_fp ON deep USING simhash (fp) WITH (blocks = 2);
CREATE FUNCTION buffers(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint
    + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
SELECT force('index');
SELECT buffers(format('SELECT id FROM deep ORDER BY fp <~> %L LIMIT 1',
    (fp::bigint # 6)::fingerprint64)) < 90 AS probed
  FROM deep WHERE id = 77;
SELECT id, fp <~> (SELECT (fp::bigint # 6)::fingerprint64 FROM deep WHERE id = 77) AS distance
  FROM deep
  ORDER BY fp <~> (SELECT (fp::bigint # 6)::fingerprint64 FROM deep WHERE id = 77) LIMIT 1;
SELECT force('seq');

DROP TABLE plans, random_rows, copies, clusters, numbers, wide, probes, deep;
DROP FUNCTION force, buffers, nodes, answer, disagreements, flipped, random64;
