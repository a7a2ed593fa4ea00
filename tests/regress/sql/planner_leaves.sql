-- How many leaves a scan is expected to read, where fingerprints are not random: beside those that
-- it reads, and in the choice between two indexes.
\set SHOW_CONTEXT never
CREATE TABLE crowded AS
SELECT i AS id, i % 10000 AS site, 1 + i % 2 AS tenant, random AS uniform,
  -- one bit in eight is set
  sparse,
  -- nothing but the last 48 bits differ
  (random::bit(64) >> 16)::bigint::fingerprint64 AS constant,
  (sparse::bit(64) || random::bit(64))::bit(128)::fingerprint128 AS wide,
  ARRAY[sparse, NULL] AS lexicons,
  sparse::bit(64) AS code,
  CASE WHEN i % 8 > 0 THEN sparse END AS mostly
FROM (SELECT i, a::bigint::fingerprint64 AS random, (a & b & c)::bigint::fingerprint64 AS sparse
  FROM generate_series(1, 100000) i,
    LATERAL (SELECT ('x' || left(md5(i::text), 16))::bit(64) AS a,
      ('x' || right(md5(i::text), 16))::bit(64) AS b,
      ('x' || left(md5('c' || i), 16))::bit(64) AS c) s) s;
-- How many times the leaves that queries around some rows read are expected. With these costs a
-- leaf costs 1, and nothing else costs anything. Each query is run twice: the first time it reads
-- inner pages too. PostgreSQL 14 does not count a page whose buffer is remembered, so it passes.
CREATE FUNCTION leaves_expected(index_key text, value text, condition text,
  OUT factor numeric)
  LANGUAGE plpgsql SET enable_seqscan = off SET enable_indexscan = off
  SET cpu_operator_cost = 0 SET cpu_index_tuple_cost = 0 SET random_page_cost = 20 AS $$
DECLARE operand text; plan json; expected numeric := 0; read numeric := 0;
BEGIN
  EXECUTE format('CREATE INDEX crowded_here ON crowded USING simhash (%s)', index_key);
  ANALYZE crowded;
  FOR operand IN
    EXECUTE format('SELECT %s FROM crowded WHERE id %% 4999 = 1 ORDER BY id', value)
  LOOP
    CONTINUE WHEN operand IS NULL;
    FOR run IN 1..2 LOOP
      EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT id FROM crowded WHERE '
        || condition, operand) INTO plan;
    END LOOP;
    plan := plan->0->'Plan'->'Plans'->0;
    ASSERT plan->>'Index Name' = 'crowded_here', plan;
    expected := expected + (plan->>'Total Cost')::numeric;
    read := read + (plan->>'Shared Hit Blocks')::numeric + (plan->>'Shared Read Blocks')::numeric;
  END LOOP;
  factor := CASE WHEN read = 0 AND current_setting('server_version_num')::integer < 150000 THEN 1
    ELSE expected / read END;
  DROP INDEX crowded_here;
END $$;
SELECT index_key, condition, factor BETWEEN 0.5 AND 2 AS right,
  CASE WHEN factor NOT BETWEEN 0.5 AND 2
    THEN factor END AS wrong
FROM (VALUES ('uniform', 'uniform', 'hamming(uniform, %L) <= 3'),
    ('uniform', 'uniform', 'hamming(uniform, %L) <= 6'),
    ('constant', 'constant', 'hamming(constant, %L) <= 6'),
    ('sparse', 'sparse', 'hamming(sparse, %L) <= 3'),
    ('sparse', 'sparse', 'hamming(sparse, %L) <= 6'),
    ('mostly', 'mostly', 'hamming(mostly, %L) <= 6'),
    ('(lexicons[1])', 'sparse', 'hamming(lexicons[1], %L) <= 6'),
    ('tenant, sparse', 'sparse', 'tenant = 1 AND hamming(sparse, %L) <= 6'),
    ('wide', 'wide', 'hamming(wide, %L) <= 12'),
    ('code', 'code', 'hamming(code, %L::bit(64)) <= 6'),
    ('lexicons', 'lexicons', 'hamming(lexicons, %L) <= 6')) queries (index_key, value, condition),
  LATERAL leaves_expected(index_key, value, condition);

-- So another index is used if it finds the few rows sooner.
CREATE INDEX crowded_constant ON crowded USING simhash (constant);
CREATE INDEX crowded_uniform ON crowded USING simhash (uniform);
CREATE INDEX crowded_site ON crowded (site);
VACUUM ANALYZE crowded;
EXPLAIN (COSTS OFF) SELECT id FROM crowded
  WHERE site = 42 AND hamming(constant, '0000000000000000') <= 10;
EXPLAIN (COSTS OFF) SELECT id FROM crowded
  WHERE site = 42 AND hamming(uniform, '0000000000000000') <= 10;
DROP FUNCTION leaves_expected;
DROP TABLE crowded;
