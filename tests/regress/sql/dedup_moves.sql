-- The trigger simhash_dedup and rows that move to another partition. A move ends with an insertion:
-- the trigger lets that one pass, and no other insertion of a duplicate.
-- superuser only: it sets session_replication_role
\set SHOW_CONTEXT never
\pset null -
CREATE SCHEMA dedup_moves;
SET search_path = dedup_moves, public;
CREATE TABLE part (id int, part int, note text, fp fingerprint64) PARTITION BY LIST (part);
CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF part FOR VALUES IN (2);
CREATE TABLE part3 PARTITION OF part FOR VALUES IN (3);
CREATE INDEX ON part USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON part
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
CREATE FUNCTION put(numbers int[], parts int[], prints text[]) RETURNS void LANGUAGE sql AS $$
  TRUNCATE part; SET LOCAL session_replication_role = replica;
  INSERT INTO part SELECT i, p, '', f::fingerprint64
    FROM unnest(numbers, parts, prints) u (i, p, f); $$;
CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.note = 'never' THEN RETURN NULL; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER never BEFORE UPDATE ON part FOR EACH ROW EXECUTE FUNCTION never();

-- another trigger suppressed an update; then the row moves unseen by the trigger; then its copy
-- comes
SELECT put('{1}', '{1}', '{0123456789abcdef}');
UPDATE part SET note = 'never' WHERE id = 1;
BEGIN; SET LOCAL session_replication_role = replica; UPDATE part SET part = 2 WHERE id = 1; COMMIT;
INSERT INTO part VALUES (2, 3, 'copy', '0123456789abcdef') RETURNING id;
-- an update that was rolled back: with its transaction, to a savepoint, by an exception
SELECT put('{1}', '{1}', '{0123456789abcdef}');
BEGIN; UPDATE part SET note = 'b' WHERE id = 1; ROLLBACK;
BEGIN; SET LOCAL session_replication_role = replica; UPDATE part SET part = 2 WHERE id = 1; COMMIT;
INSERT INTO part VALUES (2, 3, 'copy', '0123456789abcdef') RETURNING id;
SELECT put('{1}', '{1}', '{0123456789abcdef}');
BEGIN;
SAVEPOINT a; UPDATE part SET note = 'b' WHERE id = 1; ROLLBACK TO a;
SET LOCAL session_replication_role = replica;
UPDATE part SET part = 2 WHERE id = 1;
SET LOCAL session_replication_role = origin;
INSERT INTO part VALUES (2, 3, 'copy', '0123456789abcdef') RETURNING id;
COMMIT;
SELECT put('{1}', '{1}', '{0123456789abcdef}');
DO $$
BEGIN
  BEGIN
    UPDATE part SET note = 'b' WHERE id = 1;
    RAISE EXCEPTION 'undo';
  EXCEPTION WHEN raise_exception THEN NULL;
  END;
  SET LOCAL session_replication_role = replica;
  UPDATE part SET part = 2 WHERE id = 1;
  SET LOCAL session_replication_role = origin;
  BEGIN
    INSERT INTO part VALUES (2, 3, 'copy', '0123456789abcdef');
  EXCEPTION WHEN raise_exception THEN NULL;
  END;
END $$;
SELECT id FROM part;
-- the block of the row that the trigger remembers is gone: that is no damage
SELECT put('{1}', '{1}', '{0123456789abcdef}');
UPDATE part SET note = 'never' WHERE id = 1;
TRUNCATE part;
INSERT INTO part VALUES (2, 3, 'copy', '0123456789abcdef') RETURNING id;

-- two rows that were near-duplicates before the trigger existed: a move loses neither, whatever
-- other triggers do meanwhile
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    CASE NEW.note
      WHEN 'touch' THEN UPDATE part SET note = 'touched' WHERE id = 9;
      WHEN 'move' THEN UPDATE part SET part = part % 3 + 1 WHERE id = 9;
      WHEN 'insert' THEN
        INSERT INTO part
          VALUES (100, 1, 'nested', 'ffffffff00000000'), (101, 2, 'nested', NEW.fp);
      WHEN 'exception' THEN
        BEGIN
          UPDATE part SET part = part % 3 + 1 WHERE id = 9;
          RAISE EXCEPTION 'undo';
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
      ELSE NULL;
    END CASE;
  END IF;
  RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER a BEFORE INSERT ON part FOR EACH ROW EXECUTE FUNCTION meddle();
CREATE FUNCTION move(how text)
  RETURNS TABLE (table_name regclass, id int, note text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM put('{1,2,9}', '{1,1,3}', '{0000000000000000,0000000000000001,00000000ffffffff}');
  SET LOCAL session_replication_role = origin;
  UPDATE part SET part = 2, note = how WHERE part.id = 1;
  RETURN QUERY SELECT tableoid::regclass, part.id, part.note FROM part ORDER BY 2;
END $$;
SELECT * FROM move('plain');
SELECT * FROM move('touch');
SELECT * FROM move('move');
SELECT * FROM move('exception');
-- the trigger judges what is inserted meanwhile: row 101 is near row 2
SELECT * FROM move('insert');
-- triggers of the deletion
CREATE FUNCTION meddle_before_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    UPDATE part SET part = part % 3 + 1 WHERE id = 9;
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER a_delete BEFORE DELETE ON part
  FOR EACH ROW EXECUTE FUNCTION meddle_before_deletion();
SELECT * FROM move('plain');
DROP TRIGGER a_delete ON part;
-- a subtransaction that locked the row before: its header has a multixact
SELECT put('{1,2}', '{1,1}', '{0000000000000000,0000000000000001}');
BEGIN;
SELECT id FROM part WHERE id = 1 FOR KEY SHARE;
SAVEPOINT a;
UPDATE part SET part = 2 WHERE id = 1;
COMMIT;
SELECT tableoid::regclass, id FROM part ORDER BY id;
-- several rows at once, there and back; by a cursor; with a join, by a function, by a prepared
-- statement, by a CTE
UPDATE part SET part = 3;
WITH u AS (
  UPDATE part SET part = 1 FROM (VALUES (1), (2)) v (n)
  WHERE n = id RETURNING tableoid::regclass, id)
SELECT * FROM u ORDER BY id;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM part ORDER BY id FOR UPDATE;
FETCH c;
UPDATE part SET part = 2 WHERE CURRENT OF c RETURNING tableoid::regclass, id;
COMMIT;
CREATE FUNCTION all_to(int)
  RETURNS SETOF int LANGUAGE sql AS $$ UPDATE part SET part = $1 RETURNING id $$;
SELECT all_to(3);
PREPARE all_to(int) AS UPDATE part SET part = $1 RETURNING id;
EXECUTE all_to(1);
WITH moved AS (UPDATE part SET part = 2 WHERE id = 1 RETURNING *)
INSERT INTO part SELECT id + 10, 3, 'copy', fp FROM moved RETURNING id;
WITH moved AS (UPDATE part SET part = 3 RETURNING *) SELECT (SELECT count(*) FROM moved);
SELECT tableoid::regclass, id FROM part ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA dedup_moves CASCADE;
