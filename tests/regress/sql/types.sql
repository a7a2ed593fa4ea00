-- Types: text and binary form, casts, comparison, operator classes, min and max.
\set VERBOSITY verbose
\set SHOW_CONTEXT never

-- text form
SELECT '0123456789abcdef'::fingerprint64, 'FEDCBA9876543210'::fingerprint64;
SELECT '0123456789abcdef0123456789ABCDEF'::fingerprint128;
SELECT '<0123456789abcdef,3>'::hamming_ball64, ' < 00000000000000FF , 64 > '::hamming_ball64;
SELECT '<00112233445566778899aabbccddeeff,128>'::hamming_ball128;

-- malformed input names the value
\set VERBOSITY sqlstate
SELECT '0123'::fingerprint64;
SELECT '0123456789abcdeg'::fingerprint64;
SELECT ' 123456789abcdef'::fingerprint64;
SELECT '+123456789abcdef'::fingerprint64;
SELECT ''::fingerprint64;
SELECT '0123456789abcdef'::fingerprint128;
SELECT '0123456789abcdef,3'::hamming_ball64;
SELECT '<0123456789abcdef,x>'::hamming_ball64;
SELECT '<0123456789abcdef,65>'::hamming_ball64;
SELECT '<0123456789abcdef,-1>'::hamming_ball64;
SELECT '<00112233445566778899aabbccddeeff,129>'::hamming_ball128;
\set VERBOSITY default
SELECT '0123456789abcdeg'::fingerprint64;
SELECT '学历'::fingerprint128;
SELECT '<0123456789abcdef>'::hamming_ball64;
SELECT hamming_ball('0123456789abcdef'::fingerprint64, 65);
SELECT hamming_ball('00112233445566778899aabbccddeeff'::fingerprint128, -1);
SELECT hamming_ball('00112233445566778899aabbccddeeff', 3);

-- casts: the same bits, most significant first
SELECT '8000000000000001'::fingerprint64::bigint, (-1)::bigint::fingerprint64;
SELECT '8000000000000001'::fingerprint64::bit(64) AS bits,
       ('1' || repeat('0', 62) || '1')::bit(64)::fingerprint64 AS back;
SELECT '0123456789abcdef'::fingerprint64::bytea, '\x0123456789abcdef'::bytea::fingerprint64;
SELECT '0123456789abcdef0123456789abcdef'::fingerprint128::uuid,
       '01234567-89ab-cdef-0123-456789abcdef'::uuid::fingerprint128;
SELECT '0123456789abcdef0123456789abcdef'::fingerprint128::bit(128)::fingerprint128,
       '0123456789abcdef0123456789abcdef'::fingerprint128::bytea::fingerprint128;
SELECT B'101'::fingerprint64;
SELECT repeat('1', 65)::varbit::bit(65)::fingerprint64;
SELECT '\x01'::bytea::fingerprint64;
SELECT '\x0123456789abcdef'::bytea::fingerprint128;

-- unsigned order, in operators, sorting, aggregates
SELECT a < b AS lt, a <= b AS le, a = b AS eq, a <> b AS ne, a >= b AS ge, a > b AS gt
FROM (VALUES ('7fffffffffffffff'::fingerprint64, '8000000000000000'::fingerprint64),
             ('8000000000000000', '8000000000000000'),
             ('ffffffffffffffff', '0000000000000000')) v (a, b);
SELECT a < b AS lt, a <= b AS le, a = b AS eq, a <> b AS ne, a >= b AS ge, a > b AS gt
FROM (VALUES ('7fffffffffffffffffffffffffffffff'::fingerprint128,
              '80000000000000000000000000000000'::fingerprint128),
             ('80000000000000000000000000000000', '80000000000000000000000000000000')) v (a, b);

CREATE TABLE types_t AS
SELECT i AS id,
       ('x' || substr(md5(i::text), 1, 16))::bit(64)::fingerprint64 AS f64,
       md5(i::text)::uuid::fingerprint128 AS f128
FROM generate_series(1, 5000) i;
INSERT INTO types_t SELECT id + 5000, f64, f128 FROM types_t WHERE id % 5 = 0;
INSERT INTO types_t VALUES (0, NULL, NULL);

