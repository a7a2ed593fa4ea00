-- The trigger simhash_dedup, as far as one session shows it.
-- Fingerprints are written out, so that distances can be counted by eye.
\set SHOW_CONTEXT never
\pset null -

-- The extension may be in another schema than public.
SELECT 'dedup, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA dedup;
SET search_path = :path;

-- action=skip, the default: what is within 3 of a kept row is skipped
CREATE TABLE doc (id int PRIMARY KEY, body text, fp fingerprint64);
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON doc
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'writers=one');
INSERT INTO doc (id, fp) VALUES (1, '0000000000000000');
INSERT INTO doc (id, fp) VALUES (2, '0000000000000007');             -- 3: skipped
INSERT INTO doc (id, fp) VALUES (3, '000000000000000f');             -- 4: kept
-- rows of one statement
INSERT INTO doc (id, fp)
  VALUES (4, 'ff00000000000000'), (5, 'fe00000000000000'), (6, NULL), (7, NULL) RETURNING id;
INSERT INTO doc (id, fp) SELECT 10 + i, 'ff00ff0000000000' FROM generate_series(1, 3) i
  RETURNING id;
INSERT INTO doc (id, body) VALUES (20, 'the cat sat on the mat and looked at the moon'),
  (21, 'The cat sat on the mat, and looked at the moon!'), (22, ''), (23, '...')
  RETURNING id, fp = simhash(body) AS computed;
COPY doc (id, fp) FROM stdin;
30	00ff00ff00ff00ff
31	00ff00ff00ff00fe
32	ff00000000000001
33	00ff00ffff0000ff
\.
SELECT id, fp FROM doc WHERE id >= 30 ORDER BY id;

-- a fingerprint that is given is kept; one that is missing is computed
INSERT INTO doc (id, body, fp)
  VALUES (40, 'a text whose fingerprint somebody else computed', '0123456789abcdef') RETURNING fp;

-- an update is judged only if the fingerprint changes, and never against the row itself:
-- here it is near itself and 3 bits from row 3
UPDATE doc SET fp = '0000000000000001' WHERE id = 1;
SELECT id, fp FROM doc WHERE id = 1;
UPDATE doc SET fp = '8000000000000000' WHERE id = 1;
SELECT id, fp FROM doc WHERE id = 1;
UPDATE doc SET fp = '8000000000000001' WHERE id = 1;
SELECT id, fp FROM doc WHERE id = 1;
UPDATE doc SET fp = 'c000000000000000' WHERE id = 1;
-- near row 20: not done
UPDATE doc SET body = 'the cat sat on the mat, and looked at the Moon' WHERE id = 22;
SELECT id, body, fp FROM doc WHERE id = 22;
UPDATE doc SET body = 'something else altogether: rivers, mountains, wind' WHERE id = 22;
SELECT id, fp = simhash(body) AS computed FROM doc WHERE id = 22;
-- the body decides, not the fingerprint that is given
UPDATE doc SET body = body || ' and a long tail of many other words that change it',
  fp = '1111111111111111' WHERE id = 22;
SELECT id, fp = simhash(body) AS computed FROM doc WHERE id = 22;
UPDATE doc SET id = 220 WHERE id = 22 RETURNING id;
-- an update that changes neither takes no lock, one that changes the fingerprint takes one
BEGIN;
UPDATE doc SET body = body, fp = fp, id = id;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
UPDATE doc SET fp = '8000000000000011' WHERE id = 1;
SELECT classid::regclass, objid::regclass, mode, granted FROM pg_locks WHERE locktype = 'advisory';
ROLLBACK;

-- rows written by a CTE (by MERGE: merge.sql)
WITH w AS (INSERT INTO doc (id, fp) VALUES (50, '5000000000000555') RETURNING id)
INSERT INTO doc (id, fp) SELECT id + 1, '5000000000000556' FROM w RETURNING id;
UPDATE doc SET fp = 'c000000000000f00' WHERE id = 1;
INSERT INTO doc (id, fp) VALUES (60, '6000000000006666'), (61, '6000000000006667');
SELECT id, fp FROM doc WHERE id IN (1, 50, 51, 60, 61) ORDER BY id;

-- ON CONFLICT: a row is not its own duplicate, so an upsert updates; a duplicate of another row is
-- skipped
INSERT INTO doc (id, fp) VALUES (60, '6000000000006667')
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp RETURNING id, fp;
INSERT INTO doc (id, fp) VALUES (60, '6000000000006666') ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO doc (id, fp) VALUES (60, '5000000000000554')
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp RETURNING id, fp;
-- no duplicate, but its key is taken
INSERT INTO doc (id, fp) VALUES (60, '6000000000006667');

