-- Groups: MERGE may not move rows to another partition, for PostgreSQL does not tell the triggers
-- of UPDATE; all else it may. Fingerprints are written out, so that distances can be counted by
-- eye. PostgreSQL 14 has no MERGE: its output is groups_merge_1.out.
SELECT current_setting('server_version_num')::integer < 150000 AS has_none \gset
\if :has_none
\quit
\endif
\pset null -
SELECT 'merges, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA merges;
SET search_path = :path;

-- Rows 1 and 2 are a group of tenant 1. As rows of tenant 2, 1 is near 3, and 4 near 5.
CREATE TABLE doc (id int NOT NULL, fp fingerprint64, tenant int, story int)
  PARTITION BY LIST (tenant);
CREATE TABLE doc_1 PARTITION OF doc FOR VALUES IN (1);
CREATE TABLE doc_2 PARTITION OF doc FOR VALUES IN (2);
CREATE INDEX ON doc USING simhash (fp);
CREATE INDEX ON doc (story);
CREATE INDEX ON doc (id);
SELECT simhash_cluster_create('doc', 'fp=fp', 'key=id', 'cluster=story', 'distance=3',
  'scope=tenant');
INSERT INTO doc VALUES (1, '0000000000000000', 1), (2, '0000000000000001', 1),
  (3, '0000000000000000', 2), (4, '0000ffff00000000', 1), (5, '0000ffff00000001', 2),
  (6, '7070707070707070', 1);
CREATE VIEW groups AS
  SELECT story, array_agg(id ORDER BY id) AS ids FROM doc GROUP BY story ORDER BY story;
TABLE groups;

MERGE INTO doc USING (VALUES (1), (4)) s (id) ON doc.id = s.id
  WHEN MATCHED THEN UPDATE SET tenant = 2;
-- the ways that work
UPDATE doc SET tenant = 2 WHERE id IN (1, 4);
TABLE groups;
MERGE INTO doc USING (VALUES (6, 'ff00000000000000'), (7, 'ff00000000000001'), (5, NULL))
    s (id, fp) ON doc.id = s.id
  WHEN MATCHED AND s.fp IS NULL THEN DELETE
  WHEN MATCHED THEN UPDATE SET fp = s.fp::fingerprint64
  WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.fp::fingerprint64, 1);
TABLE groups;
-- in a part of a statement (from 17 on), and in a function
CREATE FUNCTION moves(which int) RETURNS void LANGUAGE sql AS
  'MERGE INTO doc USING (VALUES (which)) s (id) ON doc.id = s.id
    WHEN MATCHED THEN UPDATE SET tenant = 1';
\set SHOW_CONTEXT never
SELECT moves(3);
-- a row trigger might move rows
CREATE FUNCTION may_move() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER may BEFORE UPDATE ON doc_1 FOR EACH ROW EXECUTE FUNCTION may_move();
MERGE INTO doc USING (VALUES (6)) s (id) ON doc.id = s.id WHEN MATCHED THEN UPDATE SET fp = NULL;
DROP FUNCTION may_move CASCADE;
-- without these triggers it may
BEGIN;
ALTER TABLE doc DISABLE TRIGGER USER;
SELECT moves(3);
ROLLBACK;

-- partitions of partitions, with their columns in another order
CREATE TABLE deep (id int NOT NULL, fp fingerprint64, story int, region int, town int)
  PARTITION BY LIST (region);
CREATE TABLE deep_1 (town int, region int, story int, fp fingerprint64, id int NOT NULL)
  PARTITION BY LIST (town);
CREATE TABLE deep_1_1 PARTITION OF deep_1 FOR VALUES IN (1);
CREATE TABLE deep_1_2 PARTITION OF deep_1 FOR VALUES IN (2);
ALTER TABLE deep ATTACH PARTITION deep_1 FOR VALUES IN (1);
CREATE INDEX ON deep USING simhash (fp);
CREATE INDEX ON deep (story);
CREATE INDEX ON deep (id);
SELECT simhash_cluster_create('deep', 'fp=fp', 'key=id', 'cluster=story', 'distance=3');
INSERT INTO deep VALUES (1, '0000000000000000', NULL, 1, 1), (2, '0000000000000001', NULL, 1, 1);
MERGE INTO deep USING (VALUES (1)) s (id) ON deep.id = s.id
  WHEN MATCHED THEN UPDATE SET town = 2;
UPDATE deep SET town = 2 WHERE id = 1;
SELECT id, story, tableoid::regclass FROM deep ORDER BY id;

\set VERBOSITY terse
DROP SCHEMA merges CASCADE;
