-- Indexes of bit(n). For every length, index, bitmap, index-only and ordered scans answer what
-- PostgreSQL's own # says of every row.
SET client_min_messages = warning;
SET jit = off;
\set VERBOSITY default
\set SHOW_CONTEXT never

\i test/tests/regress/include/force.sql

CREATE FUNCTION bit_of(seed text) RETURNS bit LANGUAGE sql AS $$
  SELECT ('x' || string_agg(md5(seed || i), '' ORDER BY i))::bit(1024) FROM generate_series(1, 8) i
$$;

-- Strings that are near one another in tens: one bit in sixteen differs from the ten's own.
CREATE FUNCTION bit_near(i integer) RETURNS bit LANGUAGE sql AS $$
  SELECT bit_of('ten' || i / 10)
    # (bit_of('a' || i) & bit_of('b' || i) & bit_of('c' || i) & bit_of('d' || i))
$$;

CREATE TABLE bit_rows AS
  SELECT i AS id, bit_near(i)::bit(1024) AS code FROM generate_series(1, 400) i WHERE i % 41 > 0;

-- How a way of reading finds rows, and PostgreSQL's own way.
CREATE FUNCTION bit_answer(how text, n integer, form text, q text, k integer) RETURNS text
  LANGUAGE plpgsql AS $$