-- savepoints: what was rolled back is gone, and so is its lock
BEGIN;
SAVEPOINT a;
INSERT INTO doc (id, fp) VALUES (70, '7070707070707070');
INSERT INTO doc (id, fp) VALUES (71, '7070707070707071');
ROLLBACK TO a;
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory';
INSERT INTO doc (id, fp) VALUES (72, '7070707070707071');
COMMIT;
SELECT id FROM doc WHERE id BETWEEN 70 AND 79;
DELETE FROM doc WHERE id = 72;
INSERT INTO doc (id, fp) VALUES (73, '7070707070707070') RETURNING id;
-- prepared transactions keep the lock
BEGIN;
INSERT INTO doc (id, fp) VALUES (74, '7474747474747474');
PREPARE TRANSACTION 'dedup';
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory';
SET lock_timeout = '50ms';
INSERT INTO doc (id, fp) VALUES (75, '7575757575757575');
RESET lock_timeout;
ROLLBACK PREPARED 'dedup';
-- every isolation level sees what its own transaction wrote
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO doc (id, fp) VALUES (76, '7676767676767676');
INSERT INTO doc (id, fp) VALUES (77, '7676767676767677');
SELECT id FROM doc WHERE id IN (76, 77);
COMMIT;

-- error
CREATE TABLE strict (id int PRIMARY KEY, fp fingerprint64);
CREATE INDEX ON strict USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON strict
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=error', 'distance=5');
INSERT INTO strict VALUES (7, '0000000000000000'), (5, '00000000000000ff'), (6, '000000000000ff00');
INSERT INTO strict VALUES (8, '000000000000001f');                   -- 5 from row 7, 3 from row 5
INSERT INTO strict VALUES (8, '000000000000003e');                   -- 5 from row 7, 3 from row 5
INSERT INTO strict VALUES (8, '000000000000000f');                   -- 4 from both
UPDATE strict SET fp = '0000000000000001' WHERE id = 5;
DO $$
DECLARE state text; detail text; schema_name text; table_name text; constraint_name text;
BEGIN
  INSERT INTO strict VALUES (8, '0000000000000001');
EXCEPTION WHEN SQLSTATE '23S01' THEN
  GET STACKED DIAGNOSTICS
    state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, schema_name = SCHEMA_NAME,
    table_name = TABLE_NAME, constraint_name = CONSTRAINT_NAME;
  RAISE NOTICE '% | % | % | % | %', state, detail, schema_name, table_name, constraint_name;
END $$;
DO $$
BEGIN
  INSERT INTO strict VALUES (8, '0000000000000001');
EXCEPTION WHEN integrity_constraint_violation THEN
  RAISE NOTICE 'class 23';
END $$;
SELECT count(*) FROM strict;

-- action=link: to the nearest row; of equally near rows, to the one with the least key
CREATE TABLE linked (id bigint PRIMARY KEY, fp fingerprint64, same_as bigint, near boolean);
CREATE INDEX ON linked USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON linked FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as', 'flag=near');
INSERT INTO linked VALUES (9, '0000000000000000'), (3, '0000000000000003'),
  (4, '0000000000000001'), (5, '0000000000000001');
-- the trigger overwrites what is given for its columns
INSERT INTO linked VALUES (6, 'ffff000000000000', 12, true);
SELECT * FROM linked ORDER BY id;
UPDATE linked SET fp = '00000000ffff0000' WHERE id = 5;
UPDATE linked SET fp = 'fffe000000000000' WHERE id = 4;
SELECT * FROM linked ORDER BY id;
-- the fingerprint does not change, so the trigger does nothing
UPDATE linked SET same_as = 1, near = NULL WHERE id = 9 RETURNING *;

-- action=flag, with the column as link= or as flag=; keys of other types; keys that are not the
-- primary key
CREATE TABLE flagged (id int PRIMARY KEY, fp fingerprint64, near boolean);
CREATE TRIGGER mark BEFORE INSERT ON flagged
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=flag', 'link=near');
CREATE INDEX ON flagged USING simhash (fp);
INSERT INTO flagged VALUES (1, '0000000000000000'), (2, '0000000000000001'), (3, NULL) RETURNING *;
CREATE TABLE named (name text, place text UNIQUE, fp fingerprint64, same_as varchar, near boolean);
CREATE TRIGGER mark BEFORE INSERT ON named
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as', 'key=name');
CREATE INDEX ON named USING simhash (fp);
INSERT INTO named VALUES ('b', 'x', '0000000000000000') RETURNING *;
DROP TABLE named;
CREATE TABLE named (name text, place text UNIQUE, fp fingerprint64, same_as text, near boolean);
CREATE TRIGGER mark BEFORE INSERT ON named FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=flag', 'flag=near', 'link=same_as', 'key=name');
CREATE INDEX ON named USING simhash (fp);
INSERT INTO named VALUES ('b', 'x', '0000000000000000'), ('a', 'y', '0000000000000000'),
  ('c', 'z', '0000000000000001'), (NULL, 'w', '0000000000000000') RETURNING *;

