-- ORDER BY several distances: the index follows the first one whose argument is not NULL, and the
-- executor sorts its ties by the others.
SET client_min_messages = warning;
SET jit = off;
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;
CREATE FUNCTION force(how text) RETURNS void LANGUAGE sql AS $$
  SELECT set_config('enable_seqscan', (how = 'seq')::text, false),
    set_config('enable_sort', (how = 'seq')::text, false),
    set_config('enable_indexscan', (how <> 'seq')::text, false),
    set_config('enable_indexonlyscan', (how = 'only')::text, false),
    set_config('enable_bitmapscan', 'off', false);
$$;

-- The scan and sort nodes of a query's plan.
CREATE FUNCTION nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
    IF line ~ 'Scan|Sort' THEN RETURN NEXT regexp_replace(line, '^ *(-> *)?', ''); END IF;
  END LOOP;
END $$;

-- The distances of a query's rows in its order. Operands are constants or parameters.
CREATE FUNCTION distances(name text, type text, a text, b text, more text, constant boolean)
  RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  IF constant THEN
    EXECUTE format('SELECT string_agg(x || '','' || y, '' '') FROM (
      SELECT coalesce((fp <~> %1$L::%2$s)::text, ''-'') x,
        coalesce((fp <~> %3$L::%2$s)::text, ''-'') y
      FROM %4$I ORDER BY fp <~> %1$L::%2$s, fp <~> %3$L::%2$s %5$s) s', a, type, b, name, more)
      INTO result;
  ELSE
    EXECUTE format('SELECT string_agg(x || '','' || y, '' '') FROM (
      SELECT coalesce((fp <~> $1::%1$s)::text, ''-'') x,
        coalesce((fp <~> $2::%1$s)::text, ''-'') y
      FROM %2$I ORDER BY fp <~> $1::%1$s, fp <~> $2::%1$s %3$s) s', type, name, more)
      INTO result USING a, b;
  END IF;
  RETURN result;
END $$;
CREATE FUNCTION disagreements(name text, type text, queries text[])
  RETURNS TABLE (a text, b text, more text, constant boolean) LANGUAGE plpgsql AS $$
DECLARE by_index text; by_index_only text; by_sort text;
BEGIN
  FOR a, b, more, constant IN
    SELECT q.a, r.b, m, c FROM unnest(queries) q(a), unnest(queries) r(b),
      unnest(ARRAY['', 'LIMIT 10']) m, unnest(ARRAY[true, false]) c
  LOOP
    PERFORM force('index');
    by_index := distances(name, type, a, b, more, constant);
    PERFORM force('only');
    by_index_only := distances(name, type, a, b, more, constant);
    PERFORM force('seq');
    by_sort := distances(name, type, a, b, more, constant);
    IF by_index IS DISTINCT FROM by_sort OR by_index_only IS DISTINCT FROM by_sort THEN
      RETURN NEXT;
    END IF;
  END LOOP;
END $$;

CREATE TABLE orders (id integer, fp fingerprint64);
INSERT INTO orders SELECT i,
  CASE WHEN i % 50 > 0 THEN ((i % 97)::bigint << (i % 30) # (i / 100))::fingerprint64 END
  FROM generate_series(1, 3000) i;
CREATE INDEX orders_fp ON orders USING simhash (fp);
SELECT force('index');
SELECT nodes($$SELECT id FROM orders
  ORDER BY fp <~> '0000000000000001', fp <~> '00000000ffff0000' LIMIT 10$$);
PREPARE parameters(fingerprint64, fingerprint64) AS
  SELECT id FROM orders ORDER BY fp <~> $1, fp <~> $2 LIMIT 10;
SET plan_cache_mode = force_generic_plan;
SELECT nodes('EXECUTE parameters(NULL, NULL)');
RESET plan_cache_mode;
SELECT * FROM disagreements('orders', 'fingerprint64',
  ARRAY['0000000000000001', '00000000ffff0000', 'ffffffffffffffff', NULL]);

-- Three distances, two with a condition, and an inner side that is scanned again.
SELECT $q$
SELECT array_agg(fp <~> '0000000000000003')
  FROM (SELECT fp FROM orders WHERE id > 0 ORDER BY fp <~> '0000000000000001',
    fp <~> '00000000ffff0000', fp <~> '0000000000000003' LIMIT 40) s;
SELECT string_agg((fp <~> 'ffff000000000000')::text, ' ')
  FROM (SELECT id, fp FROM orders WHERE fp <@ hamming_ball('0000000000000001', 5)
    ORDER BY fp <~> '0000000000000001', fp <~> 'ffff000000000000' LIMIT 40) s;
SELECT string_agg(near, ' ')
  FROM (VALUES ('0000000000000001'::fingerprint64), (NULL), ('00000000ffff0000')) q(fp),
  LATERAL (SELECT string_agg((o.fp <~> '00000000000000f0')::text, ',') AS near
    FROM (SELECT id, fp FROM orders ORDER BY fp <~> q.fp, fp <~> '00000000000000f0' LIMIT 5) o) s;
$q$ AS queries \gset
SELECT force('index');
:queries
SELECT force('seq');
:queries

-- Index-only scans.
VACUUM orders;
SELECT force('only');
SELECT nodes($$SELECT fp FROM orders
  ORDER BY fp <~> '0000000000000001', fp <~> '00000000ffff0000' LIMIT 10$$);
SELECT * FROM disagreements('orders', 'fingerprint64',
  ARRAY['0000000000000001', '00000000ffff0000', NULL]);

-- 128 bits, and a cursor that is read in steps.
CREATE TABLE wide AS SELECT id, md5((id % 300)::text)::uuid::fingerprint128 AS fp FROM orders;
CREATE INDEX wide_fp ON wide USING simhash (fp);
SELECT * FROM disagreements('wide', 'fingerprint128',
  ARRAY[repeat('0', 32), repeat('0f', 16), NULL]);
BEGIN;
SELECT force('index');
DECLARE c CURSOR FOR
  SELECT fp <~> '0000000000000001' AS a, fp <~> '00000000ffff0000' AS b FROM orders
  ORDER BY fp <~> '0000000000000001', fp <~> '00000000ffff0000';
FETCH 3 FROM c;
MOVE 2930 FROM c;
FETCH 10 FROM c;
COMMIT;

-- Arrays of fingerprints: the executor would have to sort, and takes NULLs for ties. So the planner
-- sorts, even where it should not.
CREATE TABLE arrays (id integer, fp fingerprint64[]);
INSERT INTO arrays SELECT i,
  CASE i % 40 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN '{NULL}' ELSE ARRAY[
    CASE WHEN i % 5 > 0 THEN ((i % 97)::bigint << (i % 30))::fingerprint64 END,
    (i / 100)::bigint::fingerprint64,
    CASE WHEN i % 3 > 0 THEN random64((i / 10)::text) END] END
  FROM generate_series(1, 2000) i;
CREATE INDEX arrays_fp ON arrays USING simhash (fp);
SELECT force('index');
SELECT nodes($$SELECT id FROM arrays
  ORDER BY fp <~> '{0000000000000001}', fp <~> '{00000000ffff0000,0000000000000003}' LIMIT 10$$);
SELECT * FROM disagreements('arrays', 'fingerprint64[]',
  ARRAY['{0000000000000001}', '{00000000ffff0000,0000000000000003}', '{}',
    '{NULL,0000000000000100}', NULL]);

DROP TABLE orders, wide, arrays;
DROP FUNCTION force, nodes, distances, disagreements, random64;
