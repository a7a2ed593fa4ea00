-- Objects that arguments.pl calls functions with: texts, a model, and a table with a column and an
-- index of every kind that 0.1.0 has. arguments_0.2.0.sql has what came later.
CREATE TABLE texts AS
  SELECT i AS id, md5((i / 2)::text) || ' the quick brown fox ' || i % 7 AS body
  FROM generate_series(1, 50) i;
SELECT simhash_train('m', 'SELECT body FROM texts');
CREATE TABLE pairs AS
  SELECT a.body AS body, simhash(a.body) AS a, simhash(b.body) AS b, a.id = b.id + 1 AS near
  FROM texts a, texts b WHERE a.id < 5;
CREATE TABLE rows (
  id serial, fp fingerprint64, wide fingerprint128, number bigint, ball hamming_ball64,
  wide_ball hamming_ball128, many fingerprint64[], signature minhash_signature, bits bit(64),
  body text
);
INSERT INTO rows (fp, wide, number, ball, wide_ball, many, signature, bits, body)
SELECT test.number(i::text)::fingerprint64, test.wide(test.number(i::text), test.number('x' || i)),
  test.number(i::text) # test.flips('y' || i, 2), hamming_ball(test.number(i::text), 3),
  hamming_ball(test.wide(i, i), 10), ARRAY[test.number(i::text), i]::bigint[]::fingerprint64[],
  minhash('text ' || i || ' of words', 16), test.number(i::text)::bit(64), 'the body ' || i
FROM generate_series(1, 500) i;
INSERT INTO rows (fp) SELECT fp FROM rows WHERE id % 7 = 0;
INSERT INTO rows DEFAULT VALUES;
CREATE INDEX rows_fp ON rows USING simhash (fp);
CREATE INDEX rows_wide ON rows USING simhash (wide);
CREATE INDEX rows_number ON rows USING simhash (number hamming_int8_ops);
CREATE INDEX rows_ball ON rows USING simhash (ball);
CREATE INDEX rows_wide_ball ON rows USING simhash (wide_ball);
CREATE INDEX rows_many ON rows USING simhash (many);
CREATE INDEX rows_btree ON rows (fp);
CREATE INDEX rows_gin ON rows USING gin (signature);
CREATE INDEX rows_expression ON rows USING simhash (simhash(body));
CREATE INDEX rows_partial ON rows USING simhash (fp) WHERE id > 100;
CREATE VIEW rows_view AS SELECT * FROM rows;
CREATE TYPE rows_type AS (a fingerprint64, b text);
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE rows_foreign (id integer, fp fingerprint64) SERVER nowhere;
CREATE TABLE rows_empty (LIKE rows INCLUDING INDEXES);
CREATE TABLE parts (id integer, fp fingerprint64) PARTITION BY LIST (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2);
CREATE INDEX parts_fp ON parts USING simhash (fp);
INSERT INTO parts SELECT 1 + i % 2, test.number(i::text)::fingerprint64
  FROM generate_series(1, 100) i;
CREATE TABLE invalid AS SELECT fp FROM rows;
CREATE INDEX invalid_fp ON invalid USING simhash (fp);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid_fp'::regclass;
ANALYZE;