-- columns of other kinds: 128 bits, bigint, generated, of a domain
CREATE TABLE wide (id int PRIMARY KEY, body text, fp fingerprint128);
CREATE INDEX ON wide USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON wide
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'config={"shingle": 2}');
INSERT INTO wide (id, fp) VALUES (1, '00000000000000000000000000000000'),
  (2, '000000000000000000000000000003ff'), (3, '0000000000000000000000000000ffff')
  RETURNING id;
INSERT INTO wide (id, body) VALUES (4, 'one two three four')
  RETURNING fp = simhash128(body, '{"shingle": 2}') AS as_configured,
    fp = simhash128(body) AS by_default;
CREATE TABLE image (id int PRIMARY KEY, phash bigint);
CREATE INDEX ON image USING simhash (phash hamming_int8_ops);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON image
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=phash', 'distance=0');
INSERT INTO image VALUES (1, -1), (2, -1), (3, -2) RETURNING id;
CREATE TABLE generated (id int PRIMARY KEY, title text, body text, note text,
  fp fingerprint64 GENERATED ALWAYS AS (simhash(title || ' ' || body, '{"shingle": 2}')) STORED);
CREATE INDEX ON generated USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON generated
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'body=body');
INSERT INTO generated VALUES (1, 'Title', 'one two three four five'),
  (2, 'TITLE', 'One, two, three, four, five'), (3, 'Other', 'six seven eight nine ten')
  RETURNING id, fp IS NOT NULL AS has;
UPDATE generated SET title = 'title', body = 'One two three four five' WHERE id = 3;
UPDATE generated SET note = 'n' RETURNING id, title;
CREATE DOMAIN imprint AS fingerprint64;
CREATE TABLE of_domain (id int PRIMARY KEY, fp imprint);
CREATE INDEX ON of_domain USING simhash (fp) WHERE fp IS NOT NULL;
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON of_domain
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO of_domain VALUES (1, '0000000000000000'), (2, '0000000000000001') RETURNING id;
-- two triggers on one table
CREATE TABLE twice (id int PRIMARY KEY, a fingerprint64, b fingerprint64);
CREATE INDEX ON twice USING simhash (a);
CREATE INDEX ON twice USING simhash (b);
CREATE TRIGGER t1 BEFORE INSERT ON twice FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=a');
CREATE TRIGGER t2 BEFORE INSERT ON twice FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=b');
INSERT INTO twice VALUES (1, '0000000000000000', '0000000000000000'),
  (2, '0000000000000001', '00000000ffff0000'), (3, '00000000ffff0000', '0000000000000001'),
  (4, '00000000ffff0000', '00000000ffff0000') RETURNING id;
-- a table and a column with awkward names
CREATE TABLE "Odd ""Table" ("the key" int PRIMARY KEY, "the fp" fingerprint64);
CREATE TRIGGER "Odd trigger" BEFORE INSERT ON "Odd ""Table"
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=the fp', 'action=error');
INSERT INTO "Odd ""Table" VALUES (1, '0000000000000000');
INSERT INTO "Odd ""Table" VALUES (2, '0000000000000001');
CREATE INDEX ON "Odd ""Table" USING simhash ("the fp");
INSERT INTO "Odd ""Table" VALUES (2, '0000000000000001');

-- without an index: slower, with the same answers, and one NOTICE says so
CREATE TABLE bare (id int PRIMARY KEY, fp fingerprint64);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON bare
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO bare VALUES (1, '0000000000000000'), (2, '0000000000000001') RETURNING id;
INSERT INTO bare VALUES (3, '0000000000000002'), (4, 'ff00000000000002') RETURNING id;
CREATE INDEX bare_balls ON bare USING simhash (hamming_ball(fp, 3));
CREATE INDEX bare_part ON bare USING simhash (fp) WHERE id > 2;
INSERT INTO bare VALUES (5, '0000000000000002') RETURNING id;

-- partitions: all are searched; a row that moves is judged once
CREATE TABLE parted (id int, region text, fp fingerprint64, near boolean)
  PARTITION BY LIST (region);
