-- What the planner is told of costs and rows: a radius counts wherever its centre comes from, and estimators take operands of any type.
-- superuser only: operators name estimators
\set SHOW_CONTEXT never
-- Eight clusters, whose members are 8 bits apart on average.
CREATE TABLE estimated AS
SELECT i AS id, ('x' || substr(md5((i % 8)::text), 1, 12) || substr(md5(i::text), 1, 4))::bit(64)::bigint::fingerprint64 AS fp FROM generate_series(1, 20000) i;
CREATE INDEX estimated_fp ON estimated USING simhash (fp);
VACUUM ANALYZE estimated;
CREATE TABLE uniform AS SELECT i AS id, ('x' || substr(md5(i::text), 1, 16))::bit(64)::bigint::fingerprint64 AS fp FROM generate_series(1, 200000) i;
CREATE INDEX uniform_fp ON uniform USING simhash (fp);
VACUUM ANALYZE uniform;
-- Plan, rows and cost that EXPLAIN shows for a query.
CREATE FUNCTION planner_estimate(query text, OUT node text, OUT cost numeric, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
  node := plan->0->'Plan'->>'Node Type'; cost := plan->0->'Plan'->>'Total Cost'; rows := plan->0->'Plan'->>'Plan Rows';
END $$;

-- a greater radius costs more, and keeps more rows, of a parameter as of a constant
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
SELECT (e).cost = (SELECT (planner_estimate('EXECUTE near_any(''0123456789abcdef'', 3)')).cost) AS as_six FROM (SELECT planner_estimate('EXECUTE near6(''0123456789abcdef'')') AS e) s;
-- and of a column of another table
SELECT (e3).cost < (e10).cost AS dearer, (e3).rows < (e10).rows AS more
FROM (SELECT planner_estimate('SELECT b.id FROM estimated a JOIN estimated b ON hamming(b.fp, a.fp) <= 3 WHERE a.id < 10') AS e3,
  planner_estimate('SELECT b.id FROM estimated a JOIN estimated b ON hamming(b.fp, a.fp) <= 10 WHERE a.id < 10') AS e10) s;
SELECT (e3).cost < (e10).cost AS dearer, (e3).rows < (e10).rows AS more
FROM (SELECT planner_estimate('SELECT b.id FROM estimated a JOIN estimated b ON b.fp <@ hamming_ball(a.fp, 3) WHERE a.id < 10') AS e3,
  planner_estimate('SELECT b.id FROM estimated a JOIN estimated b ON hamming_ball(a.fp, 10) @> b.fp WHERE a.id < 10') AS e10) s;
DEALLOCATE ALL;
RESET ALL;

-- so a prepared statement gets its generic plan under the settings that everybody has: at all distances it costs what the custom plans do
PREPARE near3(fingerprint64) AS SELECT id FROM uniform WHERE hamming(fp, $1) <= 3;
PREPARE less4(fingerprint64) AS SELECT id FROM uniform WHERE 4 > hamming($1, fp);
PREPARE near6(fingerprint64) AS SELECT id FROM uniform WHERE fp <~> $1 <= 6;
PREPARE ball3(fingerprint64) AS SELECT id FROM uniform WHERE fp <@ hamming_ball($1, 3);
SELECT name, (generic).cost BETWEEN (custom).cost * 0.9 AND (custom).cost * 1.1 AS as_dear FROM unnest('{near3,less4,near6,ball3}'::text[]) name,
  LATERAL (SELECT set_config('plan_cache_mode', 'force_generic_plan', false), planner_estimate(format('EXECUTE %I(%L)', name, '0123456789abcdef')) AS generic) g,
  LATERAL (SELECT set_config('plan_cache_mode', 'force_custom_plan', false), planner_estimate(format('EXECUTE %I(%L)', name, '0123456789abcdef')) AS custom) c;
RESET plan_cache_mode;
DO $$ BEGIN
  FOR i IN 1..8 LOOP
    EXECUTE $q$EXECUTE near3('0123456789abcdef')$q$; EXECUTE $q$EXECUTE less4('0123456789abcdef')$q$; EXECUTE $q$EXECUTE near6('0123456789abcdef')$q$;
    EXECUTE $q$EXECUTE ball3('0123456789abcdef')$q$;
  END LOOP;
END $$;
EXPLAIN (COSTS OFF) EXECUTE near3('0123456789abcdef');
EXPLAIN (COSTS OFF) EXECUTE less4('0123456789abcdef');
EXPLAIN (COSTS OFF) EXECUTE near6('0123456789abcdef');
EXPLAIN (COSTS OFF) EXECUTE ball3('0123456789abcdef');
DEALLOCATE ALL;
DROP TABLE estimated, uniform;

-- operators of users' own with our estimators, over every pair of types, with statistics, without and by joins
CREATE TABLE foreign_types (f64 fingerprint64, f128 fingerprint128, b64 hamming_ball64, b128 hamming_ball128, fs fingerprint64[], bs hamming_ball64[],
  u uuid, i4 integer, i8 bigint, t text, ts timestamptz, nm name, b boolean, bt bit(64), ia integer[]);
INSERT INTO foreign_types
SELECT g::bigint::fingerprint64, md5(g::text)::uuid::fingerprint128, hamming_ball(g::bigint::fingerprint64, 3), hamming_ball(md5(g::text)::uuid::fingerprint128, 3),
  ARRAY[g::bigint::fingerprint64, NULL], ARRAY[hamming_ball(g::bigint::fingerprint64, 3), NULL], md5(g::text)::uuid, g, g, md5(g::text),
  'epoch'::timestamptz + g * interval '1 s', g, g % 2 = 0, g::bigint::bit(64), ARRAY[g, NULL]
FROM (SELECT i % 300 AS g FROM generate_series(1, 600) i) s;
CREATE DOMAIN foreign_domain AS fingerprint128;
ALTER TABLE foreign_types ADD dom foreign_domain;
UPDATE foreign_types SET dom = f128;
CREATE FUNCTION estimated_as(estimator text) RETURNS TABLE (pairs bigint, planned bigint) LANGUAGE plpgsql AS $$
DECLARE a record; b record; line text; sample text;
BEGIN
  pairs := 0; planned := 0;
  FOR a IN SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = 'foreign_types'::regclass AND attnum > 0 LOOP
    FOR b IN SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = 'foreign_types'::regclass AND attnum > 0 LOOP
      CONTINUE WHEN a.name = 'dom' OR b.name = 'dom';  -- operators take base types; the column is used below
      pairs := pairs + 1;
      EXECUTE format('CREATE FUNCTION foreign_op(%s, %s) RETURNS boolean LANGUAGE plpgsql STABLE AS $f$ BEGIN RETURN true; END $f$', a.type, b.type);
      EXECUTE format('CREATE OPERATOR ~~~= (LEFTARG = %s, RIGHTARG = %s, FUNCTION = foreign_op, RESTRICT = hamming_%s_sel, JOIN = hamming_%s_joinsel)', a.type, b.type, estimator, estimator);
      EXECUTE format('SELECT %I::text FROM foreign_types WHERE %I IS NOT NULL LIMIT 1', b.name, b.name) INTO sample;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types WHERE %I ~~~= %L::%s', a.name, sample, b.type) INTO line;
      EXECUTE format('SELECT %I::text FROM foreign_types WHERE %I IS NOT NULL LIMIT 1', a.name, a.name) INTO sample;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types WHERE %L::%s ~~~= %I', sample, a.type, b.name) INTO line;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types x, foreign_types y WHERE x.%I ~~~= y.%I', a.name, b.name) INTO line;
      EXECUTE format('EXPLAIN SELECT * FROM foreign_types x WHERE EXISTS (SELECT 1 FROM foreign_types y WHERE x.%I ~~~= y.%I)', a.name, b.name) INTO line;
      IF a.name = 'f128' THEN
        EXECUTE format('EXPLAIN SELECT * FROM foreign_types x, foreign_types y WHERE x.dom ~~~= y.%I', b.name) INTO line;
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
