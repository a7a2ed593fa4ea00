-- The trigger simhash_dedup in families whose tables differ: keys of different types, different
-- owners and rights, tables with several parents, keys whose equality is not that of their bytes.
-- superuser only: it gives tables to other roles
\set SHOW_CONTEXT never
\pset null -
SET client_min_messages = warning;
CREATE SCHEMA dedup_siblings;
SELECT 'dedup_siblings, ' || current_setting('search_path') AS path \gset
SET search_path = :path;

-- keys of one name and many types below one parent: text, bigint, numeric and others, each against
-- each
CREATE TABLE news (fp fingerprint64);
CREATE TABLE by_text (id text) INHERITS (news);
CREATE TABLE by_bigint (id bigint) INHERITS (news);
CREATE TABLE by_int (more int, id int) INHERITS (news);
ALTER TABLE by_int DROP COLUMN more;
CREATE TABLE by_numeric (note text, id numeric) INHERITS (news);
CREATE TABLE by_name (fp fingerprint64, id name) INHERITS (news);
CREATE TABLE by_nothing () INHERITS (news);
CREATE INDEX ON news USING simhash (fp);
CREATE INDEX ON by_text USING simhash (fp);
CREATE INDEX ON by_bigint USING simhash (fp);
CREATE INDEX ON by_int USING simhash (fp);
CREATE INDEX ON by_numeric USING simhash (fp);
CREATE INDEX ON by_name USING simhash (fp);
CREATE INDEX ON by_nothing USING simhash (fp);
INSERT INTO by_text VALUES ('1111111111111111', repeat('long text ', 1000));
INSERT INTO by_bigint VALUES ('2222222222222222', 1234567);
INSERT INTO by_int VALUES ('3333333333333333', 7);
INSERT INTO by_numeric VALUES ('4444444444444444', 'n', 1e100);
INSERT INTO by_name VALUES ('5555555555555555', 'a name');
INSERT INTO by_nothing VALUES ('6666666666666666');
DO $$
DECLARE own text; theirs text; message text; detail text;
BEGIN
  FOREACH own IN ARRAY '{by_text,by_bigint,by_int,by_numeric,by_name}'::text[] LOOP
    EXECUTE format('CREATE TRIGGER dedup BEFORE INSERT ON %I FOR EACH ROW '
      'EXECUTE FUNCTION simhash_dedup(''fp=fp'', ''key=id'', ''action=error'')', own);
    FOREACH theirs IN ARRAY '{1,2,3,4,5,6}'::text[] LOOP
      BEGIN
        EXECUTE format('INSERT INTO %I (fp, id) VALUES (%L, ''99'')',
          own, repeat(theirs, 15) || '0');
        RAISE WARNING '% %: no error', own, theirs;
      EXCEPTION WHEN SQLSTATE '23S01' THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
        RAISE WARNING '% %: %', own, theirs, left(detail, 40);
      END;
    END LOOP;
  END LOOP;
END $$;
DROP TABLE news CASCADE;

-- links between keys of different widths, of different lengths, of domains; a link names the least
-- key among all tables
CREATE DOMAIN number AS bigint CHECK (VALUE < 1000);
CREATE TABLE news (fp fingerprint64);
CREATE TABLE main (id bigint, same_as bigint) INHERITS (news);
CREATE TABLE small (same_as text, id smallint) INHERITS (news);
CREATE TABLE numbered (id number) INHERITS (news);
CREATE TABLE worded (id text) INHERITS (news);
CREATE INDEX ON news USING simhash (fp);
CREATE INDEX ON main USING simhash (fp);
CREATE INDEX ON small USING simhash (fp);
CREATE INDEX ON numbered USING simhash (fp);
CREATE INDEX ON worded USING simhash (fp);
INSERT INTO small VALUES ('1111111111111111', NULL, -5), ('2222222222222222', NULL, 30000);
INSERT INTO numbered VALUES ('1111111111111111', -7), ('2222222222222222', 999);
INSERT INTO worded VALUES ('1111111111111111', 'aa'), ('3333333333333333', 'bb');
CREATE TRIGGER dedup BEFORE INSERT ON main
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'action=link', 'link=same_as');
INSERT INTO main VALUES ('1111111111111110', 1), ('2222222222222220', 2),
  ('3333333333333330', 3), ('3333333333333331', 4) RETURNING id, same_as;
