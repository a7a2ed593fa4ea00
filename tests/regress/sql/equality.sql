-- Every type of the extension has an equality, an order and (balls excepted) a hash. They are
-- compared with those of the text forms, which differ exactly where values differ.
CREATE FUNCTION ball(i integer) RETURNS hamming_ball64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT hamming_ball(left(md5((i % 7)::text), 16)::fingerprint64, abs(i) % 3 * 32) $$;
CREATE FUNCTION ball128(i integer) RETURNS hamming_ball128 IMMUTABLE LANGUAGE sql
  AS $$ SELECT hamming_ball(md5((i % 7)::text)::fingerprint128, abs(i) % 3 * 64) $$;
CREATE TABLE values_of (
  n integer, ball64 hamming_ball64, ball128 hamming_ball128, config simhash_config,
  signature minhash_signature, filter bloom_filter);
INSERT INTO values_of
  SELECT i, ball(i), ball128(i),
    format('{"shingle": %s, "weight": %s}',
      1 + i % 4, to_json((ARRAY['tf', 'log'])[1 + i % 2]))::simhash_config,
    minhash('text number ' || i % 5, 8 * (1 + i % 2)),
    (SELECT bloom_agg(w, 10 + i % 2) FROM generate_series(0, i % 6) n, concat('word', n) w)
  FROM generate_series(1, 300) i;
INSERT INTO values_of SELECT -n, b.ball64, b.ball128 FROM (VALUES
  (1, '<0000000000000000,0>'::hamming_ball64, '<00000000000000000000000000000000,0>'
    ::hamming_ball128),
  (2, '<0000000000000000,64>', '<00000000000000000000000000000000,128>'),
  (3, '<ffffffffffffffff,0>', '<ffffffffffffffffffffffffffffffff,0>'),
  (4, '<00000000000000ff,9>', '<000000000000000000000000000000ff,9>'),
  (5, '<ff00000000000000,10>', '<ff000000000000000000000000000000,10>'),
  (6, NULL, NULL)) b (n, ball64, ball128);
ANALYZE values_of;

-- DISTINCT, GROUP BY, UNION and count(DISTINCT) find as many values as text forms.
CREATE FUNCTION pg_temp.agree(type_name text, expression text)
  RETURNS TABLE (what text, agrees boolean) LANGUAGE plpgsql AS $$
DECLARE
  source CONSTANT text :=
    format('(SELECT %s AS v, (%1$s)::text COLLATE "C" AS t FROM values_of)', expression);
BEGIN
  what := type_name;
  EXECUTE format('SELECT count(*) > 1'
    ' AND count(*) = (SELECT count(*) FROM (SELECT DISTINCT t FROM %1$s s) d)'
    ' FROM (SELECT DISTINCT v FROM %1$s s) d', source) INTO agrees;
  IF NOT agrees THEN RAISE WARNING 'DISTINCT differs'; END IF;
  EXECUTE format('SELECT bool_and(n = 1) FROM'
    ' (SELECT count(DISTINCT t) n FROM %s s WHERE v IS NOT NULL GROUP BY v) d', source) INTO agrees;
  IF NOT agrees THEN RAISE WARNING 'GROUP BY differs'; END IF;
  EXECUTE format('SELECT count(DISTINCT v) = count(DISTINCT t) FROM %s s', source) INTO agrees;
  IF NOT agrees THEN RAISE WARNING 'count(DISTINCT) differs'; END IF;
  EXECUTE format('SELECT count(*) = 0 FROM (SELECT v FROM %1$s s'
    ' UNION SELECT v FROM %1$s s EXCEPT SELECT v FROM %1$s s) d', source) INTO agrees;
  IF NOT agrees THEN RAISE WARNING 'UNION differs'; END IF;
  EXECUTE format('SELECT count(*) = count(*) FILTER (WHERE a.t = b.t)'
    ' FROM %1$s a JOIN %1$s b ON a.v = b.v', source) INTO agrees;
  IF NOT agrees THEN RAISE WARNING 'join differs'; END IF;
  EXECUTE format('SELECT bool_and((a.v = b.v) = (a.t = b.t) AND (a.v <> b.v) = (a.t <> b.t)'
    ' AND (a.v < b.v)::integer + (a.v = b.v)::integer + (a.v > b.v)::integer = 1'
    ' AND (a.v <= b.v) = NOT (a.v > b.v) AND (a.v >= b.v) = NOT (a.v < b.v)'
    ' AND (a.v < b.v) = (b.v > a.v))'
    ' FROM (SELECT DISTINCT v, t FROM %1$s s) a, (SELECT DISTINCT v, t FROM %1$s s) b', source)
    INTO agrees;
  RETURN NEXT;
