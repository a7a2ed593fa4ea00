-- What the planner does: hamming(x, y) <= k and its other forms become index conditions, with the
-- same answers.
\set SHOW_CONTEXT never

CREATE TABLE planner_t (id integer PRIMARY KEY, fp fingerprint64, fp128 fingerprint128, h bigint,
  k integer, even boolean);
-- every tenth row is a near copy of the one before it
INSERT INTO planner_t
SELECT i, f,
  md5(((i + 1) / 10 * 10)::text || CASE WHEN i % 10 IN (0, 9) THEN '' ELSE i::text END)
    ::uuid::fingerprint128, f::bigint, i % 5, i % 2 = 0
FROM generate_series(1, 20000) i,
  LATERAL (SELECT CASE WHEN i % 10 = 0
    THEN (('x' || substr(md5((i - 1)::text), 1, 16))::bit(64)
      # ((i % 7)::bigint::bit(64)))::fingerprint64
    ELSE ('x' || substr(md5(i::text), 1, 16))::bit(64)::fingerprint64 END AS f) s;
INSERT INTO planner_t VALUES (0, NULL, NULL, NULL, NULL, NULL);
CREATE INDEX planner_fp ON planner_t USING simhash (fp);
VACUUM ANALYZE planner_t;

-- the first query of a fresh session
\c -
\set SHOW_CONTEXT never
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= 3;

-- every form
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming('0123456789abcdef', fp) < 4;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE 3 >= hamming(fp, '0123456789abcdef');
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') = 3;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') BETWEEN 1 AND 3;
-- for a query of several tables the planner looks at the conditions once for each: they must not
-- change
EXPLAIN (COSTS OFF) SELECT t.id FROM planner_t t, planner_t a
WHERE hamming(t.fp, '0123456789abcdef') = 3
  AND (hamming(t.fp, '0123456789abcdee') = 2 OR hamming(t.fp, '0123456789abcdef') = 1 AND t.even)
  AND a.id = 7;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE fp <~> '0123456789abcdef' <= 3::bigint;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE fp <@ hamming_ball('0123456789abcdef', 3);
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming_ball('0123456789abcdef', 3) @> fp;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE fp ~= '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE fp = '0123456789abcdef';
EXPLAIN (COSTS OFF) SELECT id FROM planner_t
  WHERE hamming(fp, '0123456789abcdef') <= 2 OR fp ~= 'fedcba9876543210';
-- a column of a domain
CREATE DOMAIN planner_d AS fingerprint64;
CREATE TABLE planner_domain AS SELECT id, fp::planner_d FROM planner_t;
CREATE INDEX planner_domain_fp ON planner_domain USING simhash (fp);
VACUUM ANALYZE planner_domain;
EXPLAIN (COSTS OFF) SELECT id FROM planner_domain WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT a.id FROM planner_domain a JOIN planner_t b ON hamming(a.fp, b.fp) <= 3
  WHERE b.id = 9;
SELECT id FROM planner_domain
  WHERE hamming(fp, (SELECT fp FROM planner_t WHERE id = 9)) <= 3 ORDER BY id;
SELECT id FROM planner_t
  WHERE hamming(fp, (SELECT fp FROM planner_t WHERE id = 9)) <= 3 ORDER BY id;
-- a condition on another type with the same bits does not use this index, which is on fingerprints
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp::bigint, 5) <= 3;
DROP TABLE planner_domain;
DROP DOMAIN planner_d;
-- EXPLAIN without what major versions print differently.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    CONTINUE WHEN line ~ '^ *(Disabled: true|Replaces: .*)$';
    line := regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0');
    line := regexp_replace(line, 'Scan on ("\*SELECT\* \d"|unnamed_subquery\w*)', 'Scan');
    RETURN NEXT regexp_replace(line, 'InitPlan \w+( \(returns \$0\))?', 'InitPlan 1');
  END LOOP;