CREATE TABLE parted_east PARTITION OF parted FOR VALUES IN ('east');
CREATE TABLE parted_rest (fp fingerprint64, gone int, region text, near boolean, id int);
ALTER TABLE parted_rest DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_rest DEFAULT;
CREATE INDEX ON parted USING simhash (fp);
INSERT INTO parted VALUES (1, 'east', '0000000000000000'), (2, 'west', '0000000000000001');
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON parted
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id');
INSERT INTO parted VALUES (3, 'west', '0000000000000002'),
  (4, 'north', 'ff00000000000000'), (5, 'east', 'ff00000000000001') RETURNING id;
INSERT INTO parted_rest (id, region, fp) VALUES (6, 'south', '0000000000000004') RETURNING id;
-- rows 1 and 2 are near-duplicates from before the trigger: moving one must not lose it
UPDATE parted SET region = 'west' WHERE id = 1 RETURNING tableoid::regclass, id;
UPDATE parted SET region = 'east', fp = 'aaaaaaaaaaaaaaaa'
  WHERE id = 2 RETURNING tableoid::regclass, id;
-- near row 4: not done
UPDATE parted SET region = 'east', fp = 'ff00000000000003'
  WHERE id = 1 RETURNING tableoid::regclass, id;
UPDATE parted SET region = 'east', fp = 'ff00000000000003'
  WHERE id = 4 RETURNING tableoid::regclass, id;
INSERT INTO parted VALUES (7, 'west', 'ff00000000000003') RETURNING id;
SELECT tableoid::regclass, id, region, fp FROM parted ORDER BY id;
BEGIN;
UPDATE parted SET region = 'west' WHERE id = 4;
INSERT INTO parted VALUES (8, 'east', 'ff00000000000003') RETURNING id;
ROLLBACK;
-- a partition created later
CREATE TABLE parted_north PARTITION OF parted FOR VALUES IN ('north');
INSERT INTO parted VALUES (9, 'north', 'aaaaaaaaaaaaaaab'), (10, 'north', '1234000000000000')
  RETURNING id;
ALTER TABLE parted DETACH PARTITION parted_north;
INSERT INTO parted VALUES (11, 'west', '1234000000000001') RETURNING id;
-- link across partitions
CREATE TABLE chain (id int, k int, fp fingerprint64, same_as int, PRIMARY KEY (id, k))
  PARTITION BY HASH (k);
CREATE TABLE chain0 PARTITION OF chain FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE chain1 PARTITION OF chain FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON chain USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON chain
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as');
INSERT INTO chain VALUES (1, 1, '0000000000000000');
DROP TRIGGER mark ON chain;
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON chain
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as', 'key=id');
INSERT INTO chain SELECT i, i, '0000000000000000' FROM generate_series(1, 6) i;
SELECT id, same_as FROM chain ORDER BY id;

-- inheritance: the whole family is searched, by triggers on each table
CREATE TABLE parent (id int, fp fingerprint64);
CREATE TABLE child (extra text) INHERITS (parent);
CREATE INDEX ON parent USING simhash (fp);
CREATE INDEX ON child USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON parent
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=error', 'key=id');
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON child
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=error', 'key=id');
INSERT INTO child VALUES (1, '0000000000000000');
INSERT INTO parent VALUES (2, '0000000000000001');
INSERT INTO parent VALUES (3, 'ffff000000000000');
INSERT INTO child VALUES (4, 'ffff000000000001');

-- a role that may insert needs no right to read the rows, and no message shows them to it
CREATE ROLE dedup_writer ROLE CURRENT_USER;
GRANT USAGE ON SCHEMA dedup TO dedup_writer;
GRANT INSERT ON strict, doc TO dedup_writer;
SET ROLE dedup_writer;
SET search_path = pg_catalog;
INSERT INTO dedup.strict VALUES (100, '0000000000000001');
INSERT INTO dedup.strict VALUES (101, 'f0f0f0f0f0f0f0f0');
INSERT INTO dedup.doc (id, body) VALUES (102, 'the cat sat on the mat and looked at the moon');
RESET ROLE;
SET search_path = :path;
GRANT SELECT (id) ON strict TO dedup_writer;
SET ROLE dedup_writer;
INSERT INTO dedup.strict VALUES (100, '0000000000000001');
RESET ROLE;
ALTER TABLE strict ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON strict USING (id > 1000) WITH CHECK (true);
GRANT SELECT ON strict TO dedup_writer;
SET ROLE dedup_writer;
SELECT count(*) FROM dedup.strict;
INSERT INTO dedup.strict VALUES (100, '0000000000000001');
RESET ROLE;
SELECT count(*) FROM strict;

