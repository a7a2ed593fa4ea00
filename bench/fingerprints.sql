-- What the database adds to a fingerprint's cost: SELECT simhash(body) over 100,000 texts, against the core on the same
-- texts in the same run. Medians of five passes each, one process.

\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE EXTENSION IF NOT EXISTS pg_simhash;
SET client_min_messages = notice;

CREATE TEMP TABLE shipped (source text, title text, body text);
\copy shipped FROM 'demo/data/zh_laws.csv' (FORMAT csv, HEADER)
\copy shipped FROM 'demo/data/zh_verses.csv' (FORMAT csv, HEADER)
\copy shipped FROM 'demo/data/en_licenses.csv' (FORMAT csv, HEADER)
\copy shipped FROM 'demo/data/en_verses.csv' (FORMAT csv, HEADER)

CREATE FUNCTION median_seconds(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE seconds float8[] := '{}'; started timestamptz;
BEGIN
  FOR pass IN 1..5 LOOP
    started := clock_timestamp();
    EXECUTE query;
    seconds := seconds || extract(epoch FROM clock_timestamp() - started)::float8;
  END LOOP;
  RETURN round((SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) FROM unnest(seconds) s)::numeric, 4);
END $$;

CREATE TEMP TABLE result (texts text, number bigint, megabytes numeric, core numeric, sql numeric);

\set language en
\ir include/fingerprints_of.sql
\set language zh
\ir include/fingerprints_of.sql

SELECT texts, number, megabytes AS "MB", round(megabytes / core) AS "core, MB/s", round(megabytes / sql) AS "SQL, MB/s",
       round(sql / core, 2) AS "SQL / core"
FROM result;
CREATE TABLE IF NOT EXISTS bench_result (section text, data text, rows bigint, contender text, metric text, value float8);
INSERT INTO bench_result
SELECT 'SQL and core', texts, number, contender, 'MB/s', megabytes / seconds FROM result, LATERAL (VALUES ('core', core), ('SQL', sql)) v (contender, seconds);
DROP FUNCTION median_seconds;
