-- Groups: MERGE moves rows to another partition. PostgreSQL has such rows in the transition tables
-- of DELETE and INSERT, whose triggers it fires only if the MERGE has these actions. Fingerprints
-- are written out, so that distances can be counted by eye. PostgreSQL 14 has no MERGE: its output
-- is groups_merge_1.out.
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
-- Other people's triggers fire as they do without ours.
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE NOTICE '% of % rows', TG_OP, (SELECT count(*) FROM was_or_is);
  RETURN NULL;
END $$;
CREATE TRIGGER told_insert AFTER INSERT ON doc REFERENCING NEW TABLE AS was_or_is
  EXECUTE FUNCTION told();
CREATE TRIGGER told_delete AFTER DELETE ON doc REFERENCING OLD TABLE AS was_or_is
  EXECUTE FUNCTION told();

-- UPDATE alone
BEGIN;
MERGE INTO doc USING (VALUES (1), (4)) s (id) ON doc.id = s.id
  WHEN MATCHED THEN UPDATE SET tenant = 2;
TABLE groups;
ROLLBACK;
-- UPDATE or INSERT
BEGIN;
MERGE INTO doc USING (VALUES (1), (4), (7)) s (id) ON doc.id = s.id
  WHEN MATCHED THEN UPDATE SET tenant = 2
  WHEN NOT MATCHED THEN INSERT VALUES (s.id, '7070707070707071', 1);
TABLE groups;
ROLLBACK;
-- UPDATE or DELETE
BEGIN;
MERGE INTO doc USING (VALUES (1), (4), (6)) s (id) ON doc.id = s.id
  WHEN MATCHED AND s.id = 6 THEN DELETE
  WHEN MATCHED THEN UPDATE SET tenant = 2;
TABLE groups;
ROLLBACK;
-- by a fingerprint that changes with the partition; in a function, and again
BEGIN;
CREATE FUNCTION moves(which int, into_tenant int, becomes fingerprint64) RETURNS void LANGUAGE sql
  AS 'MERGE INTO doc USING (VALUES (which)) s (id) ON doc.id = s.id
    WHEN MATCHED THEN UPDATE SET tenant = into_tenant, fp = becomes';
SELECT moves(6, 2, '0000ffff00000003');
TABLE groups;
SELECT moves(5, 1, '0000ffff00000001');
TABLE groups;
ROLLBACK;
-- rows that stay, and an id that is set in one that moves
BEGIN;
MERGE INTO doc USING (VALUES (2, 1), (6, 2)) s (id, tenant) ON doc.id = s.id
  WHEN MATCHED THEN UPDATE SET tenant = s.tenant, fp = '0f0f0f0f0f0f0f0f', story = 3;
TABLE groups;
ROLLBACK;
-- beside another part, which fires the triggers of INSERT
BEGIN;
WITH part AS (INSERT INTO doc VALUES (7, '7070707070707071', 1))
  MERGE INTO doc USING (VALUES (1), (4)) s (id) ON doc.id = s.id
  WHEN MATCHED THEN UPDATE SET tenant = 2;
TABLE groups;
ROLLBACK;
-- inside a trigger of an INSERT: given ids count as before
CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  MERGE INTO doc USING (VALUES (1), (4)) s (id) ON doc.id = s.id
    WHEN MATCHED THEN UPDATE SET tenant = 2;
  RETURN NULL;
END $$;
CREATE TRIGGER moves AFTER INSERT ON doc FOR EACH ROW WHEN (NEW.id = 8) EXECUTE FUNCTION moves();
BEGIN;
INSERT INTO doc VALUES (8, '0000ffff00000003', 2, 3), (9, '7070707070707071', 1, 1);
TABLE groups;
ROLLBACK;
-- with triggers disabled
BEGIN;
ALTER TABLE doc DISABLE TRIGGER USER;
MERGE INTO doc USING (VALUES (1), (4)) s (id) ON doc.id = s.id
  WHEN MATCHED THEN UPDATE SET tenant = 2;
TABLE groups;
ROLLBACK;

DROP TABLE doc CASCADE;
DROP FUNCTION told, moves;

