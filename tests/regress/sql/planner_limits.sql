-- hamming(x, y) compared with limits of every type and form, in plans where the limit is known and
-- in plans where it is not. The right answers come from a bigint column: the number of ones in the
-- text form of its bits.
\set SHOW_CONTEXT never
CREATE TABLE limits (id integer PRIMARY KEY, h bigint, fp fingerprint64, fp128 fingerprint128,
  fps fingerprint64[]);
-- distance from 0: 0 to 64, each twice
INSERT INTO limits
SELECT i, b::bigint, b::fingerprint64, (lpad(to_hex(b::bigint), 32, '0'))::fingerprint128,
  ARRAY[b::fingerprint64]
FROM generate_series(0, 129) i,
  LATERAL (SELECT (repeat('0', 64 - i % 65) || repeat('1', i % 65))::bit(64) AS b) s;
CREATE INDEX limits_fp ON limits USING simhash (fp);
CREATE INDEX limits_h ON limits USING simhash (h hamming_int8_ops);
CREATE INDEX limits_fp128 ON limits USING simhash (fp128);
CREATE INDEX limits_fps ON limits USING simhash (fps);
ANALYZE limits;
CREATE TABLE asked (k2 smallint, k4 integer, k8 bigint);
INSERT INTO asked SELECT k, k, k
  FROM unnest('{-32768,-2,-1,0,1,2,3,4,5,6,10,63,64,65,66,127,128,32767,NULL}'::smallint[]) k;

-- The number of rows that a condition keeps, in a custom and in a generic plan.
CREATE FUNCTION planner_kept(condition text, given text, k bigint)
  RETURNS TABLE (way text, rows_kept bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('enable_seqscan', 'off', true);
  EXECUTE format('PREPARE kept (%s) AS SELECT count(*) FROM limits WHERE %s', given, condition);
  FOREACH way IN ARRAY '{force_custom_plan,force_generic_plan}'::text[] LOOP
    PERFORM set_config('plan_cache_mode', way, true);
    EXECUTE format('EXECUTE kept (%L)', k) INTO rows_kept;
    RETURN NEXT;
  END LOOP;
  DEALLOCATE kept;
END $$;
CREATE FUNCTION planner_ones(h bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT length(replace(h::bit(64)::text, '0', '')) $$;

-- every comparison, mirrored and negated, with a parameter of every type, a scalar subquery and a
-- sum
WITH form (template, right_op) AS (VALUES
  ('%1$s < %2$s', '<'), ('%1$s <= %2$s', '<='), ('%1$s = %2$s', '='),
  ('%2$s > %1$s', '<'), ('%2$s >= %1$s', '<='), ('%2$s = %1$s', '='),
  ('NOT %1$s >= %2$s', '<'), ('NOT %1$s > %2$s', '<='), ('NOT %2$s <= %1$s', '<'),
  ('%1$s > %2$s', '>'), ('%1$s >= %2$s', '>='), ('%1$s <> %2$s', '<>')),
measured (n, distance) AS (VALUES
  (1, $$hamming(fp, '0000000000000000')$$), (2, $$hamming('0000000000000000', fp)$$),
  (3, 'hamming(h, 0)'),
  (4, $$fp <~> '0000000000000000'$$), (5, $$hamming(fp128, '00000000000000000000000000000000')$$),
  (6, $$hamming(fps, '{0000000000000000}'::fingerprint64[])$$)),
limited (given, expression) AS (VALUES
  ('integer', '$1'), ('smallint', '$1'), ('bigint', '$1'), ('numeric', '$1'), ('float8', '$1'),
  ('integer', '(SELECT $1)'), ('smallint', '(SELECT $1)'), ('integer', '($1 + 0)')),
right_answer AS (
  SELECT right_op, k8,
    (SELECT count(*) FROM limits WHERE CASE right_op
      WHEN '<' THEN planner_ones(h) < k8 WHEN '<=' THEN planner_ones(h) <= k8
      WHEN '=' THEN planner_ones(h) = k8 WHEN '>' THEN planner_ones(h) > k8
      WHEN '>=' THEN planner_ones(h) >= k8 ELSE planner_ones(h) <> k8 END) AS answer
  FROM (SELECT DISTINCT right_op FROM form) f, asked
  WHERE k8 IS NULL OR k8 IN (-1, 0, 1, 3, 63, 64, 65)),
answers AS (
  SELECT format(template, distance, expression) AS condition, given, r.k8, a.way, a.rows_kept,
    r.answer
  FROM form JOIN right_answer r USING (right_op), measured, limited,
    LATERAL planner_kept(format(template, distance, expression), given, r.k8) a
  WHERE n = 1 OR given = 'integer' AND expression = '$1')
SELECT way, count(*) AS asked, count(*) FILTER (WHERE rows_kept <> answer) AS wrong,
  min(condition || ' [' || k8 || ']') FILTER (WHERE rows_kept <> answer) AS one
FROM answers GROUP BY way ORDER BY way;

-- the limit is a column, of this table or of another
SET enable_seqscan = off;
SELECT count(*) AS rows, count(*) FILTER (WHERE l.right_count <> l.less) AS wrong FROM (
  SELECT (SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < k4) AS less,
    (SELECT count(*) FROM limits WHERE planner_ones(h) < k4) AS right_count FROM asked) l;
SELECT a.k4, count(*) AS less FROM asked a JOIN limits l ON hamming(l.fp, '0000000000000000') < a.k4
  WHERE a.k4 BETWEEN -1 AND 6 GROUP BY 1 ORDER BY 1;
SELECT a.k2, count(*) AS less FROM asked a
  LEFT JOIN limits l ON a.k2 > hamming(l.fp, '0000000000000000') AND l.id < 65
  WHERE a.k2 BETWEEN -1 AND 3 GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < id % 3;
SELECT count(*) FROM limits WHERE planner_ones(h) < id % 3;
-- the greatest and least limits of each type
SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < (SELECT -2147483648);
SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < (SELECT (-32768)::smallint);
SELECT count(*) FROM limits
  WHERE hamming(fp, '0000000000000000') < (SELECT (-9223372036854775808)::bigint);
SELECT count(*) FROM limits
  WHERE hamming(fp, '0000000000000000') <= (SELECT (-9223372036854775808)::bigint);
SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < (-9223372036854775808)::bigint;
SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') <= (SELECT 9223372036854775807);
SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < (SELECT 2147483647);
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT count(*) FROM limits l
  WHERE hamming(fp, '0000000000000000') < (id % 3)::smallint;

-- a function answers the same after its first calls, when its plan no longer knows the argument
CREATE FUNCTION planner_fewer(k integer) RETURNS bigint LANGUAGE plpgsql AS
  $$ BEGIN RETURN (SELECT count(*) FROM limits WHERE hamming(fp, '0000000000000000') < k); END $$;
SELECT array_agg(planner_fewer(3)) FROM generate_series(1, 8);
DROP FUNCTION planner_fewer, planner_kept;
DROP TABLE limits, asked;
DROP FUNCTION planner_ones;