END $$;
SELECT * FROM pg_temp.agree('hamming_ball64', 'ball64');
SELECT * FROM pg_temp.agree('hamming_ball128', 'ball128');
SELECT * FROM pg_temp.agree('simhash_config', 'config');
SELECT * FROM pg_temp.agree('minhash_signature', 'signature');
SELECT * FROM pg_temp.agree('bloom_filter', 'filter');
SELECT * FROM pg_temp.agree('hamming_ball64[]', 'ARRAY[ball64, ball(n + 1)]');
SELECT * FROM pg_temp.agree('row', 'ROW(ball64, ball128, config, signature, filter)');
SET enable_hashagg = off;
SET enable_hashjoin = off;
SELECT * FROM pg_temp.agree('simhash_config', 'config');
SELECT * FROM pg_temp.agree('minhash_signature', 'signature');
SELECT * FROM pg_temp.agree('bloom_filter', 'filter');
RESET enable_hashagg;
RESET enable_hashjoin;

-- Balls are ordered by centre, as an unsigned number, then by radius.
SELECT n, ball64 FROM values_of WHERE n < 0 ORDER BY ball64, n;
SELECT n, ball128 FROM values_of WHERE n < 0 ORDER BY ball128, n;
SELECT bool_and(by_ball = by_parts) FROM (
  SELECT rank() OVER (ORDER BY ball64) AS by_ball,
    rank() OVER (ORDER BY substr(ball64::text, 2, 16) COLLATE "C",
      rtrim(substr(ball64::text, 19), '>')::integer) AS by_parts
  FROM values_of WHERE ball64 IS NOT NULL) r;
SELECT bool_and(by_ball = by_parts) FROM (
  SELECT rank() OVER (ORDER BY ball128) AS by_ball,
    rank() OVER (ORDER BY substr(ball128::text, 2, 32) COLLATE "C",
      rtrim(substr(ball128::text, 35), '>')::integer) AS by_parts
  FROM values_of WHERE ball128 IS NOT NULL) r;

-- The same with an index.
CREATE INDEX ON values_of (ball64);
CREATE INDEX ON values_of (ball128);
CREATE INDEX ON values_of USING hash (config);
CREATE INDEX ON values_of USING hash (signature);
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM values_of WHERE ball64 = ball(5);
SELECT (SELECT count(*) FROM values_of WHERE ball64 = ball(5))
  = (SELECT count(*) FROM values_of WHERE ball64::text = ball(5)::text) AS same;
SELECT (SELECT count(*) FROM values_of WHERE ball128 = ball128(5))
  = (SELECT count(*) FROM values_of WHERE ball128::text = ball128(5)::text) AS same;
SELECT (SELECT count(*) FROM values_of WHERE config = '{"weight": "log", "shingle": 2}')
  = (SELECT count(*) FROM values_of WHERE n > 0 AND n % 4 = 1 AND n % 2 = 1) AS same;
SELECT (SELECT count(*) FROM values_of WHERE signature = minhash('text number 2', 8))
  = (SELECT count(*) FROM values_of WHERE n > 0 AND n % 10 = 2) AS same;
RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_indexonlyscan;

-- Equality does not change how joins by distance are planned.
CREATE TABLE fps AS SELECT left(md5(i::text), 16)::fingerprint64 AS fp
  FROM generate_series(1, 2000) i;
INSERT INTO fps SELECT fp FROM fps;
CREATE INDEX ON fps USING simhash (fp);
ANALYZE fps;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT fp FROM fps LIMIT 10) a
  JOIN fps b ON hamming(a.fp, b.fp) <= 1;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE values_of, fps;
DROP FUNCTION ball, ball128;
