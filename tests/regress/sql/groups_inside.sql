-- Groups: a user's triggers write to the table while the rows of a group are told their id, or
-- while a row is on its way to another partition. Afterwards two rows have one id if and only if a
-- chain of near ones connects them. Fingerprints are written out, so that distances can be counted
-- by eye.
\set SHOW_CONTEXT never
\pset null -
SELECT 'inside, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA inside;
SET search_path = :path;

-- Groups 1 and 7, and rows alone: 20, 50.
CREATE TABLE doc (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON doc USING simhash (fp);
CREATE INDEX ON doc (story);
CREATE FUNCTION start(settle text DEFAULT 'now') RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
  DROP TRIGGER IF EXISTS simhash_story_before ON doc;
  DROP TRIGGER IF EXISTS simhash_story_id ON doc;
  DROP TRIGGER IF EXISTS simhash_story_insert ON doc;
  DROP TRIGGER IF EXISTS simhash_story_update ON doc;
  DROP TRIGGER IF EXISTS simhash_story_delete ON doc;
  DELETE FROM doc;
  INSERT INTO doc VALUES (1, '0000000000000000', 1), (2, '0000000000000001', 1),
    (7, '00000000000000ff', 7), (8, '00000000000001ff', 7), (20, '0f0f0f0f00000000', NULL),
    (50, '7070707070707070', NULL);
  RETURN simhash_cluster_create('doc', 'fp=fp', 'cluster=story', 'distance=3', 'settle=' || settle);
END $$;
SET client_min_messages = warning;

-- An upsert brings a row, 30, and moves 20 beside it. When 31 is told, a trigger connects 7 with 1.
CREATE FUNCTION connect() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.id = 31 AND NEW.story IS NOT NULL AND NOT EXISTS (SELECT FROM doc WHERE id = 51) THEN
    UPDATE doc SET fp = '000000000000001f' WHERE id = 50;
    INSERT INTO doc VALUES (51, '0000000000000007');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER connect AFTER UPDATE OF story ON doc FOR EACH ROW EXECUTE FUNCTION connect();
SELECT start();
INSERT INTO doc VALUES (20, '00000000aaaaaaaa', NULL), (30, '00000000aaaaaaab', NULL),
  (31, '00000000aaaadaab', NULL) ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
TABLE doc ORDER BY id;
-- to be settled later: near rows have one id at once
SELECT start('later');
INSERT INTO doc VALUES (20, '00000000aaaaaaaa', NULL), (30, '00000000aaaaaaab', NULL),
  (31, '00000000aaaadaab', NULL) ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
TABLE doc ORDER BY id;
DROP FUNCTION connect CASCADE;

-- Before 7 and 8 are told the id 1, a row would join them: refused.
CREATE FUNCTION join_before() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT EXISTS (SELECT FROM doc WHERE id = 100) THEN
    INSERT INTO doc VALUES (100, '0000000000000fff');
  END IF;
  RETURN coalesce(NEW, OLD);
END $$;
SELECT start();
CREATE TRIGGER a BEFORE UPDATE OF story ON doc FOR EACH STATEMENT EXECUTE FUNCTION join_before();
INSERT INTO doc VALUES (51, '0000000000000007'), (52, '000000000000001f');
TABLE doc ORDER BY id;
-- between two of the rows
DROP TRIGGER a ON doc;
SELECT start('later');
CREATE TRIGGER a BEFORE UPDATE OF story ON doc FOR EACH ROW WHEN (OLD.id = 8)
  EXECUTE FUNCTION join_before();
INSERT INTO doc VALUES (51, '0000000000000007'), (52, '000000000000001f');
TABLE doc ORDER BY id;
-- while all groups are found anew
DROP TRIGGER a ON doc;
ALTER TABLE doc DISABLE TRIGGER USER;
DELETE FROM doc WHERE id = 100;
UPDATE doc SET story = 7 WHERE id IN (7, 8);
ALTER TABLE doc ENABLE TRIGGER USER;
CREATE TRIGGER a BEFORE UPDATE OF story ON doc FOR EACH STATEMENT EXECUTE FUNCTION join_before();
SELECT simhash_cluster_settle('doc', full => true);
TABLE doc ORDER BY id;
-- A row without a fingerprint that a trigger adds concerns no group: what is to be settled later
-- stays marked.
DROP FUNCTION join_before CASCADE;
SELECT start('later');
INSERT INTO doc VALUES (10, '0000000000000fff');
DELETE FROM doc WHERE id = 8;
CREATE FUNCTION adds_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO doc (id) VALUES (40);
  RETURN NEW;
END $$;
CREATE TRIGGER adds BEFORE UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION adds_one();
INSERT INTO doc VALUES (9, '00000000000000ff');
SELECT * FROM doc WHERE id IN (7, 9, 10, 40) ORDER BY id;
SELECT * FROM simhash_unsettled WHERE relation = 'doc'::regclass;
DROP FUNCTION adds_one CASCADE;
SELECT simhash_cluster_settle('doc');
TABLE doc ORDER BY id;
DROP TABLE doc;

-- A table partitioned by the ids: a row that is told another one moves.
CREATE TABLE moving (id int NOT NULL, fp fingerprint64, story int) PARTITION BY LIST (story);
CREATE TABLE moving_7 PARTITION OF moving FOR VALUES IN (7);
CREATE TABLE moving_others PARTITION OF moving DEFAULT;
CREATE INDEX ON moving USING simhash (fp);
CREATE INDEX ON moving (story);
CREATE INDEX ON moving (id);
SELECT simhash_cluster_create('moving', 'fp=fp', 'key=id', 'cluster=story', 'distance=3');
INSERT INTO moving VALUES (1, '0000000000000000'), (2, '0000000000000001'),
  (7, '00000000000000ff'), (8, '00000000000001ff');
CREATE FUNCTION join_moving() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT EXISTS (SELECT FROM moving WHERE id = 100) THEN
    INSERT INTO moving VALUES (100, '0000000000000fff');
  END IF;
  RETURN OLD;
END $$;
CREATE FUNCTION join_near() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO moving SELECT 100, NEW.fp WHERE NOT EXISTS (SELECT FROM moving WHERE id = 100);
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE DELETE ON moving FOR EACH ROW EXECUTE FUNCTION join_moving();
INSERT INTO moving VALUES (51, '0000000000000007'), (52, '000000000000001f');
TABLE moving ORDER BY id;
-- a row that is told that it is in no group, and one that comes beside it while it moves
DROP TRIGGER a ON moving;
DELETE FROM moving;
INSERT INTO moving VALUES (7, '00000000000000ff'), (8, '00000000000001ff');
CREATE TRIGGER a BEFORE INSERT ON moving FOR EACH ROW WHEN (NEW.id = 7)
  EXECUTE FUNCTION join_near();
DELETE FROM moving WHERE id = 8;
TABLE moving ORDER BY id;
DROP TABLE moving;

-- A row on its way to another partition is in none: whoever looks then misses it.
CREATE TABLE away (id int NOT NULL, fp fingerprint64, region int, story int)
  PARTITION BY LIST (region);
CREATE TABLE away_1 PARTITION OF away FOR VALUES IN (1);
CREATE TABLE away_2 PARTITION OF away FOR VALUES IN (2);
CREATE INDEX ON away USING simhash (fp);
CREATE INDEX ON away (story);
CREATE INDEX ON away (id);
SELECT simhash_cluster_create('away', 'fp=fp', 'key=id', 'cluster=story', 'distance=3');
INSERT INTO away VALUES (5, '0000000000000000', 1), (6, '0000000000000001', 1),
  (7, '0000000000000003', 1);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM away WHERE id = 7;
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON away FOR EACH ROW EXECUTE FUNCTION look();
UPDATE away SET region = 2 WHERE id = 5;
TABLE away ORDER BY id;
-- and of two rows the other one
DELETE FROM away;
ALTER TABLE away DISABLE TRIGGER a;
INSERT INTO away VALUES (5, '0000000000000000', 1), (7, '0000000000000003', 1);
ALTER TABLE away ENABLE TRIGGER a;
UPDATE away SET region = 2 WHERE id = 5;
TABLE away ORDER BY id;

-- A function that the statement calls looks, too, and a statement of its fails after that.
CREATE FUNCTION fails(update boolean) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
  IF update THEN
    UPDATE away SET region = region WHERE id = 6;
    UPDATE away SET region = 1 / (id - id) WHERE id = 6;
  ELSE
    INSERT INTO away VALUES (32, '00000000aaaaaaab', 1);
    INSERT INTO away VALUES (33, '00000000aaaaaaab', 1 / (random() * 0)::int);
  END IF;
  RETURN true;
EXCEPTION WHEN division_by_zero THEN
  RETURN false;
END $$;
CREATE FUNCTION calls(update boolean) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
  IF update THEN
    UPDATE away SET region = region WHERE id = 6;
  ELSE
    INSERT INTO away VALUES (32, '00000000aaaaaaab', 1);
  END IF;
  RETURN fails(update);
END $$;
DELETE FROM away;
ALTER TABLE away DISABLE TRIGGER a;
INSERT INTO away VALUES (5, '0000000000000000', 1), (6, '0000000000000001', 1),
  (7, '0000000000000003', 1);
INSERT INTO away VALUES (30, '00000000aaaaaaaa', 1) RETURNING calls(false);
TABLE away ORDER BY id;
ALTER TABLE away ENABLE TRIGGER a;
UPDATE away SET region = 2 WHERE id = 5 RETURNING calls(true);
TABLE away ORDER BY id;

-- Groups whose first row is gone keep their ids when a foreign key's cascade, or an update while
-- another table's groups are found, changes what decides nothing.
CREATE TABLE author (id int PRIMARY KEY);
CREATE TABLE kept (id int NOT NULL, fp fingerprint64,
  author int REFERENCES author ON UPDATE CASCADE, story int) PARTITION BY LIST (author);
CREATE TABLE kept_all PARTITION OF kept DEFAULT;
CREATE INDEX ON kept USING simhash (fp);
CREATE INDEX ON kept (story);
CREATE INDEX ON kept (id);
SELECT simhash_cluster_create('kept', 'fp=fp', 'key=id', 'cluster=story', 'distance=3');
INSERT INTO author VALUES (1);
INSERT INTO kept VALUES (3, '0000000000000000', 1), (5, '0000000000000001', 1),
  (6, '0000000000000003', 1);
DELETE FROM kept WHERE id = 3;
UPDATE author SET id = 2;
TABLE kept ORDER BY id;
CREATE TABLE others (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON others USING simhash (fp);
CREATE INDEX ON others (story);
SELECT simhash_cluster_create('others', 'fp=fp', 'cluster=story', 'distance=3');
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO others VALUES (NEW.id, NEW.fp);
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION note();
UPDATE kept SET author = 2;
TABLE kept ORDER BY id;

-- A row's trigger settles marked groups while the row is in neither of two partitions.
CREATE TABLE later (id int NOT NULL, fp fingerprint64, region int, seen int DEFAULT 0, story int)
  PARTITION BY LIST (region);
CREATE TABLE later_1 PARTITION OF later FOR VALUES IN (1);
CREATE TABLE later_2 PARTITION OF later FOR VALUES IN (2);
CREATE INDEX ON later USING simhash (fp);
CREATE INDEX ON later (story);
CREATE INDEX ON later (id);
SELECT simhash_cluster_create('later', 'fp=fp', 'key=id', 'cluster=story', 'distance=3',
  'settle=later');
INSERT INTO later VALUES (5, '0000000000000000', 1), (6, '0000000000000001', 1),
  (7, '0000000000000003', 1);
DELETE FROM later WHERE id = 7;
SELECT * FROM simhash_unsettled WHERE relation = 'later'::regclass;
CREATE FUNCTION settles() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM simhash_cluster_settle('later');
  RETURN NEW;
END $$;
CREATE TRIGGER settles BEFORE INSERT ON later FOR EACH ROW EXECUTE FUNCTION settles();
UPDATE later SET region = 2 WHERE id = 5;
SELECT simhash_cluster_settle('later');
TABLE later ORDER BY id;
DROP FUNCTION settles CASCADE;

-- A row without a fingerprint that a trigger adds concerns no group: none is marked, though rows
-- might have moved.
CREATE FUNCTION adds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO later (id, region) VALUES (40, 2);
  RETURN NULL;
END $$;
CREATE TRIGGER adds AFTER UPDATE ON later FOR EACH STATEMENT EXECUTE FUNCTION adds();
UPDATE later SET region = region WHERE id < 10;
SELECT * FROM simhash_unsettled WHERE relation = 'later'::regclass;
DROP FUNCTION adds CASCADE;

-- Of a statement with two parts that update, the triggers know the columns of one.
CREATE FUNCTION brings() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO later (id, fp, region) VALUES (10, '0000000000000001', 1);
  RETURN NEW;
END $$;
CREATE TRIGGER brings BEFORE INSERT ON later_2 FOR EACH ROW EXECUTE FUNCTION brings();
DELETE FROM later;
INSERT INTO later (id, fp, region) VALUES (1, '0000000000000000', 1), (2, '7070707070707070', 1);
WITH part AS (UPDATE later SET seen = 1 WHERE id = 2) UPDATE later SET region = 2 WHERE id = 1;
SELECT simhash_cluster_settle('later');
TABLE later ORDER BY id;
DROP FUNCTION brings CASCADE;

-- A row's trigger finds all groups anew, and there are none while the row is away.
DELETE FROM later;
SELECT simhash_cluster_settle('later');
INSERT INTO later (id, fp, region) VALUES (1, '0000000000000000', 1), (2, '0000000000000001', 1);
CREATE FUNCTION settles() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM simhash_cluster_settle('later', full => true);
  RETURN NEW;
END $$;
CREATE TRIGGER settles BEFORE INSERT ON later FOR EACH ROW EXECUTE FUNCTION settles();
UPDATE later SET region = 2 WHERE id = 1;
SELECT simhash_cluster_settle('later');
TABLE later ORDER BY id;
DROP SCHEMA inside CASCADE;
