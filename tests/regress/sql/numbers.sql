-- Fingerprints as programs write them: unsigned numbers, small integers, hexadecimal digits after
-- 0x or \x, and configs as jsonb.
\set SHOW_CONTEXT never

-- numeric: what the bytes are worth, byte by byte
CREATE FUNCTION worth(bytes bytea) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE worth numeric := 0;
BEGIN
  FOR i IN 0 .. length(bytes) - 1 LOOP worth := 256 * worth + get_byte(bytes, i); END LOOP;
  RETURN worth;
END $$;
CREATE TABLE numbers AS
SELECT i AS id, substr(hash, 1, 8)::fingerprint64 AS f64,
  substr(hash, 1, 16)::fingerprint128 AS f128, hash::fingerprint256 AS f256
FROM (SELECT i, sha256(i::text::bytea) AS hash FROM generate_series(1, 2000) i) s;
SELECT count(*) FILTER (WHERE get_byte(f64::bytea, 0) > 127) > 500 AS top_bits,
  count(*) FILTER (WHERE f64::numeric <> worth(f64::bytea)) AS wrong_64,
  count(*) FILTER (WHERE f128::numeric <> worth(f128::bytea)) AS wrong_128,
  count(*) FILTER (WHERE f256::numeric <> worth(f256::bytea)) AS wrong_256,
  count(*) FILTER (WHERE worth(f64::bytea)::fingerprint64 <> f64) AS not_back_64,
  count(*) FILTER (WHERE worth(f128::bytea)::fingerprint128 <> f128) AS not_back_128,
  count(*) FILTER (WHERE worth(f256::bytea)::fingerprint256 <> f256) AS not_back_256
FROM numbers;

-- the least and the greatest
SELECT 0::numeric::fingerprint64, 18446744073709551615::fingerprint64 AS most,
  1::numeric::fingerprint64 AS one, 9223372036854775808::fingerprint64 AS top_bit;
SELECT 0::numeric::fingerprint128,
  340282366920938463463374607431768211455::fingerprint128 AS most,
  18446744073709551616::fingerprint128 AS second_word;
SELECT
  115792089237316195423570985008687907853269984665640564039457584007913129639935::fingerprint256
  AS most;
SELECT 6277101735386680763835789423207666416102355444464034512896::fingerprint256 AS fourth_word;
SELECT 5.000::fingerprint64, 1e2::fingerprint64 AS hundred, (-0.0)::fingerprint64 AS zero;
SELECT NULL::numeric::fingerprint64, NULL::fingerprint256::numeric;

-- beyond them
SELECT 18446744073709551616::fingerprint64;
SELECT (-1)::numeric::fingerprint64;
SELECT 1.5::fingerprint64;
SELECT 'NaN'::numeric::fingerprint64;
SELECT 340282366920938463463374607431768211456::fingerprint128;
SELECT (-1)::numeric::fingerprint128;
SELECT
  115792089237316195423570985008687907853269984665640564039457584007913129639936::fingerprint256;
SELECT 0.1::fingerprint256;
\set VERBOSITY sqlstate
SELECT 1e131071::fingerprint64;
SELECT ('0.' || repeat('0', 16382) || '1')::numeric::fingerprint128;
SELECT (-1e131071)::fingerprint256;
\set VERBOSITY default

-- small integers are the bigint of the same value; other widths take numeric
SELECT 5::smallint::fingerprint64, 100000::fingerprint64, (-1)::smallint::fingerprint64 AS minus,
  (-2147483648)::integer::fingerprint64 = (-2147483648)::bigint::fingerprint64 AS as_bigint;
\set VERBOSITY sqlstate
SELECT 5::fingerprint128;

-- assignment, as in INSERT, and nothing more: no function or operator means another one
CREATE TABLE number_t (f64 fingerprint64, f128 fingerprint128, f256 fingerprint256);
INSERT INTO number_t VALUES
  (18446744073709551615, 18446744073709551615, 18446744073709551615), (5, 5.0, 5.0);