-- What groups are called if one row moves: as after an UPDATE that moves it.
-- Rows 2, 3, 4 are a group of region 1, and 8, 9 one of region 2, which 2 comes to.
CREATE TABLE named (id int NOT NULL, fp fingerprint64, region int, story int)
  PARTITION BY LIST (region);
CREATE TABLE named_1 PARTITION OF named FOR VALUES IN (1);
CREATE TABLE named_2 PARTITION OF named FOR VALUES IN (2);
CREATE INDEX ON named USING simhash (fp);
CREATE INDEX ON named (story);
CREATE INDEX ON named (id);
CREATE VIEW groups AS
  SELECT story, array_agg(id ORDER BY id) AS ids FROM named GROUP BY story ORDER BY story;
SELECT simhash_cluster_create('named', 'fp=fp', 'key=id', 'cluster=story', 'distance=3',
  'scope=region');
INSERT INTO named VALUES (2, '0000000000000000', 1), (3, '0000000000000001', 1),
  (4, '0000000000000003', 1), (8, '0000000000000001', 2), (9, '0000000000000003', 2);
TABLE groups;
BEGIN;
UPDATE named SET region = 2 WHERE id = 2;
TABLE groups;
ROLLBACK;
BEGIN;
MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED THEN UPDATE SET region = 2;
TABLE groups;
ROLLBACK;
BEGIN;
MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED AND s.id > 2 THEN DELETE
  WHEN MATCHED THEN UPDATE SET region = 2;
TABLE groups;
ROLLBACK;
BEGIN;
MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED AND s.id > 2 THEN DELETE
  WHEN MATCHED THEN UPDATE SET region = 2
  WHEN NOT MATCHED THEN INSERT VALUES (s.id, '0000000000000000', 1);
TABLE groups;
ROLLBACK;
-- One that another part of the statement deletes; a trigger moves another one meanwhile.
BEGIN;
CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  MERGE INTO named USING (VALUES (3)) s (id) ON named.id = s.id
    WHEN MATCHED AND s.id > 3 THEN DELETE
    WHEN MATCHED THEN UPDATE SET region = 2;
  RETURN NULL;
END $$;
CREATE TRIGGER moves AFTER DELETE ON named FOR EACH ROW WHEN (OLD.id = 9)
  EXECUTE FUNCTION moves();
WITH part AS (DELETE FROM named WHERE id = 9)
  MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED THEN UPDATE SET region = 2;
TABLE groups;
ROLLBACK;
DROP VIEW groups;
-- An id that is set in a row that moves: groups are called what they were. They have no scope here,
-- and 7, by which the second one is called, has gone.
DROP TABLE named;
CREATE TABLE named (id int NOT NULL, fp fingerprint64, region int, story int)
  PARTITION BY LIST (region);
CREATE TABLE named_1 PARTITION OF named FOR VALUES IN (1);
CREATE TABLE named_2 PARTITION OF named FOR VALUES IN (2);
CREATE INDEX ON named USING simhash (fp);
CREATE INDEX ON named (story);
CREATE INDEX ON named (id);
CREATE VIEW groups AS
  SELECT story, array_agg(id ORDER BY id) AS ids FROM named GROUP BY story ORDER BY story;
SELECT simhash_cluster_create('named', 'fp=fp', 'key=id', 'cluster=story', 'distance=3');
INSERT INTO named VALUES (2, '0000000000000000', 1), (3, '0000000000000001', 1),
  (7, '000000ffffffffff', 1), (8, '000001ffffffffff', 1), (9, '000003ffffffffff', 1);
DELETE FROM named WHERE id = 7;
TABLE groups;
BEGIN;
MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED THEN UPDATE SET region = 2, story = 7;
TABLE groups;
ROLLBACK;
BEGIN;
MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED AND s.id > 2 THEN DELETE
  WHEN MATCHED THEN UPDATE SET region = 2, story = 7;
TABLE groups;
ROLLBACK;
BEGIN;
MERGE INTO named USING (VALUES (2)) s (id) ON named.id = s.id
  WHEN MATCHED AND s.id > 2 THEN DELETE
  WHEN MATCHED THEN UPDATE SET region = 2, story = 0;
TABLE groups;
ROLLBACK;
DROP TABLE named CASCADE;
DROP SCHEMA merges;
