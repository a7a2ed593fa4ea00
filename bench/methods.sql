-- How near the other methods come to what they promise: false answers of Bloom filters, the error
-- of MinHash. Not a matter of time: texts are made of numbers, so the figures are the same on every
-- machine.

\ir include/common.sql

-- 100,000 texts in a filter of each rate, then a million others asked for.
CREATE FUNCTION pg_temp.asked_for(rate real) RETURNS void LANGUAGE plpgsql AS $$
DECLARE filter bloom_filter;
BEGIN
  SELECT bloom_agg('text ' || i, 100000, rate) INTO filter FROM generate_series(1, 100000) i;
  INSERT INTO bench_result
  SELECT 'bloom', 'random', 100000, rate::text, 'false answers',
    avg(bloom_contains(filter, 'another ' || i)::integer)
  FROM generate_series(1, 1000000) i;
END $$;
SELECT pg_temp.asked_for(rate) FROM unnest('{0.1,0.01,0.001}'::real[]) rate \g /dev/null
SELECT contender AS "asked for", round(value::numeric, 5) AS "false answers"
FROM bench_result WHERE section = 'bloom';

-- Pairs of sets of `size` words of which `shared` are in both, so J = shared / (2 * size - shared).
CREATE FUNCTION pg_temp.words(pair integer, first integer, size integer) RETURNS text
LANGUAGE sql AS $$
  SELECT string_agg(translate('w' || pair || 'x' || i, '0123456789', 'abcdefghij'), ' ')
  FROM generate_series(first, first + size - 1) i
$$;
CREATE FUNCTION pg_temp.compared(size integer, shared integer, pairs integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE similarity float8 := shared::float8 / (2 * size - shared);
BEGIN
  INSERT INTO bench_result
  SELECT 'minhash', 'random', size, round(similarity::numeric, 2)::text, metric, value
  FROM (SELECT sqrt(avg((estimate - similarity) ^ 2)) AS measured
        FROM generate_series(1, pairs) pair,
          LATERAL (SELECT jaccard(
            minhash(pg_temp.words(pair, 0, size), 128, '{"shingle": 1}'),
            minhash(pg_temp.words(pair, size - shared, size), 128, '{"shingle": 1}')) AS estimate
          ) e) m,
    LATERAL (VALUES ('error', measured),
      ('error of independent permutations', sqrt(similarity * (1 - similarity) / 128))
    ) v (metric, value);
END $$;
SELECT pg_temp.compared(size, shared, pairs)
FROM (VALUES (10, 5, 2000), (50, 10, 2000), (100, 90, 2000), (1000, 500, 1000), (5000, 4000, 300)
  ) v (size, shared, pairs) \g /dev/null
SELECT rows AS "set size", contender AS "J",
  round(max(value) FILTER (WHERE metric = 'error')::numeric, 3) AS measured,
  round(max(value) FILTER (WHERE metric <> 'error')::numeric, 3) AS "independent permutations"
FROM bench_result WHERE section = 'minhash' GROUP BY 1, 2 ORDER BY 1;
