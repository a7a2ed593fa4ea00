-- simhash_index_info and simhash_index_check of temporary indexes and of invalid ones.
-- superuser only: it changes pg_index
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;

-- A parallel worker cannot read temporary tables: the leader runs these functions.
CREATE TEMPORARY TABLE own AS
  SELECT i AS id, random64(i::text) AS fp FROM generate_series(1, 500) i;
CREATE INDEX own_fp ON own USING simhash (fp);
CREATE TABLE big AS SELECT i AS id, 'own_fp'::regclass AS index FROM generate_series(1, 1000) i;
ALTER TABLE big SET (parallel_workers = 2);
-- The setting has another name from PostgreSQL 16 on.
SELECT count(set_config(name, 'on', false)) FROM pg_settings
  WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT rows FROM simhash_index_info('own_fp');
SELECT sum((SELECT rows FROM simhash_index_info(big.index))) FROM big WHERE id <= 3;
SELECT count(*) FROM simhash_pairs('own_fp', 3);
SELECT count(*) FROM simhash_clusters('own_fp', 3);
SELECT simhash_index_check('own_fp');
SELECT count(set_config(name, 'off', false)) FROM pg_settings
  WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- An index that was never finished is not damaged.
CREATE TABLE t AS SELECT i AS id, random64(i::text) AS fp FROM generate_series(1, 500) i;
CREATE FUNCTION fails_late(id integer, fp fingerprint64)
  RETURNS fingerprint64 IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF id = 400 THEN
    RAISE 'not this one';
  END IF;
  RETURN fp;
END $$;
\set SHOW_CONTEXT never
CREATE INDEX CONCURRENTLY t_failed ON t USING simhash (fails_late(id, fp));
SELECT indisvalid, indisready, indislive FROM pg_index WHERE indexrelid = 't_failed'::regclass;
DO $$
DECLARE
  hint text;
  call text;
BEGIN
  FOREACH call IN ARRAY ARRAY['index_check(%L)', 'index_check(%L, false)', 'index_info(%L)',
      'pairs(%L, 3)', 'clusters(%L, 3)'] LOOP
    BEGIN
      EXECUTE 'SELECT simhash_' || format(call, 't_failed');
      RAISE WARNING '%: no error', call;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
      RAISE INFO E'%: % %\n%', call, SQLSTATE, SQLERRM, hint;
    END;
  END LOOP;
END $$;
-- After it has been rebuilt it is checked.
CREATE OR REPLACE FUNCTION fails_late(id integer, fp fingerprint64)
  RETURNS fingerprint64 IMMUTABLE LANGUAGE sql AS 'SELECT fp';
REINDEX INDEX t_failed;
SELECT simhash_index_check('t_failed');
SELECT rows FROM simhash_index_info('t_failed');
-- Built and maintained, but not known to be complete; being dropped.
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_failed'::regclass;
SELECT simhash_index_check('t_failed');
UPDATE pg_index SET indisready = false, indislive = false WHERE indexrelid = 't_failed'::regclass;
SELECT simhash_index_check('t_failed');
UPDATE pg_index SET indisvalid = true, indisready = true, indislive = true
  WHERE indexrelid = 't_failed'::regclass;
SELECT simhash_index_check('t_failed');

DROP TABLE own, big, t;
DROP FUNCTION random64, fails_late;
