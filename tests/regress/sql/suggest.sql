-- simhash_suggest: which distance to use for a table, found without labels.
CREATE FUNCTION random64(seed text) RETURNS fingerprint64 IMMUTABLE LANGUAGE sql
  AS $$ SELECT left(md5(seed), 16)::fingerprint64 $$;
CREATE FUNCTION random128(seed text) RETURNS fingerprint128 IMMUTABLE LANGUAGE sql
  AS $$ SELECT md5(seed)::fingerprint128 $$;
-- A fingerprint with n bits changed: every 10th, starting at a place that depends on the seed.
CREATE FUNCTION edited(fp fingerprint64, n integer, seed integer)
  RETURNS fingerprint64 IMMUTABLE LANGUAGE sql SET search_path FROM CURRENT
  AS $$
  SELECT (fp::bigint # COALESCE(bit_or(1::bigint << ((seed + 10 * i) % 63)), 0))::fingerprint64
  FROM generate_series(1, n) i $$;
-- The suggestion, and in how many rows `found` differs from what a join counts: in small tables
-- every row is searched.
CREATE FUNCTION brute(index regclass, tab regclass, expression text)
  RETURNS TABLE (rows bigint, suggested bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY EXECUTE format($q$
    WITH r AS MATERIALIZED (SELECT ctid AS c, %2$s AS f FROM %1$s WHERE %2$s IS NOT NULL),
      n AS MATERIALIZED (
        SELECT hamming(a.f, b.f) AS d, count(*) AS c FROM r a, r b WHERE a.c <> b.c GROUP BY 1),
      s AS MATERIALIZED (SELECT * FROM simhash_suggest(%3$L))
    SELECT count(*), count(*) FILTER (WHERE s.suggested),
      count(*) FILTER (WHERE round(s.found::numeric, 9) <>
        round(COALESCE((SELECT sum(c) FROM n WHERE d <= s.distance), 0)::numeric
          / greatest((SELECT count(*) FROM r), 1), 9)
        OR s.beyond_chance IS DISTINCT FROM CASE WHEN s.found > 0
          THEN greatest(1 - s.expected_false / s.found, 0) END)
    FROM s$q$, tab, expression, index);
END $$;

-- 900 rows with 300 copies, each with 0 to 4 bits changed.
CREATE TABLE doc (id integer, fp fingerprint64, wide fingerprint128, number bigint,
  ball hamming_ball64, part boolean);
INSERT INTO doc
  SELECT i, fp, random128(i % 900 || 'wide'), fp::bigint, hamming_ball(fp, 3), i <= 500
  FROM (
    SELECT i, edited(random64((i % 900)::text), CASE WHEN i < 900 THEN 0 ELSE i % 5 END, i) AS fp
    FROM generate_series(0, 1199) i) s;
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE INDEX doc_wide ON doc USING simhash (wide);
CREATE INDEX doc_number ON doc USING simhash (number hamming_int8_ops);
CREATE INDEX doc_ball ON doc USING simhash (ball);
CREATE INDEX doc_expression ON doc USING simhash (edited(fp, 1, 7));
CREATE INDEX doc_part ON doc USING simhash (fp) WHERE part;
SELECT distance, expected_false < 0.001 AS no_chance, found, beyond_chance > 0.99 AS all_true
  FROM simhash_suggest('doc_fp') WHERE distance <= 5 OR suggested;
SELECT distance BETWEEN 4 AND 6 AS right FROM simhash_suggest('doc_fp') WHERE suggested;
SELECT suggested, wrong FROM brute('doc_fp', 'doc', 'fp');
SELECT suggested, wrong FROM brute('doc_wide', 'doc', 'wide');
SELECT suggested, wrong FROM brute('doc_number', 'doc', 'number');
SELECT suggested, wrong FROM brute('doc_expression', 'doc', 'edited(fp, 1, 7)');
SELECT suggested, wrong FROM brute('doc_part', 'doc', 'CASE WHEN part THEN fp END');
-- Equal copies.
SELECT distance, found FROM simhash_suggest('doc_wide') WHERE suggested;
-- A ball counts by its centre, a bigint by its bits; and two calls on one index agree.
SELECT count(*) AS differ FROM simhash_suggest('doc_fp') a
  FULL JOIN simhash_suggest('doc_ball') b ON a::text = b::text WHERE a IS NULL OR b IS NULL;
SELECT count(*) AS differ FROM simhash_suggest('doc_fp') a
  FULL JOIN simhash_suggest('doc_number') b ON a::text = b::text WHERE a IS NULL OR b IS NULL;
SELECT count(*) AS differ FROM simhash_suggest('doc_fp') a
  FULL JOIN simhash_suggest('doc_fp') b ON a::text = b::text WHERE a IS NULL OR b IS NULL;
-- Distances ascend from 0, and so do both curves.
SELECT count(*) AS descents FROM (
  SELECT distance - row_number() OVER () + 1 AS place,
    expected_false - lag(expected_false) OVER () AS e, found - lag(found) OVER () AS f
  FROM simhash_suggest('doc_wide')) s
WHERE place <> 0 OR e < 0 OR f < 0;
-- Deleted rows and old versions of rows are no neighbours.
UPDATE doc SET fp = fp, id = id + 1;
DELETE FROM doc WHERE id > 900;
SELECT max(found) FILTER (WHERE distance <= 5) AS near FROM simhash_suggest('doc_fp');
SELECT suggested, wrong FROM brute('doc_fp', 'doc', 'fp');
DROP TABLE doc;

-- For random fingerprints the chance at a distance is that of independent bits: of 2,000 random
-- rows about 4.6e-4 are within 12 of 64 bits.
CREATE TABLE chance AS SELECT random64(i::text) AS fp FROM generate_series(1, 2000) i;
CREATE INDEX chance_fp ON chance USING simhash (fp);
SELECT expected_false / (1999 * (
    SELECT sum(c) FROM (
      SELECT exp(sum(ln((64 - i + 1)::float8 / i)) OVER (ORDER BY i)) AS c
      FROM generate_series(1, 12) i) s) / 2 ^ 64::float8) BETWEEN 0.33 AND 3 AS as_computed
  FROM simhash_suggest('chance_fp') WHERE distance = 12;
-- Without copies it suggests the greatest distance at which chance brings a thousandth of a row.
-- That is 12 by the sum above, give or take one.
SELECT distance BETWEEN 11 AND 13 AS right, expected_false <= 0.001 AS negligible
  FROM simhash_suggest('chance_fp') WHERE suggested;
SELECT suggested, wrong FROM brute('chance_fp', 'chance', 'fp');

-- Few rows, equal rows, NULLs, no row.
CREATE TABLE tiny (fp fingerprint64);
CREATE INDEX tiny_fp ON tiny USING simhash (fp);
-- A table of fewer than two rows has no neighbours, and no suggestion.
SELECT max(distance), max(expected_false) AS expected_false, max(found) AS found,
  max(beyond_chance) AS beyond_chance, bool_or(suggested) AS suggested
  FROM simhash_suggest('tiny_fp');
SELECT suggested, wrong FROM brute('tiny_fp', 'tiny', 'fp');
INSERT INTO tiny VALUES (NULL), (NULL), ('0123456789abcdef');
SELECT suggested, wrong FROM brute('tiny_fp', 'tiny', 'fp');
INSERT INTO tiny VALUES ('0123456789abcdef');
SELECT suggested, wrong FROM brute('tiny_fp', 'tiny', 'fp');
INSERT INTO tiny VALUES ('fedcba9876543210');
SELECT suggested, wrong FROM brute('tiny_fp', 'tiny', 'fp');
INSERT INTO tiny SELECT '0123456789abcdef' FROM generate_series(1, 50);
SELECT suggested, wrong FROM brute('tiny_fp', 'tiny', 'fp');
SELECT distance, round(found::numeric, 3) AS found FROM simhash_suggest('tiny_fp') WHERE suggested;
-- Of many copies only a thousand are counted.
INSERT INTO tiny SELECT '0123456789abcdef' FROM generate_series(1, 3000);
SELECT distance, round(found) AS found FROM simhash_suggest('tiny_fp') WHERE suggested;

-- What it refuses: other indexes, tables, arrays, partitioned indexes.
CREATE TABLE other (id integer PRIMARY KEY, fps fingerprint64[]);
CREATE INDEX other_fps ON other USING simhash (fps);
SELECT * FROM simhash_suggest('other_pkey');
SELECT * FROM simhash_suggest('other');
SELECT * FROM simhash_suggest('other_fps');
\set VERBOSITY sqlstate
SELECT * FROM simhash_suggest('other_pkey');
SELECT * FROM simhash_suggest('other_fps');
SELECT * FROM simhash_suggest(0);
\set VERBOSITY default
SELECT count(*) FROM simhash_suggest(NULL);
CREATE TABLE parts (fp fingerprint64) PARTITION BY HASH (fp);
CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX parts_fp ON parts USING simhash (fp);
SELECT * FROM simhash_suggest('parts_fp');
SELECT count(*) FILTER (WHERE suggested) AS suggested, count(*) > 0 AS rows
  FROM simhash_suggest('part_fp_idx');

-- Roles that may call simhash_index_info may call it: the owner, and roles that may read the whole
-- table or the column.
CREATE ROLE regress_simhash_owner ROLE CURRENT_USER;
CREATE ROLE regress_simhash_other ROLE CURRENT_USER;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO regress_simhash_owner, regress_simhash_other;
CREATE TABLE owned (fp fingerprint64);
CREATE INDEX owned_fp ON owned USING simhash (fp);
ALTER TABLE owned OWNER TO regress_simhash_owner;
INSERT INTO owned VALUES ('0123456789abcdef'), ('0123456789abcdef');
SET ROLE regress_simhash_owner;
SELECT count(*) FROM simhash_suggest('owned_fp') WHERE suggested;
SET ROLE regress_simhash_other;
SELECT count(*) FROM simhash_suggest('owned_fp') WHERE suggested;
RESET ROLE;
GRANT SELECT (fp) ON owned TO regress_simhash_other;
SET ROLE regress_simhash_other;
SELECT count(*) FROM simhash_suggest('owned_fp') WHERE suggested;
RESET ROLE;
GRANT SELECT ON owned TO regress_simhash_other;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
SET ROLE regress_simhash_other;
SELECT count(*) FROM simhash_suggest('owned_fp') WHERE suggested;
SET ROLE regress_simhash_owner;
REVOKE ALL ON owned FROM regress_simhash_owner;
SELECT count(*) FROM simhash_suggest('owned_fp') WHERE suggested;
RESET ROLE;

DROP TABLE owned, other, parts, tiny, chance;
REVOKE USAGE ON SCHEMA :home FROM regress_simhash_owner, regress_simhash_other;
DROP ROLE regress_simhash_owner, regress_simhash_other;
DROP FUNCTION brute, edited, random64, random128;
