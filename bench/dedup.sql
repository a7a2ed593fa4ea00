-- What deduplicating on insert costs: COPY of 100,000 random fingerprints into an empty table with
-- a primary key and an index, beside a trigger that does nothing, simhash_dedup, an exclusion
-- constraint and groups that live. Microseconds a row, medians of three, the contenders taking
-- turns.
--
-- It leaves four filled tables in the schema bench, into which bench.py inserts single rows by
-- pgbench.

\ir include/common.sql
\ir include/random.sql
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE FUNCTION file() RETURNS text LANGUAGE sql STABLE AS
  $$ SELECT current_setting('data_directory') || '/bench_rows' $$;
CREATE TABLE fresh AS SELECT random64()::fingerprint64 AS fp FROM generate_series(1, 100000);
DO $$ BEGIN EXECUTE format('COPY bench.fresh TO %L', bench.file()); END $$;

CREATE TABLE contender (place integer, what text, setup text);
INSERT INTO contender VALUES
  (1, 'index alone', 'CREATE INDEX ON %1$I USING simhash (fp)'),
  (2, 'index and a PL/pgSQL trigger that does nothing',
    'CREATE INDEX ON %1$I USING simhash (fp);
    CREATE TRIGGER t BEFORE INSERT ON %1$I FOR EACH ROW EXECUTE FUNCTION nothing()'),
  (3, 'index and simhash_dedup, distance 3',
    'CREATE INDEX ON %1$I USING simhash (fp);
    CREATE TRIGGER t BEFORE INSERT ON %1$I
      FOR EACH ROW EXECUTE FUNCTION simhash_dedup(''fp=fp'', ''distance=3'')'),
  (4, 'index and simhash_dedup, distance 6',
    'CREATE INDEX ON %1$I USING simhash (fp);
    CREATE TRIGGER t BEFORE INSERT ON %1$I
      FOR EACH ROW EXECUTE FUNCTION simhash_dedup(''fp=fp'', ''distance=6'')'),
  (5, 'exclusion constraint, distance 3',
    'ALTER TABLE %1$I ADD EXCLUDE USING simhash (fp WITH ~=)'),
  (6, 'index and groups that live, distance 3',
    'ALTER TABLE %1$I ADD story bigint;
    CREATE INDEX ON %1$I USING simhash (fp);
    CREATE INDEX ON %1$I (story);
    SELECT simhash_cluster_create(%1$L, ''fp=fp'', ''cluster=story'', ''distance=3'')');

CREATE TABLE took (contender text, microseconds float8);
CREATE PROCEDURE load(what text, setup text, target name) LANGUAGE plpgsql AS $$
DECLARE started timestamptz;
BEGIN
  EXECUTE format('CREATE TABLE %I
    (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp fingerprint64)', target);
  EXECUTE format(setup, target);
  COMMIT;
  started := clock_timestamp();
  EXECUTE format('COPY %I (fp) FROM %L', target, file());
  COMMIT;
  INSERT INTO took VALUES (what, 1e6 * extract(epoch FROM clock_timestamp() - started) / 100000);
END $$;
SELECT format('CALL load(%L, %L, %L)', what, setup, 'target'), 'DROP TABLE target'
FROM generate_series(1, 3) pass, contender ORDER BY pass, place \gexec
INSERT INTO bench_result
SELECT 'dedup', 'uniform', 100000, what, 'COPY, microseconds a row',
  percentile_cont(0.5) WITHIN GROUP (ORDER BY microseconds)
FROM contender JOIN took ON took.contender = what GROUP BY what, place ORDER BY place;
SELECT contender, round(value::numeric, 1) AS "microseconds a row"
FROM bench_result WHERE section = 'dedup';

SELECT format('CALL load(%L, %L, %L)', what, setup, target)
FROM contender
  JOIN (VALUES (1, 'plain'), (3, 'triggered'), (5, 'excluded'), (6, 'grouped'))
    v (place, target) USING (place)
\gexec
VACUUM ANALYZE plain, triggered, excluded, grouped;