END $$;
SELECT plan_of('SELECT id FROM planner_t
  WHERE hamming(fp, (SELECT fp FROM planner_t WHERE id = 9)) <= 3');
EXPLAIN (COSTS OFF) SELECT id FROM planner_t ORDER BY fp <~> '0123456789abcdef' LIMIT 3;

-- left as it is: other comparisons, limits that hold for no row or for all, volatile operands,
-- columns without an index, with the rewrite switched off
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') >= 3;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE NOT hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= -1;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= 64;
SELECT plan_of($$ SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= NULL $$);
EXPLAIN (COSTS OFF) SELECT id FROM planner_t
  WHERE hamming(fp, '0123456789abcdef') <= (random() * 5)::integer;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t
  WHERE hamming(fp128, '0123456789abcdef0123456789abcdef') <= 3;
SET simhash.enable_rewrite = off;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= 3;
RESET simhash.enable_rewrite;

-- parameters, in custom and generic plans
SELECT fp AS nine FROM planner_t WHERE id = 9 \gset
PREPARE near (fingerprint64, integer) AS SELECT count(*) FROM planner_t WHERE hamming(fp, $1) <= $2;
EXPLAIN (COSTS OFF) EXECUTE near ('0123456789abcdef', 3);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near ('0123456789abcdef', 3);
EXECUTE near (:'nine', -1);
EXECUTE near (:'nine', 0);
EXECUTE near (:'nine', 3);
EXECUTE near (:'nine', 64);
EXECUTE near (:'nine', 1000000);
EXECUTE near (NULL, 3);
RESET plan_cache_mode;
DEALLOCATE near;

-- joins of every kind look up either side
SET enable_seqscan = off; SET enable_material = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM planner_t a JOIN planner_t b ON hamming(a.fp, b.fp) <= 3
  WHERE a.id = 9;
EXPLAIN (COSTS OFF) SELECT count(*) FROM planner_t a JOIN planner_t b ON hamming(a.fp, b.fp) <= 3
  WHERE b.id = 9;
SELECT plan_of('SELECT count(*) FROM planner_t a
  LEFT JOIN planner_t b ON hamming(a.fp, b.fp) <= b.k WHERE a.id < 10');
EXPLAIN (COSTS OFF) SELECT count(*) FROM planner_t a
  LEFT JOIN planner_t b ON hamming(a.fp, b.fp) <= a.k WHERE a.id < 10;
RESET enable_seqscan; RESET enable_material; RESET enable_bitmapscan;

-- How many rows a query has through an index and by a sequential scan, and whether they are the
-- same.
CREATE FUNCTION both_ways(query text)
  RETURNS TABLE (through_index bigint, sequential bigint, same boolean) LANGUAGE plpgsql AS $$
DECLARE by_index text[]; by_scan text[];
BEGIN
  SET LOCAL enable_seqscan = off; SET LOCAL simhash.enable_rewrite = on;
  EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO by_index;
  SET LOCAL enable_seqscan = on;
  SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off;
  SET LOCAL enable_indexonlyscan = off; SET LOCAL simhash.enable_rewrite = off;
  EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO by_scan;
  SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on;
  SET LOCAL enable_indexonlyscan = on; SET LOCAL simhash.enable_rewrite = on;
  RETURN QUERY SELECT coalesce(cardinality(by_index), 0)::bigint,
    coalesce(cardinality(by_scan), 0)::bigint, by_index IS NOT DISTINCT FROM by_scan;
END $$;
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a
  JOIN planner_t b ON hamming(a.fp, b.fp) <= 3 WHERE a.id <= 1000$$);
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a
  LEFT JOIN planner_t b ON hamming(a.fp, b.fp) <= a.k AND a.id <> b.id WHERE a.id <= 500$$);
SELECT * FROM both_ways($$SELECT a.id FROM planner_t a WHERE a.id <= 1000
  AND EXISTS (SELECT 1 FROM planner_t b WHERE b.fp <~> a.fp < 3 AND b.id <> a.id)$$);
SELECT * FROM both_ways($$SELECT a.id FROM planner_t a WHERE a.id <= 500
  AND NOT EXISTS (SELECT 1 FROM planner_t b WHERE hamming(b.fp, a.fp) <= 3 AND b.id <> a.id)$$);
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a
  JOIN planner_t b ON hamming(a.fp, b.fp) = 2 WHERE a.id <= 1000$$);
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a, planner_t b
  WHERE a.id = 29 AND hamming(a.fp, b.fp) BETWEEN 1 AND 20$$);
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a, planner_t b WHERE a.id = 29
  AND (hamming(a.fp, b.fp) <= 2 OR (hamming(b.fp, '0123456789abcdef') = 20 AND b.even))$$);

-- views, CTEs, subqueries, UNION ALL
CREATE VIEW planner_v AS SELECT id, fp, k FROM planner_t WHERE even;
CREATE VIEW planner_u AS SELECT id, fp FROM planner_t WHERE even
  UNION ALL SELECT id, fp FROM planner_t WHERE NOT even;
EXPLAIN (COSTS OFF) SELECT id FROM planner_v WHERE hamming(fp, '0123456789abcdef') <= 3;
SELECT plan_of($$ SELECT id FROM planner_u WHERE hamming(fp, '0123456789abcdef') <= 3 $$);
DROP FUNCTION plan_of;
EXPLAIN (COSTS OFF) WITH c AS (SELECT * FROM planner_t) SELECT id FROM c
  WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM (SELECT DISTINCT id, fp FROM planner_t) s
  WHERE hamming(fp, '0123456789abcdef') <= 3;
SELECT * FROM both_ways($$SELECT v.id FROM planner_u v, planner_t t
  WHERE t.id = 9 AND hamming(v.fp, t.fp) <= 3$$);

-- UPDATE, DELETE (MERGE: merge.sql)
EXPLAIN (COSTS OFF) UPDATE planner_t SET k = 0 WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) DELETE FROM planner_t a USING planner_t b
  WHERE b.id = 9 AND hamming(a.fp, b.fp) <= 3 AND a.id > b.id;

