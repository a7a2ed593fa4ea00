-- Tables whose rows are in other tables: for an empty parent of filled children, functions on its
-- index do not silently return nothing.
-- superuser only: it makes a table in pg_catalog
CREATE TABLE parent (id integer, fp fingerprint64);
CREATE INDEX parent_fp ON parent USING simhash (fp);
SELECT * FROM simhash_pairs('parent_fp', 3);
SELECT * FROM simhash_clusters('parent_fp', 3);
SELECT rows FROM simhash_index_info('parent_fp');

CREATE SCHEMA "odd Schema";
CREATE TABLE "odd Schema"."Child" () INHERITS (parent);
CREATE INDEX child_fp ON "odd Schema"."Child" USING simhash (fp);
INSERT INTO "odd Schema"."Child"
  VALUES (1, '00000000000000ff'), (2, '00000000000000fe'), (3, 'ff00000000000000');
SELECT * FROM simhash_pairs('parent_fp', 3);
SELECT * FROM simhash_clusters('parent_fp', 3);
SELECT rows FROM simhash_index_info('parent_fp');
-- The index of a child finds the child's rows.
SELECT count(*) FROM simhash_pairs('"odd Schema".child_fp', 3);
SELECT rows FROM simhash_index_info('"odd Schema".child_fp');

-- A parent that has rows itself: those are found, and a warning tells of the children.
INSERT INTO parent VALUES (4, '0f00000000000000'), (5, '0e00000000000000');
SELECT count(*) FROM simhash_pairs('parent_fp', 3);
SELECT count(*) FROM simhash_clusters('parent_fp', 3);
SELECT rows FROM simhash_index_info('parent_fp');

-- Many children, and one that has gone.
CREATE TABLE child_2 () INHERITS (parent);
CREATE TABLE child_3 () INHERITS (parent);
CREATE TABLE child_4 () INHERITS (parent);
CREATE TABLE child_5 () INHERITS (child_4);
SELECT rows FROM simhash_index_info('parent_fp');
DROP TABLE "odd Schema"."Child", child_2, child_3, child_4, child_5;
SELECT rows FROM simhash_index_info('parent_fp');

-- Partitions and partitioned indexes.
CREATE TABLE parts (id integer, fp fingerprint64) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parts DEFAULT;
CREATE INDEX parts_fp ON parts USING simhash (fp);
INSERT INTO parts SELECT id, fp FROM parent;
SELECT rows FROM simhash_index_info('parts_fp');
SELECT count(*) FROM simhash_pairs('parts_fp', 3);
SELECT count(*) FROM simhash_pairs('part_fp_idx', 3);

-- Citus keeps the rows of the tables that it lists in shards. What such a table holds itself was
-- there before Citus took it over.
BEGIN;
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
INSERT INTO pg_catalog.pg_dist_partition VALUES ('part', 'h');
SELECT count(*) FROM simhash_pairs('parent_fp', 3);
INSERT INTO pg_catalog.pg_dist_partition VALUES ('parent', 'h');
SAVEPOINT before;
SELECT count(*) FROM simhash_pairs('parent_fp', 3);
ROLLBACK TO before;
SELECT count(*) FROM simhash_clusters('parent_fp', 3);
ROLLBACK TO before;
SELECT rows FROM simhash_index_info('parent_fp');
ROLLBACK TO before;
-- A table of that name in another form is not Citus's list.
ALTER TABLE pg_catalog.pg_dist_partition ALTER logicalrelid TYPE oid;
SELECT count(*) FROM simhash_pairs('parent_fp', 3);
ROLLBACK;
SELECT count(*) FROM simhash_pairs('parent_fp', 3);

DROP TABLE parent, parts;
DROP SCHEMA "odd Schema";
