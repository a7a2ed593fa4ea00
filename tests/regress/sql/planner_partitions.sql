-- Planning over partitions: it neither opens nor locks pruned partitions, and it finds indexes on
-- the parent, on a partition and on a partition of a partition.
\set SHOW_CONTEXT never
CREATE TABLE parts (id integer, k integer, fp fingerprint64) PARTITION BY LIST (k);
CREATE FUNCTION make_parts(first integer, last integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first..last LOOP
    EXECUTE format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES IN (%s)', i, i);
  END LOOP;
END $$;
SELECT make_parts(1, 39);
-- one partition is partitioned itself; it has its columns in another order, and so has one of its
-- partitions
CREATE TABLE parts_sub (fp fingerprint64, k integer, id integer) PARTITION BY RANGE (id);
CREATE TABLE parts_sub_1 (k integer, id integer, fp fingerprint64);
ALTER TABLE parts_sub ATTACH PARTITION parts_sub_1 FOR VALUES FROM (0) TO (10000);
CREATE TABLE parts_sub_2 PARTITION OF parts_sub FOR VALUES FROM (10000) TO (20000);
ALTER TABLE parts ATTACH PARTITION parts_sub FOR VALUES IN (40);
INSERT INTO parts SELECT i, 1 + i % 40,
  ('x' || substr(md5((i / 40)::text), 1, 16))::bit(64)::bigint::fingerprint64
  FROM generate_series(0, 19999) i;
ANALYZE parts;

-- Which relations besides catalogues planning a query locks, and whether the plan has the rewritten
-- condition or the user's. A query is planned in a transaction of its own, which keeps its locks.
-- From 16 on PostgreSQL itself locks the indexes of partitioned tables.
CREATE FUNCTION locks() RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(relation::regclass::text, ' ' ORDER BY relation::regclass::text)
  FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
  WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relkind <> 'I'
    AND c.relname LIKE 'parts%' $$;
CREATE PROCEDURE planned(query text) LANGUAGE plpgsql AS $$
DECLARE line text; rewritten boolean := false; kept boolean := false; held text;
BEGIN
  COMMIT;
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    rewritten := rewritten OR line ~ 'hamming_ball|hamming_within';
    kept := kept OR line ~ 'hamming\(';
  END LOOP;
  held := locks();
  RAISE NOTICE '%: locks %',
    CASE WHEN rewritten AND kept THEN 'both' WHEN rewritten THEN 'rewritten'
      WHEN kept THEN 'as written' ELSE 'no condition' END, held;
  COMMIT;
END $$;
SELECT 'CALL planned($$SELECT id FROM parts
    WHERE k = 5 AND hamming(fp, ''0123456789abcdef'') <= 3$$);
  CALL planned($$SELECT id FROM parts
    WHERE k = 6 AND hamming(fp, ''0123456789abcdef'') <= 3$$);' AS one \gset
SELECT 'CALL planned($$SELECT id FROM parts WHERE k = 5
    AND (hamming(fp, ''0123456789abcdef'') <= 3 OR hamming(fp, ''0123456789abcdee'') <= 3
      OR hamming(fp, ''fedcba9876543210'') = 2)$$);' AS ors \gset
SELECT 'CALL planned($$SELECT a.id FROM parts a JOIN parts b ON hamming(a.fp, b.fp) <= 3
    WHERE a.k = 5 AND b.k = 6$$);' AS joined \gset
SELECT 'CALL planned($$SELECT id FROM parts
    WHERE k = 40 AND id < 10000 AND hamming(fp, ''0123456789abcdef'') <= 3$$);' AS sub \gset