-- the text forms sort as the values do
SELECT count(*) FILTER (WHERE f64 <= previous) AS misplaced, count(*)
FROM (SELECT f64, lag(f64) OVER (ORDER BY f64::text) AS previous FROM types_t GROUP BY f64) s;
SELECT min(f64)::text = min(f64::text) AS min64, max(f64)::text = max(f64::text) AS max64,
       min(f128)::text = min(f128::text) AS min128, max(f128)::text = max(f128::text) AS max128
FROM types_t;
SELECT count(DISTINCT f64), count(DISTINCT f128) FROM types_t;
SELECT count(*) FROM (SELECT f64 FROM types_t GROUP BY f64 HAVING count(*) = 2) s;

-- joins by hashing, merging and nested loops agree
SET enable_mergejoin = off; SET enable_nestloop = off;
SELECT count(*) FROM types_t a JOIN types_t b USING (f64);
SELECT count(*) FROM types_t a JOIN types_t b USING (f128);
RESET enable_mergejoin; SET enable_hashjoin = off;
SELECT count(*) FROM types_t a JOIN types_t b USING (f64);
SELECT count(*) FROM types_t a JOIN types_t b USING (f128);
RESET enable_nestloop; RESET enable_hashjoin;

-- B-tree and hash indexes
CREATE INDEX types_b ON types_t (f64);
CREATE INDEX types_b128 ON types_t (f128);
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM types_t WHERE f64 = '0123456789abcdef';
-- EXPLAIN without what major versions print differently.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    CONTINUE WHEN line ~ '^ *(Disabled: true|Replaces: .*)$';
    line := regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0');
    RETURN NEXT regexp_replace(line, 'InitPlan \w+( \(returns \$0\))?', 'InitPlan 1');
  END LOOP;
END $$;
SELECT plan_of('SELECT min(f64) FROM types_t');
DROP FUNCTION plan_of;
SELECT count(*) FROM types_t WHERE f64 >= '8000000000000000';
SELECT count(*) FROM types_t WHERE f128 < '80000000000000000000000000000000';
DROP INDEX types_b;
CREATE INDEX types_h ON types_t USING hash (f64);
EXPLAIN (COSTS OFF) SELECT id FROM types_t WHERE f64 = '0123456789abcdef';
SELECT count(*) FROM types_t WHERE f64 = (SELECT f64 FROM types_t WHERE id = 5);
RESET enable_seqscan; RESET enable_bitmapscan;
SELECT count(*) FROM types_t WHERE f64::bit(64)::text >= '1';

-- hash partitioning uses the extended hash functions
CREATE TABLE types_p (f64 fingerprint64, f128 fingerprint128) PARTITION BY HASH (f64, f128);
CREATE TABLE types_p0 PARTITION OF types_p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE types_p1 PARTITION OF types_p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO types_p SELECT f64, f128 FROM types_t;
SELECT count(*) > 1000 AS both FROM types_p GROUP BY tableoid;
DROP TABLE types_p;

-- COPY in text, CSV and binary gives back what it took
CREATE TABLE types_c (id integer, f64 fingerprint64, f128 fingerprint128, b64 hamming_ball64,
                      b128 hamming_ball128, c simhash_config);
INSERT INTO types_c
SELECT id, f64, f128, hamming_ball(f64, id % 65), hamming_ball(f128, id % 129),
       '{"shingle": 2}' FROM types_t;
CREATE TABLE types_d (LIKE types_c);
SELECT current_setting('data_directory') AS directory \gset
\set text_file :directory '/types.text'
\set csv_file :directory '/types.csv'
\set binary_file :directory '/types.binary'
COPY types_c TO :'text_file';
COPY types_c TO :'csv_file' (FORMAT csv);
COPY types_c TO :'binary_file' (FORMAT binary);
COPY types_d FROM :'text_file';
COPY types_d FROM :'csv_file' (FORMAT csv);
COPY types_d FROM :'binary_file' (FORMAT binary);
SELECT copies, count(*) FROM (
  SELECT count(*) AS copies FROM types_d
  GROUP BY id, f64, f128, b64::text, b128::text, c::text
) s GROUP BY copies;
SELECT count(*) AS lost FROM (
  SELECT id, f64, f128, b64::text, b128::text, c::text FROM types_c
  EXCEPT SELECT id, f64, f128, b64::text, b128::text, c::text FROM types_d) s;
DROP TABLE types_t, types_c, types_d;
