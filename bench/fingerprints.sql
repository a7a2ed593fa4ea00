-- What the database adds to a fingerprint's cost: SELECT simhash(body) over 100,000 texts, against
-- the core on the same texts in the same run. Medians of five passes each, one process.

\ir include/common.sql
SET max_parallel_workers_per_gather = 0;
\ir include/shipped.sql
SET client_min_messages = notice;

CREATE FUNCTION median_seconds(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE took float8[] := '{}'; started timestamptz;
BEGIN
  FOR pass IN 1..5 LOOP
    started := clock_timestamp();
    EXECUTE query;
    took := took || extract(epoch FROM clock_timestamp() - started)::float8;
  END LOOP;
  RETURN (SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::numeric, 4)
          FROM unnest(took) seconds);
END $$;

CREATE TEMP TABLE result (texts text, number bigint, megabytes numeric, core numeric, sql numeric);

\set language en
\ir include/fingerprints_of.sql
\set language zh
\ir include/fingerprints_of.sql

SELECT texts, number, megabytes AS "MB", round(megabytes / core) AS "core, MB/s",
  round(megabytes / sql) AS "SQL, MB/s", round(sql / core, 2) AS "SQL / core"
FROM result;
INSERT INTO bench_result
SELECT 'SQL and core', texts, number, contender, 'MB/s', megabytes / seconds
FROM result, LATERAL (VALUES ('core', core), ('SQL', sql)) v (contender, seconds);
DROP FUNCTION median_seconds;
