-- Estimates of costs and rows: they follow the radius wherever the centre comes from, and the
-- estimators take operands of any type.
-- superuser only: operators name estimators
\set SHOW_CONTEXT never
-- Eight clusters, whose members are 8 bits apart on average.
CREATE TABLE estimated AS
SELECT i AS id, ('x' || substr(md5((i % 8)::text), 1, 12) || substr(md5(i::text), 1, 4))
  ::bit(64)::bigint::fingerprint64 AS fp
FROM generate_series(1, 20000) i;
CREATE INDEX estimated_fp ON estimated USING simhash (fp);
VACUUM ANALYZE estimated;
CREATE TABLE uniform AS
  SELECT i AS id, ('x' || substr(md5(i::text), 1, 16))::bit(64)::bigint::fingerprint64 AS fp
  FROM generate_series(1, 200000) i;
CREATE INDEX uniform_fp ON uniform USING simhash (fp);
VACUUM ANALYZE uniform;
-- The plan, rows and cost that EXPLAIN shows for a query.
CREATE FUNCTION planner_estimate(query text, OUT node text, OUT cost numeric, OUT rows bigint)
  LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  node := plan->0->'Plan'->>'Node Type';
  cost := plan->0->'Plan'->>'Total Cost';
  rows := plan->0->'Plan'->>'Plan Rows';
END $$;

-- a greater radius costs more and keeps more rows, also around a parameter
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off; SET enable_bitmapscan = off;
PREPARE near3(fingerprint64) AS SELECT id FROM estimated WHERE hamming(fp, $1) <= 3;
PREPARE less4(fingerprint64) AS SELECT id FROM estimated WHERE hamming(fp, $1) < 4;
PREPARE ball3(fingerprint64) AS SELECT id FROM estimated WHERE fp <@ hamming_ball($1, 3);
PREPARE ball3t(text) AS SELECT id FROM estimated WHERE hamming_ball($1, 3) @> fp;
PREPARE within3(fingerprint64) AS SELECT id FROM estimated WHERE hamming_within(fp, $1, 3);
PREPARE near6(fingerprint64) AS SELECT id FROM estimated WHERE hamming(fp, $1) <= 6;
PREPARE near10(fingerprint64) AS SELECT id FROM estimated WHERE hamming(fp, $1) <= 10;
PREPARE near_any(fingerprint64, integer) AS SELECT id FROM estimated WHERE hamming(fp, $1) <= $2;
WITH e AS MATERIALIZED (
  SELECT name, (e).* FROM unnest('{near3,less4,ball3,ball3t,within3,near6,near10}'::text[]) name,
    LATERAL (SELECT planner_estimate(format('EXECUTE %I(%L)', name, '0123456789abcdef')) AS e) s)
SELECT name, e.node, e.cost > 1.5 * (SELECT cost FROM e WHERE name = 'near3') AS dearer,
  e.rows > (SELECT rows FROM e WHERE name = 'near3') AS more
FROM e;
SELECT (e).cost = (SELECT (planner_estimate('EXECUTE near_any(''0123456789abcdef'', 3)')).cost)
  AS as_six