TABLE number_t;
CREATE TABLE number_back (a numeric, b numeric, c numeric);
INSERT INTO number_back TABLE number_t RETURNING *;
SELECT hamming(f64, 5.0) FROM number_t;
SELECT f64 = 5 FROM number_t;
\set VERBOSITY default
SELECT hamming(f64, '0000000000000005'), hamming('0000000000000000', f64), hamming(7, 5),
  hamming('0x0000000000000007', '\x0000000000000005') AS as_text FROM number_t;

-- hexadecimal digits after 0x or \x, of the right length
SELECT '0x0123456789abcdef'::fingerprint64, '\x0123456789ABCDEF'::fingerprint64,
  '0X0123456789aBcDeF'::fingerprint64;
SELECT ('0x' || f128)::fingerprint128 = f128 AND f128::bytea::text::fingerprint128 = f128
  AND ('0x' || f256)::fingerprint256 = f256 AND f256::bytea::text::fingerprint256 = f256 AS same
FROM number_t;
SELECT '<0x00000000000000ff,3>'::hamming_ball64, hamming_ball('\x00000000000000ff', 3);
SELECT * FROM simhash_blocks('0x0001000200030004');
\set VERBOSITY sqlstate
SELECT '0x123456789abcdef'::fingerprint64;
SELECT '0x00123456789abcdef'::fingerprint64;
SELECT '0x0x0123456789abcdef'::fingerprint64;
SELECT '0x0123456789abcd'::fingerprint64;
SELECT '\x0123456789abcd'::fingerprint64;
SELECT '0x'::fingerprint64;
SELECT '\X0123456789abcdef'::fingerprint64;
SELECT ' 0x0123456789abcdef'::fingerprint64;
SELECT '0x0123456789abcdef'::fingerprint128;
SELECT '18446744073709551615'::fingerprint64;
\set VERBOSITY default
SELECT '0x0123'::fingerprint64;

-- a parameter that is a number or a text, cast once, is searched in the index
INSERT INTO numbers SELECT 3000 + i, (9223372036854775808 + (1 << i))::fingerprint64
  FROM generate_series(0, 5) i;
CREATE INDEX numbers_f64 ON numbers USING simhash (f64);
ANALYZE numbers;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
PREPARE by_number(numeric) AS
  SELECT id FROM numbers WHERE hamming(f64, $1::fingerprint64) <= 1 ORDER BY id;
EXPLAIN (COSTS OFF) EXECUTE by_number(9223372036854775808);
EXECUTE by_number(9223372036854775808);
PREPARE by_text(varchar) AS
  SELECT id FROM numbers WHERE hamming(f64, $1::fingerprint64) <= 1 ORDER BY id;
EXPLAIN (COSTS OFF) EXECUTE by_text('0x8000000000000000');
EXECUTE by_text('0x8000000000000000');
EXECUTE by_number(-1);
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT id FROM numbers WHERE hamming(f64, '8000000000000000') <= 1;
RESET enable_seqscan;

-- a text without a cast has no function: an overload on text would take every quoted literal
\set VERBOSITY sqlstate
SELECT hamming(f64, '0000000000000005'::varchar) FROM number_t;
\set VERBOSITY default

-- configs as jsonb, in functions, defaults and generated columns; json is assigned only
SELECT simhash(body, jsonb '{"shingle": 2}') = simhash(body, '{"shingle": 2}') AS simhash,
  minhash64(body, jsonb_build_object('shingle', 2)) = minhash64(body, '{"shingle": 2}') AS minhash
FROM (VALUES ('one two three')) v (body);
SELECT count(*) FROM simhash_features('one two three', jsonb '{"shingle": 2}');
CREATE TABLE configured (body text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(body, jsonb '{"shingle": 2}')) STORED);
INSERT INTO configured VALUES ('one two three');
SELECT fp = simhash(body, '{"shingle": 2}') AS same FROM configured;
SELECT simhash('one two three', jsonb '{"shingel": 2}');
SELECT simhash('one two three', jsonb '[]');
\set VERBOSITY sqlstate
SELECT simhash('one two three', json '{"shingle": 2}');
SELECT json '{}' = json '{}';
\set VERBOSITY default
SELECT jsonb '{"a": 1}' = jsonb '{"a": 1}' AS as_before, '{"a": 1}' = jsonb '{"a": 1}' AS literal;

DROP TABLE numbers, number_t, number_back, configured;
DROP FUNCTION worth;
