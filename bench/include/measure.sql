-- What the files that measure queries share: how long builds and queries of contenders take.
-- Figures go to bench_result, under the settings bench.data and bench.rows, which begin as `:data`
-- and `:rows`.

CREATE PROCEDURE note(section text, contender text, metric text, value float8) LANGUAGE sql AS $$
  INSERT INTO bench_result
  SELECT section, current_setting('bench.data'), current_setting('bench.rows')::bigint, contender,
    metric, value
$$;
SELECT set_config('bench.data', :'data', false) AS data,
  set_config('bench.rows', :'rows', false) AS rows;
CREATE PROCEDURE build(what text, command text, relation text) LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp(); bytes float8;
BEGIN
  EXECUTE command;
  CALL note('build', what, 'seconds', extract(epoch FROM clock_timestamp() - started));
  SELECT sum(pg_total_relation_size(r::regclass)) INTO bytes
  FROM unnest(string_to_array(relation, ',')) r;
  CALL note('build', what, 'bytes a row', bytes / current_setting('bench.rows')::float8);
END $$;
-- Each contender answers the same question: how many rows lie within the distance. `body` is a
-- query of q, one of the queries. `declared` computes what it looks up, once for each query.
CREATE PROCEDURE contender(name text, body text, declared text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE OR REPLACE FUNCTION %I(q query) RETURNS bigint LANGUAGE plpgsql
    AS $f$ %s BEGIN RETURN (%s); END $f$', name, declared, body);
END $$;
-- Every query once to warm up, once to measure. Notes the median, the 99th percentile and what was
-- found.
CREATE TABLE took (milliseconds float8, hits bigint);
CREATE PROCEDURE measure(contender text, distance text, queries integer) LANGUAGE plpgsql AS $$
DECLARE p50 float8; p99 float8; rows_found float8;
BEGIN
  TRUNCATE took;
  EXECUTE format($f$ DO $d$
    DECLARE q query; started timestamptz; found bigint;
    BEGIN
      FOR pass IN 1..2 LOOP
        FOR q IN SELECT * FROM query WHERE n > 1000 - %2$s ORDER BY n LOOP
          started := clock_timestamp();
          found := %1$I(q);
          IF pass = 2 THEN
            INSERT INTO took VALUES (1000 * extract(epoch FROM clock_timestamp() - started), found);
          END IF;
        END LOOP;
      END LOOP;
    END $d$ $f$, contender || distance, queries);
  SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY milliseconds),
    percentile_cont(0.99) WITHIN GROUP (ORDER BY milliseconds), avg(hits)
  INTO p50, p99, rows_found FROM took;
  CALL note('latency', contender, distance || ' p50', p50);
  CALL note('latency', contender, distance || ' p99', p99);
  CALL note('latency', contender, distance || ' found a query', rows_found);
END $$;
-- The rows of doc within a distance, and the nearest ten, by a contender's way to say so.
CREATE PROCEDURE within(contender text, distance integer, queries integer, condition text)
LANGUAGE plpgsql AS $$
BEGIN
  CALL contender(contender || ' ≤ ' || distance,
    format('SELECT count(id) FROM doc WHERE %s <= %s', condition, distance));
  CALL measure(contender, ' ≤ ' || distance, queries);
END $$;
CREATE PROCEDURE nearest(contender text, queries integer, source text, distance text)
LANGUAGE plpgsql AS $$
BEGIN
  CALL contender(contender || ' nearest 10', format(
    'SELECT count(*) FROM (SELECT id FROM %s ORDER BY %s LIMIT 10) s', source, distance));
  CALL measure(contender, ' nearest 10', queries);
END $$;