\echo no index
:one :ors :joined :sub
\echo an index on another column
CREATE INDEX parts_id ON parts (id);
:one
DROP INDEX parts_id;
\echo an index on one partition
CREATE INDEX parts_5_fp ON parts_5 USING simhash (fp);
:one :ors :joined
DROP INDEX parts_5_fp;
\echo an index on a partition of a partition
CREATE INDEX parts_sub_1_fp ON parts_sub_1 USING simhash (fp);
:sub :one
DROP INDEX parts_sub_1_fp;
\echo an index on the partitioned partition
CREATE INDEX parts_sub_fp ON parts_sub USING simhash (fp);
:sub
DROP INDEX parts_sub_fp;
\echo an index on all, and one that is not valid on the parent alone
CREATE INDEX parts_fp ON parts USING simhash (fp);
:one :ors :joined :sub
DROP INDEX parts_fp;
CREATE INDEX parts_fp ON ONLY parts USING simhash (fp);
:one
CREATE INDEX parts_5_fp ON parts_5 USING simhash (fp);
:one
DROP INDEX parts_fp, parts_5_fp;
\echo indexes on another table, on another column of a partition, on a partition that was detached
CREATE TABLE apart (LIKE parts);
CREATE INDEX apart_fp ON apart USING simhash (fp);
ALTER TABLE parts ADD other fingerprint64;
CREATE INDEX parts_7_other ON parts_7 USING simhash (other);
CREATE INDEX parts_8_fp ON parts_8 USING simhash (fp);
:one
ALTER TABLE parts DETACH PARTITION parts_8;
:one
ALTER TABLE parts ATTACH PARTITION parts_8 FOR VALUES IN (8);
:one
-- a column that is given the name of an indexed one
ALTER TABLE parts_8 RENAME TO parts_eight;
DROP INDEX parts_8_fp;
:one
CALL planned($$SELECT id FROM parts WHERE k = 5 AND hamming(other, '0123456789abcdef') <= 3$$);
ALTER TABLE parts RENAME fp TO was_fp;
ALTER TABLE parts RENAME other TO fp;
CALL planned($$SELECT id FROM parts WHERE k = 5 AND hamming(fp, '0123456789abcdef') <= 3$$);
CALL planned($$SELECT id FROM parts WHERE k = 5 AND hamming(was_fp, '0123456789abcdef') <= 3$$);
ALTER TABLE parts RENAME fp TO other;
ALTER TABLE parts RENAME was_fp TO fp;
DROP INDEX parts_7_other;
DROP TABLE apart;

-- one partition has a simhash index, the other a partial index whose condition has the form that is
-- rewritten
CREATE INDEX parts_5_fp ON parts_5 USING simhash (fp);
CREATE INDEX parts_6_near ON parts_6 (id) WHERE hamming(fp, 'ffffffffffffffff') <= 28;
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM parts
  WHERE k IN (5, 6) AND hamming(fp, 'ffffffffffffffff') <= 28;
SELECT count(*) FROM parts WHERE k IN (5, 6) AND hamming(fp, 'ffffffffffffffff') <= 28;
SET simhash.enable_rewrite = off;
SELECT count(*) FROM parts WHERE k IN (5, 6) AND hamming(fp, 'ffffffffffffffff') <= 28;
RESET ALL;
DROP INDEX parts_5_fp, parts_6_near;

-- members of a UNION ALL, of which only the last has an index, with mirrored conditions too
CREATE TABLE parts_u1 AS SELECT id, fp FROM parts;
CREATE TABLE parts_u2 AS SELECT id, fp FROM parts;
CREATE INDEX parts_u2_fp ON parts_u2 USING simhash (fp);
CREATE VIEW parts_u AS SELECT * FROM parts_u1 UNION ALL SELECT * FROM parts_u2;
ANALYZE parts_u1; ANALYZE parts_u2;
EXPLAIN (COSTS OFF) SELECT id FROM parts_u WHERE hamming(fp, '0123456789abcdef') <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM parts_u WHERE 4 > hamming('0123456789abcdef', fp);
EXPLAIN (COSTS OFF) SELECT u.id FROM parts_u u JOIN parts_u2 o ON hamming(u.fp, o.fp) <= 3
  WHERE o.id = 1;

-- inheritance: PostgreSQL locks all children itself
CREATE TABLE parts_parent (id integer, fp fingerprint64);
CREATE TABLE parts_child (more integer) INHERITS (parts_parent);
CREATE TABLE parts_grandchild () INHERITS (parts_child);
CALL planned($$SELECT id FROM parts_parent WHERE hamming(fp, '0123456789abcdef') <= 3$$);
CREATE INDEX parts_grandchild_fp ON parts_grandchild USING simhash (fp);
CALL planned($$SELECT id FROM parts_parent WHERE hamming(fp, '0123456789abcdef') <= 3$$);
CALL planned($$SELECT id FROM ONLY parts_parent WHERE hamming(fp, '0123456789abcdef') <= 3$$);
ALTER TABLE parts_grandchild NO INHERIT parts_child;
CALL planned($$SELECT id FROM parts_parent WHERE hamming(fp, '0123456789abcdef') <= 3$$);

DROP VIEW parts_u;
DROP TABLE parts, parts_u1, parts_u2, parts_grandchild, parts_child, parts_parent;
DROP PROCEDURE planned;
DROP FUNCTION locks, make_parts;