-- columns of balls, with a fingerprint for a constant
CREATE TABLE planner_balls AS SELECT hamming_ball(fp, 3) AS b64, hamming_ball(fp128, 10) AS b128
  FROM planner_t WHERE id BETWEEN 1 AND 100;
ANALYZE planner_balls;
SELECT count(*) FROM planner_balls WHERE b64 @> (SELECT fp FROM planner_t WHERE id = 9);
SELECT count(*) FROM planner_balls WHERE b64 @> '0123456789abcdef'::fingerprint64;
SELECT count(*) FROM planner_balls WHERE b128 @> '0123456789abcdef0123456789abcdef'::fingerprint128;
SELECT count(*) FROM planner_balls WHERE '0123456789abcdef'::fingerprint64 <@ b64;
SELECT count(*) FROM planner_balls
  WHERE b64 ~= '<0123456789abcdef,3>' OR b128 ~= '<0123456789abcdef0123456789abcdef,3>';
DROP TABLE planner_balls;

-- a partial index, whose predicate may itself have the form that is rewritten
CREATE INDEX planner_partial ON planner_t USING simhash (fp) WHERE even;
DROP INDEX planner_fp;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE even AND hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= 3;
DROP INDEX planner_partial;
CREATE INDEX planner_near ON planner_t (id) WHERE hamming(fp, 'ffffffffffffffff') <= 16;
CREATE INDEX planner_fp ON planner_t USING simhash (fp);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t
  WHERE hamming(fp, 'ffffffffffffffff') <= 16 ORDER BY id;
RESET enable_seqscan;
DROP INDEX planner_near, planner_fp;

-- an expression, the other types
CREATE INDEX planner_e ON planner_t USING simhash ((h::fingerprint64));
EXPLAIN (COSTS OFF) SELECT id FROM planner_t
  WHERE hamming(h::fingerprint64, '0123456789abcdef') <= 3;
CREATE INDEX planner_h ON planner_t USING simhash (h hamming_int8_ops);
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(h, 81985529216486895) <= 3;
CREATE INDEX planner_128 ON planner_t USING simhash (fp128);
EXPLAIN (COSTS OFF) SELECT id FROM planner_t
  WHERE hamming(fp128, '0123456789abcdef0123456789abcdef') <= 10;
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a
  JOIN planner_t b ON hamming(a.h, b.h) <= 3 WHERE a.id <= 1000$$);
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_t a
  JOIN planner_t b ON hamming(a.fp128, b.fp128) <= 10 WHERE a.id <= 1000$$);

-- partitions and inheritance, also with indexes on the children alone
CREATE TABLE planner_p (id integer, fp fingerprint64) PARTITION BY RANGE (id);
CREATE TABLE planner_p1 PARTITION OF planner_p FOR VALUES FROM (0) TO (10000);
CREATE TABLE planner_p2 (fp fingerprint64, id integer);
ALTER TABLE planner_p ATTACH PARTITION planner_p2 FOR VALUES FROM (10000) TO (30000);
INSERT INTO planner_p SELECT id, fp FROM planner_t;
CREATE INDEX planner_p2_fp ON planner_p2 USING simhash (fp);
ANALYZE planner_p;
EXPLAIN (COSTS OFF) SELECT id FROM planner_p WHERE hamming(fp, '0123456789abcdef') <= 3;
CREATE INDEX planner_p_fp ON planner_p USING simhash (fp);
EXPLAIN (COSTS OFF) SELECT id FROM planner_p WHERE hamming(fp, '0123456789abcdef') <= 3;
SELECT * FROM both_ways($$SELECT a.id, b.id FROM planner_p a
  JOIN planner_p b ON hamming(a.fp, b.fp) <= 3 WHERE a.id <= 1000$$);

-- row-level security: the condition cannot leak, so the index serves it
CREATE ROLE planner_tenant ROLE CURRENT_USER;
-- To name the extension's functions a role needs USAGE on their schema.
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO planner_tenant;
CREATE TABLE planner_probe AS SELECT id, fp FROM planner_t WHERE id <= 3;
ANALYZE planner_probe;
GRANT SELECT ON planner_t, planner_probe TO planner_tenant;
CREATE INDEX planner_fp ON planner_t USING simhash (fp);
ALTER TABLE planner_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY even_rows ON planner_t USING (even);
SET ROLE planner_tenant;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT t.id FROM planner_probe o JOIN planner_t t ON hamming(t.fp, o.fp) <= 3;
RESET ROLE;

-- tiny tables and huge distances are scanned
CREATE TABLE planner_tiny AS SELECT id, fp FROM planner_t WHERE id <= 50;
CREATE INDEX ON planner_tiny USING simhash (fp);
ANALYZE planner_tiny;
EXPLAIN (COSTS OFF) SELECT id FROM planner_tiny WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM planner_t WHERE hamming(fp, '0123456789abcdef') <= 40;

DROP TABLE planner_t, planner_p, planner_tiny, planner_probe CASCADE;
DROP FUNCTION both_ways;
REVOKE USAGE ON SCHEMA :home FROM planner_tenant;
DROP ROLE planner_tenant;