DELETE FROM numbered;
INSERT INTO main VALUES ('1111111111111110', 5), ('2222222222222222', 6) RETURNING id, same_as;
-- a key whose type, place or name changes while the trigger exists
ALTER TABLE small ALTER id TYPE text;
INSERT INTO main VALUES ('1111111111111111', 7) RETURNING id, same_as;
ALTER TABLE small DROP id, ADD more text, ADD id int;
UPDATE small SET id = -9, more = 'x';
INSERT INTO main VALUES ('1111111111111111', 8) RETURNING id, same_as;
ALTER TABLE small RENAME id TO key;
INSERT INTO main VALUES ('1111111111111111', 9) RETURNING id, same_as;
DROP TABLE news CASCADE;
-- a key that is too long for the link column is not written
CREATE TABLE news (fp fingerprint64);
CREATE TABLE short (id varchar(3), same_as varchar(3)) INHERITS (news);
CREATE TABLE long (id varchar(10)) INHERITS (news);
CREATE INDEX ON news USING simhash (fp);
CREATE INDEX ON short USING simhash (fp);
CREATE INDEX ON long USING simhash (fp);
INSERT INTO long VALUES ('1111111111111111', 'longer');
CREATE TRIGGER dedup BEFORE INSERT ON short
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'action=link', 'link=same_as');
INSERT INTO short VALUES ('1111111111111110', 'abc'), ('1111111111111100', 'def')
  RETURNING id, same_as;
DROP TABLE news CASCADE;

-- the DETAIL shows the duplicate's key to roles that may read it, in its table or in one above
CREATE ROLE dedup_reader;
CREATE TABLE news (fp fingerprint64);
CREATE TABLE own (id text) INHERITS (news);
CREATE TABLE other (id text) INHERITS (news);
CREATE INDEX ON news USING simhash (fp);
CREATE INDEX ON own USING simhash (fp);
CREATE INDEX ON other USING simhash (fp);
INSERT INTO other VALUES ('0000000000000000', 'secret');
INSERT INTO own VALUES ('ff00000000000000', 'known');
CREATE TRIGGER dedup BEFORE INSERT ON own
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'action=error');
GRANT USAGE ON SCHEMA dedup_siblings TO dedup_reader;
GRANT SELECT ON news, own TO dedup_reader;
GRANT INSERT ON own TO dedup_reader;
SET ROLE dedup_reader;
INSERT INTO own VALUES ('0000000000000001', 'x');           -- the parent has no key column
INSERT INTO own VALUES ('ff00000000000001', 'x');
RESET ROLE;
GRANT SELECT (fp) ON other TO dedup_reader;
SET ROLE dedup_reader;
INSERT INTO own VALUES ('0000000000000001', 'x');
RESET ROLE;
GRANT SELECT (id) ON other TO dedup_reader;
SET ROLE dedup_reader;
INSERT INTO own VALUES ('0000000000000001', 'x');
RESET ROLE;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
SET ROLE dedup_reader;
SELECT count(*) FROM other;
INSERT INTO own VALUES ('0000000000000001', 'x');           -- the child's policies hide it
RESET ROLE;
CREATE TABLE parted (id int, fp fingerprint64) PARTITION BY LIST (id);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted2 PARTITION OF parted FOR VALUES IN (2);
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT ON parted
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'action=error');
INSERT INTO parted VALUES (1, '0000000000000000');
GRANT INSERT, SELECT ON parted TO dedup_reader;
SET ROLE dedup_reader;
-- the key is read through the parent, where the partition's own rights do not count
INSERT INTO parted VALUES (2, '0000000000000001');
RESET ROLE;
ALTER TABLE parted1 ENABLE ROW LEVEL SECURITY;
SET ROLE dedup_reader;
INSERT INTO parted VALUES (2, '0000000000000001');
RESET ROLE;
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_in ON parted FOR INSERT WITH CHECK (true);
SET ROLE dedup_reader;
INSERT INTO parted VALUES (2, '0000000000000001');
RESET ROLE;
ALTER TABLE parted1 DISABLE ROW LEVEL SECURITY;
GRANT SELECT ON parted1 TO dedup_reader;
SET ROLE dedup_reader;
INSERT INTO parted VALUES (2, '0000000000000001');          -- the partition itself may be read
RESET ROLE;

