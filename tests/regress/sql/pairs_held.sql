-- A query that takes pairs one by one has its tables and indexes in use, as a scan does. DDL of its
-- own session is refused until it ends.
CREATE TABLE held (id int, fp fingerprint64);
INSERT INTO held SELECT i, (hashint8extended(i / 20, 1) # (1::bigint << i % 20))::fingerprint64
FROM generate_series(0, 19999) i;
CREATE INDEX held_fp ON held USING simhash (fp);
-- Of each 20 rows every two are within 2 bits.
SELECT 1000 * 20 * 19 / 2 AS pairs;
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('held_fp', 2);
MOVE 10 FROM c;
SAVEPOINT s;
TRUNCATE held;
ROLLBACK TO s;
ALTER TABLE held ALTER id TYPE bigint;
ROLLBACK TO s;
DROP INDEX held_fp;
ROLLBACK TO s;
DROP TABLE held;
ROLLBACK TO s;
REINDEX INDEX held_fp;
ROLLBACK TO s;
-- Writes go on. Pairs are those of the cursor's snapshot.
DELETE FROM held WHERE id < 10000;
DO $$
DECLARE c refcursor := 'c'; left_over bigint;
BEGIN
  MOVE FORWARD ALL FROM c;
  GET DIAGNOSTICS left_over = ROW_COUNT;
  RAISE NOTICE '% pairs follow', left_over;
END $$;
-- All pairs were returned.
TRUNCATE held;
ROLLBACK;

-- A cursor that is closed, a LIMIT, and a cursor that an error ended let go.
CREATE SEQUENCE turn;
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('held_fp', 2);
MOVE 10 FROM c;
CLOSE c;
SELECT count(*) FROM (SELECT simhash_pairs('held_fp', 2) LIMIT 10) p;
ALTER TABLE held ALTER id TYPE bigint;
DECLARE c CURSOR FOR SELECT 1 / (15 - nextval('turn')), simhash_pairs('held_fp', 2);
MOVE 10 FROM c;
SAVEPOINT s;
MOVE 10 FROM c;
ROLLBACK TO s;
TRUNCATE held;
ROLLBACK;

-- In FROM all pairs are there before the first one is used. Two indexes, and texts.
DO $$
BEGIN
  FOR i IN 1..2 LOOP
    PERFORM FROM simhash_pairs('held_fp', 2) LIMIT 5;
    ALTER TABLE held ALTER id TYPE bigint;
  END LOOP;
END $$;
CREATE TABLE other AS SELECT * FROM held WHERE id < 100;
CREATE INDEX other_fp ON other USING simhash (fp);
BEGIN;
DECLARE c CURSOR FOR SELECT simhash_pairs('held_fp', 'other_fp', 2);
MOVE 10 FROM c;
SAVEPOINT s;
TRUNCATE other;
ROLLBACK TO s;
DROP INDEX held_fp;
ROLLBACK TO s;
-- Each of 100 rows with the 20 that are near it.
DO $$
DECLARE c refcursor := 'c'; left_over bigint;
BEGIN
  MOVE FORWARD ALL FROM c;
  GET DIAGNOSTICS left_over = ROW_COUNT;
  RAISE NOTICE '% pairs follow', left_over;
END $$;
TRUNCATE held, other;
ROLLBACK;
DROP TABLE held, other;
DROP SEQUENCE turn;