-- a table whose topmost parent lacks the key's column
CREATE TABLE keyless (fp fingerprint64);
CREATE TABLE keyed (id int PRIMARY KEY) INHERITS (keyless);
CREATE INDEX ON keyless USING simhash (fp);
CREATE INDEX ON keyed USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT ON keyed
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=error');
INSERT INTO keyed VALUES ('0000000000000000', 1);
GRANT INSERT ON keyed TO dedup_writer;
SET ROLE dedup_writer;
INSERT INTO dedup.keyed VALUES ('0000000000000001', 2);
RESET ROLE;

-- what the trigger writes obeys the column's domain and length
CREATE DOMAIN large AS bigint CHECK (VALUE > 100);
CREATE TABLE checked (id bigint PRIMARY KEY, fp fingerprint64, same_as large);
CREATE INDEX ON checked USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT ON checked
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as');
INSERT INTO checked VALUES (1, '0000000000000000');
INSERT INTO checked VALUES (2, '0000000000000001');
INSERT INTO checked VALUES (101, 'ff00000000000000'), (102, 'ff00000000000001') RETURNING *;
CREATE TABLE short (id varchar(10) PRIMARY KEY, fp fingerprint64, same_as varchar(3));
CREATE INDEX ON short USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT ON short
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=link', 'link=same_as');
INSERT INTO short VALUES ('a long id', '0000000000000000');

-- wrong arguments: the first row brings an error that names them
CREATE TABLE wrong (id int, body text, doc tsvector, fp fingerprint64, near boolean, same_as int,
  made fingerprint64 GENERATED ALWAYS AS (simhash(body)) STORED,
  loud text GENERATED ALWAYS AS (upper(body)) STORED);
\i test/tests/regress/include/try_trigger.sql
SELECT try(VARIADIC '{}');
SELECT try('fp');
SELECT try('fp=fp', 'distnace=3');
SELECT try('fp=fp', 'fp=made');
SELECT try('fp=');
SELECT try('fp=fingerprint');
SELECT try('fp=id');
SELECT try('fp=ctid');
SELECT try('fp=fp', 'body=bdoy');
SELECT try('fp=fp', 'body=doc');
SELECT try('fp=fp', 'body=loud');
SELECT try('fp=fp', 'distance=65');
SELECT try('fp=fp', 'distance=-1');
SELECT try('fp=fp', 'distance=three');
SELECT try('fp=fp', 'action=drop');
SELECT try('fp=fp', 'action=link');
SELECT try('fp=fp', 'action=flag');
SELECT try('fp=fp', 'action=link', 'link=same_as');
SELECT try('fp=fp', 'action=link', 'link=near', 'key=id');
SELECT try('fp=fp', 'action=link', 'link=same_as', 'key=same_as');
SELECT try('fp=fp', 'action=flag', 'flag=same_as');
SELECT try('fp=fp', 'action=skip', 'flag=near');
SELECT try('fp=fp', 'action=link', 'link=made', 'key=fp');
SELECT try('fp=fp', 'key=nope');
SELECT try('fp=fp', 'config={}');
SELECT try('fp=fp', 'body=body', 'config={"shingel": 2}');
SELECT try('fp=made', 'body=body', 'config={"shingle": 2}');
SELECT try('fp=fp', 'body=body', 'config={"weight": "idf"}');
SELECT try('fp=fp', 'body=body', 'config={"weight": "idf", "model": "no such model"}');
-- wrong triggers
CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO wrong (id) VALUES (2);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH STATEMENT EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO wrong (id) VALUES (2);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE DELETE ON wrong FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
DELETE FROM wrong;
DROP TRIGGER t ON wrong;
SELECT simhash_dedup();
-- columns whose name or type changes while the trigger exists
CREATE TABLE moving (id int PRIMARY KEY, fp fingerprint64);
CREATE INDEX ON moving USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT ON moving FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
INSERT INTO moving VALUES (1, '0000000000000000');
ALTER TABLE moving RENAME fp TO print;
INSERT INTO moving VALUES (2, '0000000000000000');
ALTER TABLE moving RENAME print TO fp;
ALTER TABLE moving ADD COLUMN note text DEFAULT 'none';
INSERT INTO moving VALUES (3, '0000000000000001') RETURNING id;
INSERT INTO moving VALUES (4, 'ff00000000000001') RETURNING id, note;

SET client_min_messages = warning;
DROP SCHEMA dedup CASCADE;
DROP ROLE dedup_writer;