DECLARE
  q_typed text := format('%L::bit(%s)', q, n);
  own text := format('length(replace((code # %s)::text, ''0'', ''''))', q_typed);
  result text;
BEGIN
  PERFORM force(how);
  EXECUTE format(
    CASE form
      WHEN 'nearest' THEN
        'SELECT string_agg(coalesce(d::text, ''null''), '' '')
           FROM (SELECT %4$s AS d FROM bit%1$s ORDER BY %4$s) s'
      WHEN 'nearest within' THEN
        'SELECT string_agg(d::text, '' '')
           FROM (SELECT %4$s AS d FROM bit%1$s WHERE %5$s ORDER BY %4$s LIMIT 15) s'
      WHEN 'values' THEN
        'SELECT string_agg(code::text, '' '' ORDER BY code) FROM bit%1$s WHERE %5$s'
      ELSE 'SELECT string_agg(id::text, '' '' ORDER BY id) FROM bit%1$s WHERE %5$s'
    END, n, q, k,
    CASE how WHEN 'seq' THEN own ELSE format('code <^> %s', q_typed) END,
    CASE
      WHEN how = 'seq' THEN format('%s <= %s', own, k)
      WHEN form = 'function' THEN format('hamming(code, %s) <= %s', q_typed, k)
      WHEN form = 'mirrored' THEN format('%s > hamming(%s, code)', k + 1, q_typed)
      ELSE format('code <@ hamming_ball(%s, %s)', q_typed, least(k, n))
    END)
    INTO result;
  RETURN coalesce(result, 'none');
END $$;

-- The ways that answer otherwise than PostgreSQL's own, and the number of answers compared.
CREATE FUNCTION bit_wrong(n integer, distances integer[], OUT compared integer, OUT wrong text[])
  LANGUAGE plpgsql AS $$
DECLARE q text; k integer; form text; how text; queries text[]; expected text; got text;
BEGIN
  compared := 0;
  EXECUTE format('SELECT array_agg(code::text) FROM bit%s WHERE id IN (17, 234)', n) INTO queries;
  queries := queries || repeat('0', n) || repeat('1', n);
  FOREACH q IN ARRAY queries LOOP
    FOREACH k IN ARRAY distances LOOP
      FOREACH form IN ARRAY '{ball,function,mirrored,values,nearest within}'::text[] LOOP
        expected := bit_answer('seq', n, form, q, k);
        FOREACH how IN ARRAY CASE form
            WHEN 'values' THEN '{only}'
            WHEN 'nearest within' THEN '{index,only}'
            ELSE '{index,bitmap}'
          END::text[]
        LOOP
          compared := compared + 1;
          got := bit_answer(how, n, form, q, k);
          IF got <> expected THEN wrong := wrong || format('%s %s %s', how, form, k); END IF;
        END LOOP;
      END LOOP;
    END LOOP;
    expected := bit_answer('seq', n, 'nearest', q, 0);
    FOREACH how IN ARRAY '{index,only}'::text[] LOOP
      compared := compared + 1;
      IF bit_answer(how, n, 'nearest', q, 0) <> expected THEN
        wrong := wrong || (how || ' nearest');
      END IF;
    END LOOP;
  END LOOP;
  PERFORM force('seq');
END $$;

-- Half of the rows are there when the index is built, the others are inserted.
SELECT format('CREATE TABLE bit%1$s (id integer, code bit(%1$s));
    INSERT INTO bit%1$s SELECT id, code::bit(%1$s) FROM bit_rows WHERE id <= 200;
    INSERT INTO bit%1$s VALUES (1001, NULL), (1002, repeat(''1'', %1$s)::bit(%1$s));
    CREATE INDEX bit%1$s_code ON bit%1$s USING simhash (code);
    INSERT INTO bit%1$s SELECT id, code::bit(%1$s) FROM bit_rows WHERE id > 200;
    INSERT INTO bit%1$s VALUES (1003, NULL), (1004, repeat(''0'', %1$s)::bit(%1$s));', n)
  FROM unnest(ARRAY[8, 9, 63, 64, 65, 100, 128, 129, 256, 300, 512, 1000, 1024]) n \gexec
SELECT format('VACUUM ANALYZE bit%s', n)
  FROM unnest(ARRAY[8, 9, 63, 64, 65, 100, 128, 129, 256, 300, 512, 1000, 1024]) n \gexec

SELECT n, w.* FROM unnest(ARRAY[8, 9]) n,
  bit_wrong(n, ARRAY(SELECT generate_series(0, n + 1))) w ORDER BY n;
SELECT n, w.* FROM unnest(ARRAY[63, 64, 65, 100]) n,
  bit_wrong(n, ARRAY[0, 1, 3, 6, 10, 20, n / 2, n - 1, n, n + 1]) w ORDER BY n;
SELECT n, w.* FROM unnest(ARRAY[128, 129, 256, 300, 512, 1000, 1024]) n,
  bit_wrong(n, ARRAY[0, n / 40, n / 16, n / 8, n / 4, n / 2, n]) w ORDER BY n;
SELECT simhash_index_check(format('bit%s_code', n)::regclass)
  FROM unnest(ARRAY[8, 9, 63, 64, 65, 100, 128, 129, 256, 300, 512, 1000, 1024]) n;
SELECT n, tables FROM unnest(ARRAY[8, 63, 65, 300]) n,
  simhash_index_info(format('bit%s_code', n)::regclass) ORDER BY n;

-- The plans; other conditions.
SELECT code AS q FROM bit64 WHERE id = 17 \gset
SELECT force('index');
EXPLAIN (COSTS off) SELECT id FROM bit64 WHERE hamming(code, :'q') <= 6;
EXPLAIN (COSTS off) SELECT id FROM bit64 ORDER BY code <^> B'1' LIMIT 3;
EXPLAIN (COSTS off) SELECT id FROM bit64 WHERE code = :'q';
SELECT id FROM bit64 WHERE code = :'q';
SELECT id FROM bit64 WHERE code = ANY (ARRAY[B'1', :'q', repeat('1', 64)::bit(64), NULL])
  ORDER BY id;
SELECT id FROM bit64 WHERE code IS NULL ORDER BY id;
SELECT count(*) FROM bit64 WHERE code IS NOT NULL;
SELECT count(*) FROM bit64 WHERE hamming(code, NULL) <= 3;
SELECT id, hamming(code, :'q') AS distance FROM bit64
  WHERE hamming(code, :'q') BETWEEN 1 AND 8 ORDER BY 2, 1;
PREPARE near(bit, bigint) AS
  SELECT count(*) FROM bit64 WHERE hamming($1, code) < $2 AND code <@ hamming_ball($1, 60);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS off) EXECUTE near(:'q', 9);
EXECUTE near(:'q', 9);
EXECUTE near(:'q', 0);
EXECUTE near(:'q', -5);
EXECUTE near(:'q', 10000000000);
RESET plan_cache_mode;
DEALLOCATE near;

-- Joins from either side.
CREATE FUNCTION bit_index_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
    IF line ~ 'Index' THEN RETURN NEXT trim(line); END IF;
  END LOOP;
END $$;
SELECT bit_index_lines('SELECT count(*) FROM bit64 a, bit64 b
  WHERE a.id % 40 = 17 AND hamming(a.code, b.code) <= 8');
SELECT count(*), sum(b.id) FROM bit64 a, bit64 b
  WHERE a.id % 40 = 17 AND hamming(a.code, b.code) <= 8;
SELECT count(*), sum(b.id) FROM bit64 a, bit64 b
  WHERE a.id % 40 = 17 AND length(replace((a.code # b.code)::text, '0', '')) <= 8;

-- A string of another length is not comparable. Equality just fails.
SELECT count(*) FROM bit64 WHERE hamming(code, B'0101') <= 3;
SELECT count(*) FROM bit64 WHERE code <@ hamming_ball(repeat('0', 65)::bit(65), 3);
SELECT id FROM bit64 ORDER BY code <^> B'0101' LIMIT 1;
SELECT count(*) FROM bit64 WHERE code = B'0101';
SELECT force('bitmap');
SELECT count(*) FROM bit64 WHERE hamming(B'0101', code) <= 3;
SELECT force('seq');
SELECT count(*) FROM bit64 WHERE hamming(code, B'0101') <= 3;
SELECT count(*) FROM bit64 WHERE code <@ hamming_ball(repeat('0', 65)::bit(65), 3);
SELECT id FROM bit64 ORDER BY code <^> B'0101' LIMIT 1;
SELECT count(*) FROM bit64 WHERE code = B'0101';

-- Scopes and included columns.
CREATE TABLE bit_tenants AS
  SELECT id, id % 3 AS tenant, code::bit(100) AS code FROM bit_rows;
CREATE INDEX bit_tenants_code ON bit_tenants USING simhash (tenant, code) INCLUDE (id);
VACUUM ANALYZE bit_tenants;
SELECT code AS q FROM bit_tenants WHERE id = 17 \gset
SELECT force('only');
SET enable_indexscan = on;  -- from 18 on it stands for index-only scans too
EXPLAIN (COSTS off)
  SELECT id, tenant, code FROM bit_tenants WHERE tenant = 2 AND hamming(code, :'q') <= 20;
SELECT count(*), md5(string_agg(id || ' ' || tenant || ' ' || code, ',' ORDER BY id))
  FROM bit_tenants WHERE tenant = 2 AND hamming(code, :'q') <= 20;
SELECT array_agg(d) FROM (SELECT code <^> :'q' AS d FROM bit_tenants WHERE tenant = 2
  ORDER BY code <^> :'q' LIMIT 5) s;
SELECT force('seq');
SELECT count(*), md5(string_agg(id || ' ' || tenant || ' ' || code, ',' ORDER BY id))
  FROM bit_tenants
  WHERE tenant = 2 AND length(replace((code # :'q')::text, '0', '')) <= 20;
SELECT array_agg(d) FROM (SELECT length(replace((code # :'q')::text, '0', '')) AS d
  FROM bit_tenants WHERE tenant = 2 ORDER BY 1 LIMIT 5) s;

-- The width is that of the column, its domain or the cast.
CREATE DOMAIN bit_hash AS bit(72) CHECK (VALUE <> repeat('0', 72)::bit(72));
CREATE DOMAIN bit_hash_too AS bit_hash;
CREATE TABLE bit_kinds (id integer, hash bit_hash_too, b bytea, fp fingerprint64,
  v bit varying(64), w bit varying, short bit(7), long bit(1025), one bit);
INSERT INTO bit_kinds (id, hash, fp, v)
  SELECT id, code::bit(72), code::bit(64)::fingerprint64, code::bit(64) FROM bit_rows;
CREATE INDEX bit_kinds_hash ON bit_kinds USING simhash (hash);
CREATE INDEX bit_kinds_v ON bit_kinds USING simhash ((v::bit(32)));
CREATE INDEX bit_kinds_fp ON bit_kinds USING simhash ((fp::bit(64)));
SELECT force('index');
EXPLAIN (COSTS off) SELECT id FROM bit_kinds WHERE hamming(hash, repeat('01', 36)::bit(72)) <= 5;
EXPLAIN (COSTS off) SELECT id FROM bit_kinds
  WHERE hamming(v::bit(32), repeat('01', 16)::bit(32)) < 5;
EXPLAIN (COSTS off) SELECT id FROM bit_kinds
  WHERE hamming(fp::bit(64), repeat('01', 32)::bit(64)) < 5;
SELECT count(*) FROM bit_kinds WHERE hamming(hash, (SELECT hash FROM bit_kinds WHERE id = 17)) <= 8;
SELECT count(*) FROM bit_kinds
  WHERE hamming(v::bit(32), (SELECT v::bit(32) FROM bit_kinds WHERE id = 17)) <= 8;
SELECT count(*) FROM bit_kinds
  WHERE hamming(fp::bit(64), (SELECT fp::bit(64) FROM bit_kinds WHERE id = 17)) <= 8;
SELECT force('seq');
SELECT count(*) FROM bit_kinds WHERE hamming(hash, (SELECT hash FROM bit_kinds WHERE id = 17)) <= 8;
SELECT count(*) FROM bit_kinds
  WHERE hamming(v::bit(32), (SELECT v::bit(32) FROM bit_kinds WHERE id = 17)) <= 8;
SELECT count(*) FROM bit_kinds
  WHERE hamming(fp::bit(64), (SELECT fp::bit(64) FROM bit_kinds WHERE id = 17)) <= 8;

-- What is refused.
CREATE INDEX bad ON bit_kinds USING simhash (v);
CREATE INDEX bad ON bit_kinds USING simhash (v bit_hamming_ops);
CREATE INDEX bad ON bit_kinds USING simhash (w);
CREATE INDEX bad ON bit_kinds USING simhash (short);
CREATE INDEX bad ON bit_kinds USING simhash (long);
CREATE INDEX bad ON bit_kinds USING simhash (one);
CREATE INDEX bad ON bit_kinds USING simhash ((short || v));
CREATE INDEX bad ON bit_kinds USING simhash ((short & short));
CREATE INDEX bad ON bit8 USING simhash (code) WITH (blocks = 9);
CREATE INDEX bad ON bit_tenants USING simhash (code, tenant);
ALTER TABLE bit9 ALTER code TYPE bit varying(9);

-- Another length is another index.
ALTER TABLE bit9 ALTER code TYPE bit(40) USING code::bit(40);
INSERT INTO bit9 VALUES (2000, repeat('1', 40)::bit(40));
SELECT simhash_index_check('bit9_code');
SELECT force('index');
SELECT id FROM bit9 WHERE hamming(code, repeat('1', 40)::bit(40)) <= 3;
SELECT force('seq');

-- An exclusion constraint.
CREATE TABLE bit_apart (code bit(12), EXCLUDE USING simhash (code WITH =));
INSERT INTO bit_apart VALUES (B'101010101010'), (B'101010101011');
INSERT INTO bit_apart VALUES (B'101010101010');

-- The balls.
SELECT '<0101,3>'::hamming_ball_bit, ' < 11110000111 , 11 > '::hamming_ball_bit,
  '<,0>'::hamming_ball_bit, hamming_ball(B'1', 0), hamming_ball_or_null(B'0101', 99),
  hamming_ball_or_null(B'0101', -1);
SELECT '<0102,3>'::hamming_ball_bit;
SELECT '<0101,5>'::hamming_ball_bit;
SELECT '<0101,-1>'::hamming_ball_bit;
SELECT hamming_ball(B'0101', 5);
SELECT hamming_ball_bit_send('<010100001,3>');
SELECT B'0101' <@ '<0111,1>', B'0101' <@ '<0111,0>'::hamming_ball_bit,
  hamming_ball(B'0111', 2) @> B'0100', hamming_within(B'0101', B'0110', 2),
  hamming_within(B'0101', B'0110', 1), B'0101' <^> B'0110';
SELECT B'0101' <@ '<01,1>';
SELECT hamming_within(B'0101', B'01', 1);
SELECT array_agg(ball ORDER BY ball) FROM (VALUES ('<0101,3>'::hamming_ball_bit), ('<0101,2>'),
  ('<0100,4>'), ('<1,0>'), ('<0101,3>')) b(ball);
SELECT count(DISTINCT ball), array_agg(ball ORDER BY ball DESC) FROM (VALUES
  ('<0101,3>'::hamming_ball_bit), ('<0101,2>'), ('<0100,4>'), ('<0101,3>')) b(ball)
  WHERE ball >= '<0101,2>' AND ball <> '<0101,2>' OR ball = '<0100,4>';

-- Estimates: of a constant, of an unknown centre, of columns with and without a length.
CREATE FUNCTION bit_estimate(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
  RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::bigint;
END $$;
SELECT bit_estimate('SELECT FROM bit1024 WHERE hamming(code, ' || quote_literal(code) || ') <= 900')
    BETWEEN 350 AND 410 AS nearly_all,
  bit_estimate('SELECT FROM bit1024 WHERE hamming(code, ' || quote_literal(code) || ') <= 9')
    BETWEEN 1 AND 20 AS few,
  bit_estimate('SELECT FROM bit8 WHERE hamming(code, B''10101010'') <= 4')
    BETWEEN 150 AND 350 AS many
  FROM bit1024 WHERE id = 17;

-- By default everything is planned as it is cheapest, without an ERROR.
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
RESET enable_sort;
SELECT count(*) FROM bit_rows r JOIN bit300 b ON hamming(b.code, r.code::bit(300)) <= 9;
SELECT bit_estimate('SELECT FROM bit64 WHERE hamming(code, B''0101'') <= 3 AND id < 0') AS rows;

SELECT format('DROP TABLE bit%s', n)
  FROM unnest(ARRAY[8, 9, 63, 64, 65, 100, 128, 129, 256, 300, 512, 1000, 1024]) n \gexec
DROP TABLE bit_rows, bit_tenants, bit_kinds, bit_apart;
DROP DOMAIN bit_hash_too, bit_hash;
DROP FUNCTION bit_index_lines, force, bit_of, bit_near, bit_answer, bit_wrong, bit_estimate;
