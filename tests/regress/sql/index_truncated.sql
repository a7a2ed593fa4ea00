-- Where nobody else can see a table, PostgreSQL empties its index in place, in the same file. What
-- the backend remembers of that file must then be forgotten.
SET client_min_messages = warning;
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;

-- How many of 40 fingerprints the index finds in other rows than a sequential scan does.
CREATE FUNCTION missing(name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  query constant text := format('SELECT string_agg(i || '':'' || (
      SELECT count(*) FROM %I WHERE fp <@ hamming_ball(random64(i::text), 3)), '' '' ORDER BY i)
    FROM generate_series(1, 40) i', name);
  by_index text; by_table text; rows bigint;
BEGIN
  PERFORM set_config('enable_seqscan', 'off', true),
    set_config('enable_indexscan', 'on', true),
    set_config('enable_bitmapscan', 'on', true);
  EXECUTE query INTO by_index;
  PERFORM set_config('enable_seqscan', 'on', true),
    set_config('enable_indexscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true);
  EXECUTE query INTO by_table;
  SELECT count(*) INTO rows FROM (
    SELECT unnest(string_to_array(by_index, ' '))
    EXCEPT SELECT unnest(string_to_array(by_table, ' '))) s;
  RETURN rows;
END $$;

-- A temporary table that every commit empties: the next transaction starts with the roots of an
-- empty index.
CREATE TEMPORARY TABLE temp (fp fingerprint64) ON COMMIT DELETE ROWS;
CREATE INDEX temp_fp ON temp USING simhash (fp);
BEGIN;
INSERT INTO temp SELECT random64(i::text) FROM generate_series(1, 5000) i;
SELECT missing('temp');
COMMIT;
INSERT INTO temp VALUES (random64('1'));
SELECT count(*) FROM temp;
BEGIN;
INSERT INTO temp SELECT random64(i::text) FROM generate_series(1, 5000) i;
SELECT missing('temp'), simhash_index_check('temp_fp', true);
SELECT rows, tables FROM simhash_index_info('temp_fp');
COMMIT;
-- The same when the number of block tables changes before the index is emptied.
ALTER INDEX temp_fp SET (blocks = 2);
BEGIN;
INSERT INTO temp SELECT random64(i::text) FROM generate_series(1, 5000) i;
SELECT missing('temp'), simhash_index_check('temp_fp', true);
SELECT rows, tables FROM simhash_index_info('temp_fp');
ROLLBACK;
BEGIN;
INSERT INTO temp SELECT random64(i::text) FROM generate_series(1, 100) i;
SELECT missing('temp'), simhash_index_check('temp_fp', true);
COMMIT;

-- Truncated twice in one transaction: the second time in place.
CREATE TABLE twice (fp fingerprint64);
CREATE INDEX twice_fp ON twice USING simhash (fp);
INSERT INTO twice SELECT random64(i::text) FROM generate_series(1, 3000) i;
BEGIN;
TRUNCATE twice;
INSERT INTO twice SELECT random64(i::text) FROM generate_series(1, 5000) i;
SELECT missing('twice');
TRUNCATE twice;
INSERT INTO twice SELECT random64(i::text) FROM generate_series(1, 4000) i;
SELECT missing('twice'), simhash_index_check('twice_fp', true);
SAVEPOINT s;
TRUNCATE twice;
INSERT INTO twice SELECT random64(i::text) FROM generate_series(1, 5000) i;
SELECT missing('twice');
TRUNCATE twice;
INSERT INTO twice SELECT random64(i::text) FROM generate_series(1, 100) i;
SELECT missing('twice'), simhash_index_check('twice_fp', true);
ROLLBACK TO s;
SELECT count(*), missing('twice'), simhash_index_check('twice_fp', true) FROM twice;
INSERT INTO twice SELECT random64(i::text) FROM generate_series(4001, 4500) i;
COMMIT;
SELECT count(*), missing('twice'), simhash_index_check('twice_fp', true) FROM twice;

-- Rebuilt in place with another number of block tables: rows go into all of them.
BEGIN;
CREATE TABLE fresh (fp fingerprint64);
CREATE INDEX fresh_fp ON fresh USING simhash (fp) WITH (blocks = 4);
INSERT INTO fresh SELECT random64(i::text) FROM generate_series(1, 100) i;
ALTER INDEX fresh_fp SET (blocks = 8);
TRUNCATE fresh;
INSERT INTO fresh SELECT random64(i::text) FROM generate_series(1, 3000) i;
INSERT INTO fresh SELECT NULL FROM generate_series(1, 10);
COMMIT;
SELECT missing('fresh'), simhash_index_check('fresh_fp', true);
SELECT rows, tables FROM simhash_index_info('fresh_fp');

-- A new backend sees the same.
\c -
SET client_min_messages = warning;
SELECT count(*), missing('twice'), simhash_index_check('twice_fp', true) FROM twice;
SELECT missing('fresh'), simhash_index_check('fresh_fp', true);
SELECT rows, tables FROM simhash_index_info('fresh_fp');

DROP TABLE twice, fresh;
DROP FUNCTION missing, random64;