FROM (SELECT planner_estimate('EXECUTE near6(''0123456789abcdef'')') AS e) s;
-- and around a column of another table
SELECT (e3).cost < (e10).cost AS dearer, (e3).rows < (e10).rows AS more
FROM (SELECT planner_estimate('SELECT b.id FROM estimated a
    JOIN estimated b ON hamming(b.fp, a.fp) <= 3 WHERE a.id < 10') AS e3,
  planner_estimate('SELECT b.id FROM estimated a
    JOIN estimated b ON hamming(b.fp, a.fp) <= 10 WHERE a.id < 10') AS e10) s;
SELECT (e3).cost < (e10).cost AS dearer, (e3).rows < (e10).rows AS more
FROM (SELECT planner_estimate('SELECT b.id FROM estimated a
    JOIN estimated b ON b.fp <@ hamming_ball(a.fp, 3) WHERE a.id < 10') AS e3,
  planner_estimate('SELECT b.id FROM estimated a
    JOIN estimated b ON hamming_ball(a.fp, 10) @> b.fp WHERE a.id < 10') AS e10) s;
DEALLOCATE ALL;
RESET ALL;

-- so under default settings a prepared statement gets a generic plan: at every distance it costs
-- about what the custom plans cost
PREPARE near3(fingerprint64) AS SELECT id FROM uniform WHERE hamming(fp, $1) <= 3;
PREPARE less4(fingerprint64) AS SELECT id FROM uniform WHERE 4 > hamming($1, fp);
PREPARE near6(fingerprint64) AS SELECT id FROM uniform WHERE fp <~> $1 <= 6;
PREPARE ball3(fingerprint64) AS SELECT id FROM uniform WHERE fp <@ hamming_ball($1, 3);
SELECT name, (generic).cost BETWEEN (custom).cost * 0.9 AND (custom).cost * 1.1 AS as_dear
  FROM unnest('{near3,less4,near6,ball3}'::text[]) name,
  LATERAL (SELECT set_config('plan_cache_mode', 'force_generic_plan', false),
    planner_estimate(format('EXECUTE %I(%L)', name, '0123456789abcdef')) AS generic) g,
  LATERAL (SELECT set_config('plan_cache_mode', 'force_custom_plan', false),
    planner_estimate(format('EXECUTE %I(%L)', name, '0123456789abcdef')) AS custom) c;
RESET plan_cache_mode;
DO $$ BEGIN
  FOR i IN 1..8 LOOP
    EXECUTE $q$EXECUTE near3('0123456789abcdef')$q$;
    EXECUTE $q$EXECUTE less4('0123456789abcdef')$q$;
    EXECUTE $q$EXECUTE near6('0123456789abcdef')$q$;
    EXECUTE $q$EXECUTE ball3('0123456789abcdef')$q$;
  END LOOP;
END $$;
EXPLAIN (COSTS OFF) EXECUTE near3('0123456789abcdef');
EXPLAIN (COSTS OFF) EXECUTE less4('0123456789abcdef');
EXPLAIN (COSTS OFF) EXECUTE near6('0123456789abcdef');
EXPLAIN (COSTS OFF) EXECUTE ball3('0123456789abcdef');
DEALLOCATE ALL;

-- rows expected of balls, beside the rows that there are: radii that differ, 128 and 256 bits,
-- values that are often the same, and balls that an index is made of
CREATE TABLE estimated_balls AS
SELECT id, fp, hamming_ball(fp, CASE WHEN id / 8 % 2 = 0 THEN 9 ELSE 1 END) AS b64,
  hamming_ball((substr(md5((id % 8)::text), 1, 28) || substr(md5(id::text), 1, 4))::fingerprint128,
    9) AS b128,
  hamming_ball((md5((id % 8)::text) || substr(md5((id % 8)::text), 9)
    || substr(md5(id::text), 1, 8))::fingerprint256, 18) AS b256,
  hamming_ball(('x' || substr(md5(CASE WHEN id % 4 = 0 THEN '' ELSE id::text END), 1, 16))
    ::bit(64)::bigint::fingerprint64, 3) AS common
FROM estimated;
CREATE INDEX estimated_made ON estimated USING simhash (hamming_ball(fp, 9));
ANALYZE estimated, estimated_balls;
CREATE FUNCTION planner_is_right(query text, OUT many boolean, OUT factor_below_two boolean)
  LANGUAGE plpgsql AS $$
DECLARE real bigint; expected bigint := (planner_estimate(query)).rows;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) s', query) INTO real;
  many := real > 500; factor_below_two := expected BETWEEN real / 2 AND real * 2;
END $$;
SELECT clause, (r).* FROM unnest(ARRAY['b64 ~= %1$L', 'b64 @> %2$L::fingerprint64',
    '%2$L::fingerprint64 <@ b64', 'b128 ~= %3$L', 'common ~= %4$L', 'b256 ~= %5$L'])
    clause,
  LATERAL (SELECT planner_is_right(format('SELECT id FROM estimated_balls WHERE ' || clause,
      b64, fp, b128, common, b256)) AS r
    FROM estimated_balls WHERE id = 4) s;
SELECT clause, (r).* FROM unnest(ARRAY['a.b64 ~= b.b64', 'a.b64 @> b.fp', 'b.fp <@ a.b64',
    'a.b128 ~= b.b128', 'a.b256 ~= b.b256']) clause,
  LATERAL (SELECT planner_is_right('SELECT 1 FROM estimated_balls a JOIN estimated_balls b ON '
    || clause || ' WHERE a.id <= 100') AS r) s;
SELECT (r).* FROM estimated_balls, LATERAL (SELECT planner_is_right(
  format('SELECT id FROM estimated WHERE hamming_ball(fp, 9) ~= %L', b64)) AS r) s WHERE id = 4;
SELECT (planner_estimate($$SELECT id FROM estimated_balls
  WHERE b64 ~= '<0123456789abcdef,9>'$$)).rows < 10 AS few_of_a_stranger;
DROP FUNCTION planner_is_right;
DROP TABLE estimated, estimated_balls, uniform;

-- users' own operators with our estimators, over every pair of types, in conditions and joins, with
-- and without statistics
CREATE TABLE foreign_types (f64 fingerprint64, f128 fingerprint128, b64 hamming_ball64,
  b128 hamming_ball128, f256 fingerprint256, b256 hamming_ball256, fs fingerprint64[],
  bs hamming_ball64[], u uuid, i4 integer, i8 bigint, t text, ts timestamptz, nm name, b boolean,
  bt bit(64), ia integer[]);
INSERT INTO foreign_types
SELECT g::bigint::fingerprint64, md5(g::text)::uuid::fingerprint128,
  hamming_ball(g::bigint::fingerprint64, 3), hamming_ball(md5(g::text)::uuid::fingerprint128, 3),
  sha256(g::text::bytea)::fingerprint256, hamming_ball(sha256(g::text::bytea)::fingerprint256, 3),
  ARRAY[g::bigint::fingerprint64, NULL], ARRAY[hamming_ball(g::bigint::fingerprint64, 3), NULL],
  md5(g::text)::uuid, g, g, md5(g::text),
  'epoch'::timestamptz + g * interval '1 s', g, g % 2 = 0, g::bigint::bit(64), ARRAY[g, NULL]
FROM (SELECT i % 300 AS g FROM generate_series(1, 600) i) s;
CREATE DOMAIN foreign_domain AS fingerprint128;
ALTER TABLE foreign_types ADD dom foreign_domain;
UPDATE foreign_types SET dom = f128;
CREATE FUNCTION estimated_as(estimator text)
  RETURNS TABLE (pairs bigint, planned bigint) LANGUAGE plpgsql AS $$
DECLARE a record; b record; line text; sample text;
BEGIN
  pairs := 0; planned := 0;
  FOR a IN
    SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
    WHERE attrelid = 'foreign_types'::regclass AND attnum > 0
  LOOP
    FOR b IN
      SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
      WHERE attrelid = 'foreign_types'::regclass AND attnum > 0
    LOOP
      -- no operator takes a domain; the domain's column is used below
      CONTINUE WHEN a.name = 'dom' OR b.name = 'dom';
      pairs := pairs + 1;
      EXECUTE format('CREATE FUNCTION foreign_op(%s, %s) RETURNS boolean LANGUAGE plpgsql STABLE'
        ' AS $f$ BEGIN RETURN true; END $f$', a.type, b.type);
      EXECUTE format('CREATE OPERATOR ~~~= (LEFTARG = %s, RIGHTARG = %s, FUNCTION = foreign_op,'
        ' RESTRICT = hamming_%s_sel, JOIN = hamming_%s_joinsel)',
        a.type, b.type, estimator, estimator);
      EXECUTE format('SELECT %I::text FROM foreign_types WHERE %I IS NOT NULL LIMIT 1',
        b.name, b.name) INTO sample;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types WHERE %I ~~~= %L::%s',
        a.name, sample, b.type) INTO line;
      EXECUTE format('SELECT %I::text FROM foreign_types WHERE %I IS NOT NULL LIMIT 1',
        a.name, a.name) INTO sample;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types WHERE %L::%s ~~~= %I',
        sample, a.type, b.name) INTO line;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types x, foreign_types y WHERE x.%I ~~~= y.%I',
        a.name, b.name) INTO line;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types x WHERE EXISTS'
        ' (SELECT 1 FROM foreign_types y WHERE x.%I ~~~= y.%I)', a.name, b.name) INTO line;
      IF a.name = 'f128' THEN
        EXECUTE format('EXPLAIN SELECT * FROM foreign_types x, foreign_types y'
          ' WHERE x.dom ~~~= y.%I', b.name) INTO line;
      END IF;
      planned := planned + 1;
      EXECUTE format('DROP OPERATOR ~~~= (%s, %s)', a.type, b.type);
      EXECUTE format('DROP FUNCTION foreign_op(%s, %s)', a.type, b.type);
    END LOOP;
  END LOOP;
  RETURN NEXT;
END $$;
SELECT * FROM estimated_as('near');
ANALYZE foreign_types;
SELECT * FROM estimated_as('near');
SELECT * FROM estimated_as('within');
DROP FUNCTION estimated_as, planner_estimate;
DROP TABLE foreign_types;
DROP DOMAIN foreign_domain;
