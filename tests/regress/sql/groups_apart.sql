-- Groups that come apart, or must not meet, where values or commands are not what they look like.
\pset null NULL
SET client_min_messages = warning;

-- Scopes that are equal and differ in bytes. 3 and 4 hold two pairs together, and go.
CREATE TABLE t (id bigint PRIMARY KEY, fp fingerprint64, tenant numeric, story bigint);
CREATE INDEX ON t USING simhash (fp);
CREATE INDEX ON t (story);
SELECT simhash_cluster_create('t', 'fp=fp', 'cluster=story', 'distance=3', 'scope=tenant');
INSERT INTO t VALUES (1, '0000000000000000', 1.0), (2, '0000000000000000', 1),
  (3, '0000000000000007', 1.0), (4, '000000000000003f', 1.00),
  (5, '00000000000001ff', 1.0), (6, '00000000000001ff', 1.0), (7, '0000000000000000', 2);
SELECT id, story FROM t ORDER BY id;
DELETE FROM t WHERE id IN (3, 4);
SELECT id, story FROM t ORDER BY id;
DROP TABLE t;

-- A row whose deletion was rolled back, after many others: the system column cmin is no command
-- then. 3 leaves 1 and 2, and is near 10 and the row that the trigger brings.
CREATE TABLE t (id bigint PRIMARY KEY, fp fingerprint64, story bigint);
CREATE INDEX ON t USING simhash (fp);
CREATE INDEX ON t (story);
SELECT simhash_cluster_create('t', 'fp=fp', 'cluster=story', 'distance=3');
CREATE FUNCTION brings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    BEGIN
      DELETE FROM t WHERE id = new.id;
      RAISE 'undo';
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
    INSERT INTO t (id, fp) VALUES (20, 'ffffffff00000000');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER aa AFTER UPDATE OF fp ON t FOR EACH ROW EXECUTE FUNCTION brings();
INSERT INTO t VALUES (1, '0000000000000000'), (2, '0000000000000000'), (3, '0000000000000000'),
  (10, 'ffffffff00000000');
CREATE TABLE many (i int);
BEGIN;
DO $$ BEGIN FOR i IN 1..300 LOOP INSERT INTO many VALUES (i); END LOOP; END $$;
SAVEPOINT s; DELETE FROM many; ROLLBACK TO s;
SAVEPOINT s; DELETE FROM many; ROLLBACK TO s;
UPDATE t SET fp = 'ffffffff00000000' WHERE id = 3;
COMMIT;
SELECT id, story FROM t ORDER BY id;

DROP TRIGGER aa ON t;
-- An upsert has two parts, of which one brings no row here: a group of many keeps its id at once,
-- and one that it divides comes apart.
INSERT INTO t SELECT 1000 + i, 'ffff0000ffff0000' FROM generate_series(1, 2000) i;
INSERT INTO t VALUES (1005, 'ffff0000ffff0001') ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
INSERT INTO t VALUES (1006, '0000ffff0000ffff'), (5000, '0000ffff0000ffff'),
  (5001, 'ffff0000ffff0000') ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
SELECT story, count(*), min(id), max(id) FROM t GROUP BY story ORDER BY story;
DROP TABLE t, many;
DROP FUNCTION brings;