-- links are set with the rights of the table's owner, whoever inserts: to keys that the owner may
-- read
CREATE ROLE dedup_owner;
ALTER TABLE own ADD same_as text;
DROP TRIGGER dedup ON own;
CREATE TRIGGER dedup BEFORE INSERT ON own
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'action=link', 'link=same_as');
REVOKE SELECT ON news, own, other FROM dedup_reader;
REVOKE SELECT (id) ON other FROM dedup_reader;
SET ROLE dedup_reader;
INSERT INTO own VALUES ('0000000000000001', 'by the reader');
RESET ROLE;
SELECT id, same_as FROM own WHERE id LIKE 'by%';
DELETE FROM own WHERE id LIKE 'by%';
ALTER TABLE own OWNER TO dedup_owner;
INSERT INTO own VALUES ('0000000000000001', 'by a superuser') RETURNING id, same_as;
DELETE FROM own WHERE id LIKE 'by%';
GRANT SELECT ON other TO dedup_owner;
GRANT USAGE ON SCHEMA dedup_siblings TO dedup_owner;
INSERT INTO own VALUES ('0000000000000001', 'by a superuser') RETURNING id, same_as;
DELETE FROM own WHERE id LIKE 'by%';
ALTER TABLE other DISABLE ROW LEVEL SECURITY;
INSERT INTO own VALUES ('0000000000000001', 'by a superuser') RETURNING id, same_as;
-- a right that came by membership ends with it, also for a trigger that has fired
CREATE ROLE dedup_group;
REVOKE SELECT ON other FROM dedup_owner;
GRANT SELECT ON other TO dedup_group;
GRANT dedup_group TO dedup_owner;
DELETE FROM own WHERE id LIKE 'by%';
INSERT INTO own VALUES ('0000000000000001', 'by a superuser') RETURNING id, same_as;
REVOKE dedup_group FROM dedup_owner;
DELETE FROM own WHERE id LIKE 'by%';
INSERT INTO own VALUES ('0000000000000001', 'by a superuser') RETURNING id, same_as;
-- an owner to whom policies apply (FORCE) links within his own tables
ALTER TABLE other OWNER TO dedup_owner;
ALTER TABLE other FORCE ROW LEVEL SECURITY;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
DELETE FROM own WHERE id LIKE 'by%';
SET ROLE dedup_owner;
SELECT count(*) FROM dedup_siblings.other;
RESET ROLE;
INSERT INTO own VALUES ('0000000000000001', 'by a superuser') RETURNING id, same_as;
DROP TABLE news, parted CASCADE;

-- several parents: everything below each is searched, under the lock of each, in one order
CREATE TABLE left_top (id int, fp fingerprint64);
CREATE TABLE right_top (id int, fp fingerprint64);
CREATE TABLE right_mid () INHERITS (right_top);
CREATE TABLE common () INHERITS (right_mid, left_top);
CREATE TABLE left_only () INHERITS (left_top);
CREATE TABLE right_only () INHERITS (right_top);
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY '{left_top,right_top,right_mid,common,left_only,right_only}'::text[] LOOP
    EXECUTE format('CREATE INDEX ON %I USING simhash (fp)', t);
    EXECUTE format('CREATE TRIGGER dedup BEFORE INSERT ON %I FOR EACH ROW '
      'EXECUTE FUNCTION simhash_dedup(''fp=fp'', ''key=id'')', t);
  END LOOP;
END $$;
INSERT INTO left_only VALUES (1, '1111111111111111');
-- no relative of left_only
INSERT INTO right_only VALUES (2, '2222222222222222'), (3, '1111111111111111') RETURNING id;
INSERT INTO common VALUES (4, '1111111111111110'), (5, '2222222222222220'), (6, '3333333333333333')
  RETURNING id;
INSERT INTO left_only VALUES (7, '3333333333333330') RETURNING id;
INSERT INTO right_top VALUES (8, '3333333333333330') RETURNING id;
BEGIN;
INSERT INTO common VALUES (9, '4444444444444444');
SELECT objid::regclass FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
-- meanwhile nobody can change the inheritance
SELECT relation::regclass FROM pg_locks
  WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode = 'AccessShareLock'
    AND relation::regclass::text ~ '^(left|right|common)_?[a-z]*$'
  ORDER BY relation::regclass::text COLLATE "C";
ROLLBACK;
BEGIN;
INSERT INTO right_only VALUES (9, '4444444444444444');
SELECT objid::regclass FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
ROLLBACK;
-- a table that joins a parent or leaves it in the same transaction
INSERT INTO left_only VALUES (10, '7777777777777777');
INSERT INTO common VALUES (11, '7777777777777770') RETURNING id;
BEGIN;
ALTER TABLE common NO INHERIT left_top;
INSERT INTO common VALUES (11, '7777777777777770') RETURNING id;
SELECT objid::regclass FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
ROLLBACK;
INSERT INTO common VALUES (11, '7777777777777770') RETURNING id;
BEGIN;
CREATE TABLE late (fp fingerprint64, id int);
INSERT INTO late VALUES ('5555555555555555', 11);
ALTER TABLE late INHERIT left_top;
INSERT INTO common VALUES (12, '5555555555555555') RETURNING id;
ROLLBACK;
DROP TABLE left_top, right_top CASCADE;

-- keys are compared by the equality of their type: an upsert of an equal key updates
CREATE TABLE priced (id numeric PRIMARY KEY, fp fingerprint64, note text);
CREATE INDEX ON priced USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON priced
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO priced VALUES (1.0, '0000000000000000', 'first'), (2.5, 'ff00000000000000', 'second');
INSERT INTO priced VALUES (1.00, '0000000000000001', 'upserted')
  ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note, fp = EXCLUDED.fp RETURNING *;
-- a near-duplicate of another row
INSERT INTO priced VALUES (1.000, 'ff00000000000001', 'upserted')
  ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note RETURNING *;
INSERT INTO priced VALUES (1.000, '0000000000000001', 'x');
-- keys are compared by the equality of the unique index, not by that of the type
CREATE FUNCTION folded_cmp(text, text)
  RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT bttextcmp(lower($1), lower($2)) $$;
CREATE FUNCTION folded_lt(text, text)
  RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT lower($1) < lower($2) $$;
CREATE FUNCTION folded_eq(text, text)
  RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT lower($1) = lower($2) $$;
CREATE OPERATOR <<< (LEFTARG = text, RIGHTARG = text, FUNCTION = folded_lt);
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = folded_eq);
CREATE OPERATOR CLASS folded FOR TYPE text USING btree AS
  OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 folded_cmp(text, text);
CREATE TABLE folded (id varchar(20), fp fingerprint64, note text);
CREATE UNIQUE INDEX folded_id ON folded (id folded);
CREATE INDEX ON folded USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON folded
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id');
INSERT INTO folded VALUES ('Ada', '0000000000000000', 'first'), ('ADA', '0000000000000001', 'again')
  ON CONFLICT DO NOTHING;
INSERT INTO folded VALUES ('ADA', '0000000000000001', 'upserted')
  ON CONFLICT (id folded) DO UPDATE SET note = EXCLUDED.note RETURNING *;
DROP INDEX folded_id;
INSERT INTO folded VALUES ('Ada', '0000000000000001', 'no longer unique') RETURNING *;
-- arrays, whose equality looks up the type of their elements
CREATE TABLE listed (id numeric[] PRIMARY KEY, fp fingerprint64);
CREATE INDEX ON listed USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON listed
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO listed VALUES ('{1.0,2}', '0000000000000000'), ('{1,3}', '0000000000000001')
  RETURNING *;
INSERT INTO listed VALUES ('{1.00,2.0}', '0000000000000001')
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp RETURNING *;

DROP SCHEMA dedup_siblings CASCADE;
DROP ROLE dedup_reader, dedup_owner, dedup_group;
