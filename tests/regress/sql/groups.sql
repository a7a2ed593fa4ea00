-- The trigger simhash_cluster, as far as one session shows it.
-- Fingerprints are written out, so that distances can be counted by eye.
\set SHOW_CONTEXT never
\pset null -

-- The extension may be in another schema than public.
SELECT 'living, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA living;
SET search_path = :path;

CREATE TABLE news (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON news USING simhash (fp);
CREATE INDEX ON news (story);
CREATE VIEW stories AS SELECT story, array_agg(id ORDER BY id) AS rows FROM news GROUP BY story
  ORDER BY story;
-- rows that are there already
INSERT INTO news VALUES (3, '0000000000000000'), (7, '0000000000000001'), (9, 'ffff000000000000');
SELECT simhash_cluster_create('news', 'fp=fp', 'cluster=story', 'distance=3');
TABLE stories;
SELECT tgname, tgtype & 1 AS for_each_row FROM pg_trigger WHERE tgrelid = 'news'::regclass
  ORDER BY tgname;

-- a row joins a group, two rows become one, a row stays alone, a row has no fingerprint
INSERT INTO news VALUES (1, '0000000000000003'), (2, 'ffff000000000001'), (4, '00000000ffffffff'),
  (5, NULL);
TABLE stories;
-- a chain: 20 is 3 from row 1, 21 is 3 from 20, and so on
INSERT INTO news VALUES (20, '000000000000001f'), (21, '00000000000000ff'),
  (22, '00000000000007ff');
TABLE stories;
-- two groups, and then a row that is near both: the lesser id stays, and the others are told
INSERT INTO news VALUES (40, '0000ffff00000000'), (41, '0000ffff00000001');
INSERT INTO news VALUES (30, '0000fff000000000'), (31, '0000ff8000000000'),
  (32, '0000ff0000000000');
TABLE stories;
INSERT INTO news VALUES (42, '0000fff800000000');
TABLE stories;
-- COPY, and rows of one statement that are near each other only
COPY news (id, fp) FROM stdin;
50	5555000000000000
51	5555000000000001
52	5555000000000003
\.
TABLE stories;

-- an UPDATE that changes the fingerprint: the group comes apart, the other part gets a new id
UPDATE news SET fp = 'aaaaaaaaaaaaaaaa' WHERE id = 20;
TABLE stories;
-- one that does not changes nothing; nor does one of somebody who sets ids
UPDATE news SET fp = fp, id = id;
UPDATE news SET story = 77 WHERE id IN (3, 4);
INSERT INTO news VALUES (60, '6060606060606060', 50);
TABLE stories;
-- a deletion: of two only one is left; of three the oldest row goes, and the id stays
DELETE FROM news WHERE id IN (2, 50);
TABLE stories;
-- the key of a group's first row comes again, and becomes a group: it takes the next key
INSERT INTO news VALUES (50, '7777000000000000'), (70, '7777000000000001');
TABLE stories;
-- the ids of both rows are others': the other group, whose rows have other keys, is named anew
UPDATE news SET fp = '6666000000000000' WHERE id = 70;
UPDATE news SET fp = '7777000000000000' WHERE id = 70;
TABLE stories;
INSERT INTO news VALUES (71, '7777000000000003'), (72, '7777000000000002');
TABLE stories;
UPDATE news SET fp = '1234123412341234' WHERE id IN (50, 70);
TABLE stories;
-- all at once
BEGIN;
TRUNCATE news;
INSERT INTO news VALUES (1, '0000000000000000'), (2, '0000000000000000');
TABLE stories;
SAVEPOINT s;
DELETE FROM news WHERE id = 1;
TABLE stories;
ROLLBACK TO s;
TABLE stories;
ROLLBACK;
-- rows that came in past the trigger
ALTER TABLE news DISABLE TRIGGER USER;
UPDATE news SET story = id;
DELETE FROM news WHERE id = 30;
ALTER TABLE news ENABLE TRIGGER USER;
SELECT simhash_cluster_settle('news') AS marked, simhash_cluster_settle('news', "full" => true);
TABLE stories;

-- ON CONFLICT and a statement in several parts
INSERT INTO news VALUES (1, '7777000000000000'), (80, '7777000000000000')
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
TABLE stories;
WITH gone AS (DELETE FROM news WHERE id = 80), moved AS (
  UPDATE news SET fp = '7777000000000001' WHERE id = 3)
INSERT INTO news VALUES (81, '7777000000000003');
TABLE stories;

-- settled later: the group is what it was until somebody asks
CREATE TABLE later (id text COLLATE "C" PRIMARY KEY, fp fingerprint128, tenant int, same_as text);
CREATE INDEX ON later USING simhash (tenant, fp);
CREATE INDEX ON later (same_as);
SELECT simhash_cluster_create('later', 'fp=fp', 'cluster=same_as', 'scope=tenant', 'settle=later');
INSERT INTO later SELECT chr(97 + i),
  lpad(to_hex((1::bigint << (8 * i)) - 1), 32, '0')::fingerprint128, 1 FROM generate_series(0, 4) i;
INSERT INTO later SELECT id || id, fp, 2 FROM later WHERE id IN ('a', 'e');
SELECT same_as, array_agg(id ORDER BY id) FROM later GROUP BY 1 ORDER BY 1;
DELETE FROM later WHERE id = 'c';
SELECT same_as, array_agg(id ORDER BY id) FROM later GROUP BY 1 ORDER BY 1;
SELECT simhash_cluster_settle('later');
SELECT same_as, array_agg(id ORDER BY id) FROM later GROUP BY 1 ORDER BY 1;
SELECT simhash_cluster_settle('later');
UPDATE later SET tenant = 2 WHERE id = 'b';
SELECT simhash_cluster_settle('later');
SELECT same_as, array_agg(id ORDER BY id) FROM later GROUP BY 1 ORDER BY 1;
UPDATE later SET tenant = NULL WHERE id = 'b';
SELECT same_as, array_agg(id ORDER BY id) FROM later GROUP BY 1 ORDER BY 1;

-- two columns of ids, by two distances
ALTER TABLE news ADD copies int;
CREATE INDEX ON news (copies);
SELECT simhash_cluster_create('news', 'fp=fp', 'cluster=copies', 'distance=0');
INSERT INTO news SELECT 90 + i, '7777000000000003' FROM generate_series(1, 2) i;
SELECT story, copies, array_agg(id ORDER BY id) FROM news WHERE story IS NOT NULL GROUP BY 1, 2
  ORDER BY 1, 2;

-- rows that a foreign key deletes, one statement for each row of the other table
CREATE TABLE source (id int PRIMARY KEY);
INSERT INTO source VALUES (1), (2);
ALTER TABLE news ADD source int REFERENCES source ON DELETE CASCADE;
UPDATE news SET source = 1 WHERE id IN (71, 41);
UPDATE news SET source = 2 WHERE id IN (81, 50);
DELETE FROM source;
SELECT story, copies, array_agg(id ORDER BY id) FROM news WHERE story IS NOT NULL GROUP BY 1, 2
  ORDER BY 1, 2;

-- a partitioned table, whose key is not unique by an index of its own
CREATE TABLE part (id int, day date, fp fingerprint64, story int, PRIMARY KEY (id, day))
  PARTITION BY RANGE (day);
CREATE TABLE part_a PARTITION OF part FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE part_b PARTITION OF part FOR VALUES FROM ('2026-01-01') TO (MAXVALUE);
CREATE INDEX ON part USING simhash (fp);
CREATE INDEX ON part (story);
INSERT INTO part VALUES (1, '2025-12-31', '0000000000000000'),
  (2, '2026-01-01', '0000000000000001');
SELECT simhash_cluster_create('part', 'fp=fp', 'cluster=story', 'key=id');
INSERT INTO part VALUES (3, '2026-01-02', '0000000000000003'),
  (4, '2020-01-02', '0000000000000003');
UPDATE part SET day = '2026-02-02' WHERE id = 1;
SELECT tableoid::regclass, * FROM part ORDER BY id;
DELETE FROM part WHERE id IN (1, 2);
SELECT tableoid::regclass, * FROM part ORDER BY id;

-- what is not there: indexes
CREATE TABLE bare (id int PRIMARY KEY, fp bigint, story int);
SELECT simhash_cluster_create('bare', 'fp=fp', 'cluster=story');
INSERT INTO bare VALUES (1, 0), (2, 1);
TABLE bare;

-- a trigger of somebody else's that keeps the id from being told
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER refuse BEFORE UPDATE ON bare FOR EACH ROW EXECUTE FUNCTION refuse();
INSERT INTO bare VALUES (3, 2);
DROP TRIGGER refuse ON bare;

-- a statement inside the statement gives a row what it lacked, and finds its group
CREATE TABLE nested (id int PRIMARY KEY, fp fingerprint64, tenant int, note text, story int);
CREATE INDEX ON nested USING simhash (tenant, fp);
CREATE INDEX ON nested (story);
SELECT simhash_cluster_create('nested', 'fp=fp', 'cluster=story', 'scope=tenant');
CREATE FUNCTION mend() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.note = 'mend' THEN
    UPDATE nested SET fp = '0000000000000000', tenant = 1, note = NULL
    WHERE fp IS NULL OR tenant IS NULL;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER mend AFTER INSERT OR UPDATE ON nested FOR EACH ROW EXECUTE FUNCTION mend();
INSERT INTO nested VALUES (1, '0000000000000000', 1), (2, '00000000000000ff', 1),
  (3, '00000000000000ff', 1);
UPDATE nested SET fp = NULL, note = 'mend' WHERE id = 2;
INSERT INTO nested VALUES (4, '0000000000000000', 1, 'mend'), (5, '0000000000000000', NULL, NULL);
SELECT id, fp, tenant, story FROM nested ORDER BY id;

-- a partition that has other columns than its parent: there PostgreSQL's transition table lacks
-- what is generated
CREATE TABLE parts (gone int, id int PRIMARY KEY, hash text, story int,
  fp fingerprint64 GENERATED ALWAYS AS (hash::fingerprint64) STORED) PARTITION BY RANGE (id);
ALTER TABLE parts DROP COLUMN gone;
CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM (1) TO (10);
CREATE TABLE parts_b PARTITION OF parts FOR VALUES FROM (10) TO (20);
CREATE INDEX ON parts USING simhash (fp);
CREATE INDEX ON parts (story);
SELECT simhash_cluster_create('parts', 'fp=fp', 'cluster=story');
INSERT INTO parts (id, hash) VALUES (1, '0000000000000000'), (2, NULL);
INSERT INTO parts (id, hash) VALUES (3, '0000000000000001'), (11, '00000000000000ff'),
  (12, '00000000000000ff');
UPDATE parts SET id = 13, hash = '0000000000000003' WHERE id = 1;
SELECT id, fp, story FROM parts ORDER BY id;

-- a scope that is generated of no column
CREATE TABLE fixed (id int PRIMARY KEY, fp fingerprint64, story int,
  site int GENERATED ALWAYS AS (7) STORED);
CREATE INDEX ON fixed USING simhash (site, fp);
CREATE INDEX ON fixed (story);
SELECT simhash_cluster_create('fixed', 'fp=fp', 'cluster=story', 'scope=site');
INSERT INTO fixed VALUES (1, '0000000000000000'), (2, '0000000000000001'), (3, '00000000000000ff');
SELECT id, story FROM fixed ORDER BY id;

-- a row that can be in no group any more: its group is not read, though the transaction has
-- searched before
CREATE TABLE crowd (id int PRIMARY KEY, fp fingerprint64, "{table} story" int);
CREATE INDEX ON crowd USING simhash (fp);
CREATE INDEX ON crowd ("{table} story");
SELECT simhash_cluster_create('crowd', 'fp=fp', 'cluster={table} story');
INSERT INTO crowd SELECT i, (i % 2)::bigint::fingerprint64 FROM generate_series(1, 2000) i;
BEGIN;
UPDATE crowd SET fp = '0000000000000003' WHERE id = 1;
SELECT idx_tup_fetch AS fetched FROM pg_stat_xact_user_tables WHERE relid = 'crowd'::regclass \gset
UPDATE crowd SET fp = NULL WHERE id = 7;
SELECT idx_tup_fetch - :fetched < 100 AS few FROM pg_stat_xact_user_tables
WHERE relid = 'crowd'::regclass;
COMMIT;
SELECT "{table} story", count(*) FROM crowd GROUP BY 1 ORDER BY 1;

-- keys of other types, and columns with long names
CREATE TABLE keyed (id int[] PRIMARY KEY, fp fingerprint64, story int[]);
SELECT simhash_cluster_create('keyed', 'fp=fp', 'cluster=story');
CREATE TYPE pair AS (a int, b int);
CREATE TABLE paired (id pair PRIMARY KEY, fp fingerprint64, story pair);
SELECT simhash_cluster_create('paired', 'fp=fp', 'cluster=story');
CREATE TABLE long (id int PRIMARY KEY, fp fingerprint64,
  the_name_of_a_column_that_is_as_long_as_postgresql_lets_it_be_1 int);
CREATE INDEX ON long USING simhash (fp);
CREATE INDEX ON long (the_name_of_a_column_that_is_as_long_as_postgresql_lets_it_be_1);
SELECT simhash_cluster_create('long', 'fp=fp',
  'cluster=the_name_of_a_column_that_is_as_long_as_postgresql_lets_it_be_1');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'long'::regclass ORDER BY 1;

-- keys that are equal, and not the same bytes: one id is that of one group
CREATE TABLE equal (id numeric PRIMARY KEY, fp fingerprint64, story numeric);
CREATE INDEX ON equal USING simhash (fp);
CREATE INDEX ON equal (story);
SELECT simhash_cluster_create('equal', 'fp=fp', 'cluster=story');
INSERT INTO equal VALUES (1.0, '0000000000000000'), (2, '0000000000000000'),
  (3, '0000000000000000');
DELETE FROM equal WHERE id = 1;
INSERT INTO equal VALUES (1.00, 'ffffffffffffffff'), (4, 'ffffffffffffffff');
UPDATE equal SET id = 2.000 WHERE id = 2;
TABLE equal ORDER BY id;
SELECT simhash_cluster_settle('equal', true);
UPDATE equal SET fp = '0000000000000000';
TABLE equal ORDER BY id;
TRUNCATE equal;
INSERT INTO equal SELECT i, left(md5((i / 2)::text), 16)::fingerprint64
FROM generate_series(0, 7999) i ORDER BY md5(i::text);
UPDATE equal SET id = id + 0.00;
DELETE FROM equal WHERE id % 40 = 6;
INSERT INTO equal SELECT i + 0.0, left(md5((i::int / 2)::text), 16)::fingerprint64
FROM generate_series(8000, 8999) i;
SELECT count(*), count(*) FILTER (WHERE story = id::int / 2 * 2), count(DISTINCT story),
  count(*) FILTER (WHERE story IS NULL) FROM equal;
CREATE TABLE padded (id char PRIMARY KEY, fp fingerprint64, story char);
ALTER TABLE padded ALTER id TYPE bpchar, ALTER story TYPE bpchar;
CREATE INDEX ON padded USING simhash (fp);
CREATE INDEX ON padded (story);
SELECT simhash_cluster_create('padded', 'fp=fp', 'cluster=story');
INSERT INTO padded VALUES ('a ', '0000000000000000'), ('b', '0000000000000000'),
  ('c', '0000000000000000');
DELETE FROM padded WHERE id = 'a';
INSERT INTO padded VALUES ('a', 'ffffffffffffffff'), ('d', 'ffffffffffffffff');
SELECT id, story FROM padded ORDER BY id;

-- ids that one part of a statement sets, and another one sees before they are put back
CREATE TABLE several (id int PRIMARY KEY, fp fingerprint64, story int, later int);
CREATE INDEX ON several USING simhash (fp);
CREATE INDEX ON several (story);
CREATE INDEX ON several (later);
SELECT simhash_cluster_create('several', 'fp=fp', 'cluster=story');
SELECT simhash_cluster_create('several', 'fp=fp', 'cluster=later', 'settle=later');
INSERT INTO several VALUES (0, '0000000000000000'), (1, '0000000000000000'),
  (2, '0000000000000000'), (3, '0000000000000001'), (9, 'ffffffffffffffff');
DELETE FROM several WHERE id = 0;
WITH u AS (UPDATE several SET story = 7, later = 7 RETURNING 1)
INSERT INTO several VALUES (4, '0000000000000001');
TABLE several ORDER BY id;
WITH u AS (UPDATE several SET story = NULL, later = NULL RETURNING 1)
INSERT INTO several VALUES (5, '0000000000000001'), (8, 'ffffffffffffffff');
TABLE several ORDER BY id;
WITH u AS (UPDATE several SET story = 8, later = 8, fp = 'ffffffffffffff00' WHERE id < 3
  RETURNING 1)
INSERT INTO several VALUES (6, '0000000000000001'), (7, 'ffffffffffffffff');
SELECT simhash_cluster_settle('several') > 0 AS settled;
TABLE several ORDER BY id;

-- marks do not depend on the settings of whoever marks, or settles
CREATE TABLE exact (id float8 PRIMARY KEY, day date UNIQUE, fp fingerprint64, story float8,
  first date);
CREATE INDEX ON exact USING simhash (fp);
CREATE INDEX ON exact (story);
CREATE INDEX ON exact (first);
SELECT simhash_cluster_create('exact', 'fp=fp', 'cluster=story', 'settle=later');
SELECT simhash_cluster_create('exact', 'fp=fp', 'cluster=first', 'settle=later', 'key=day');
INSERT INTO exact VALUES (1.23456789012345, '2024-03-04', '0000000000000000'),
  (2, '2024-03-05', '0000000000000007'), (3, '2024-03-06', '000000000000003f');
SET extra_float_digits = -10;
SET datestyle = 'SQL, DMY';
DELETE FROM exact WHERE id = 2;
RESET extra_float_digits;
SET datestyle = 'SQL, MDY';
SELECT simhash_cluster_settle('exact');
TABLE exact ORDER BY id;
RESET datestyle;

-- what tells rows apart does so at any time, by the column's own equality
CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE, fp fingerprint64, story int);
SELECT simhash_cluster_create('deferred', 'fp=fp', 'cluster=story');
CREATE TABLE collated (id text COLLATE "POSIX", fp fingerprint64, story text COLLATE "POSIX");
CREATE UNIQUE INDEX collated_id ON collated (id COLLATE "C");
SELECT simhash_cluster_create('collated', 'fp=fp', 'cluster=story', 'key=id');
DROP INDEX collated_id;
CREATE UNIQUE INDEX ON collated (id text_pattern_ops);
SELECT simhash_cluster_create('collated', 'fp=fp', 'cluster=story', 'key=id');

-- keys of types that have a length, of which the beginning is common
CREATE TABLE long_keys (id char(36) PRIMARY KEY, fp fingerprint64, story char(36));
SELECT simhash_cluster_create('long_keys', 'fp=fp', 'cluster=story');
INSERT INTO long_keys VALUES ('aa', '0000000000000000'), ('ab', 'ffffffffffffffff'),
  ('ac', 'aaaaaaaaaaaaaaaa');
INSERT INTO long_keys VALUES ('ad', '0000000000000001'), ('ae', '0000000000000003');
UPDATE long_keys SET story = 'ac' WHERE id = 'ab';
DELETE FROM long_keys WHERE id = 'ad';
TABLE long_keys ORDER BY id;
CREATE TABLE bit_keys (id bit(8) PRIMARY KEY, fp fingerprint64, story bit(8));
SELECT simhash_cluster_create('bit_keys', 'fp=fp', 'cluster=story');
INSERT INTO bit_keys VALUES (B'00000001', '0000000000000000'), (B'00000010', '0000000000000001'),
  (B'00000011', 'ffffffffffffffff');
TABLE bit_keys ORDER BY id;

-- the only partition has other columns than its parent: one row, a whole table, many rows at once
CREATE TABLE only_part (n bigint, id text NOT NULL, fp fingerprint64, story text)
  PARTITION BY LIST (n);
CREATE TABLE the_part (story text, gone int, id text NOT NULL, n bigint, fp fingerprint64);
ALTER TABLE the_part DROP COLUMN gone;
INSERT INTO the_part (id, n, fp) VALUES ('a', 1, '0000000000000000'), ('b', 1, '0000000000000001'),
  ('c', 1, 'ffffffffffffffff'), ('d', 1, 'fffffffffffffffe');
ALTER TABLE only_part ATTACH PARTITION the_part FOR VALUES IN (1);
CREATE INDEX ON only_part USING simhash (fp);
CREATE UNIQUE INDEX ON the_part (id);
CREATE UNIQUE INDEX ON only_part (id, n);
SELECT simhash_cluster_create('only_part', 'fp=fp', 'cluster=story', 'key=id');
SELECT id, story FROM only_part ORDER BY id;
SELECT simhash_cluster_settle('only_part', full => true);
SET client_min_messages = warning;
-- Each two are alike, and no others are near.
INSERT INTO only_part
  SELECT 1, 'n' || i, hashint8extended(i / 2, 0)::fingerprint64
  FROM generate_series(10, 10009) AS i;
RESET client_min_messages;
SELECT count(*) AS rows, count(DISTINCT story) AS groups FROM only_part WHERE story IS NOT NULL;

-- a part of a statement sets ids, which another part sees: no group of before meets another one
CREATE TABLE tampered (id int PRIMARY KEY, fp fingerprint64, story int);
SELECT simhash_cluster_create('tampered', 'fp=fp', 'cluster=story', 'distance=3');
INSERT INTO tampered VALUES (1, '0000000000000000'), (4, '000000000000003f'),
  (5, '000000000000007f'), (9, 'ffffffffffffffff'), (10, 'fffffffffffffffe');
WITH part AS (UPDATE tampered SET story = 9 WHERE id = 1)
  INSERT INTO tampered VALUES (3, '0000000000000007');
TABLE tampered ORDER BY id;
-- a row trigger sets ids, in two updates of a row in one statement
CREATE TABLE referenced (a int UNIQUE, b int UNIQUE);
INSERT INTO referenced VALUES (1, 1);
CREATE TABLE referring (id int PRIMARY KEY, fp fingerprint64,
  a int REFERENCES referenced (a) ON UPDATE CASCADE,
  b int REFERENCES referenced (b) ON UPDATE CASCADE, story int);
SELECT simhash_cluster_create('referring', 'fp=fp', 'cluster=story');
CREATE FUNCTION number_it() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN NEW.story := NEW.a * 10 + NEW.b; RETURN NEW; END';
CREATE TRIGGER number_it BEFORE UPDATE ON referring FOR EACH ROW
  WHEN (OLD.story IS NOT DISTINCT FROM NEW.story) EXECUTE FUNCTION number_it();
INSERT INTO referring VALUES (5, '0000000000000000', 1, 1), (6, 'ffffffffffffffff', 1, 1);
UPDATE referenced SET a = 2, b = 2;
TABLE referring ORDER BY id;

-- marks name tables with their schemas, whatever the search path
CREATE SCHEMA named_keys;
CREATE TABLE named_keys.a ();
CREATE TABLE named_keys.b ();
CREATE TABLE named_keys.c ();
CREATE TABLE a ();
CREATE TABLE by_name (id regclass PRIMARY KEY, fp fingerprint64, story regclass);
SELECT simhash_cluster_create('by_name', 'fp=fp', 'cluster=story', 'settle=later');
INSERT INTO by_name VALUES ('named_keys.a', '0000000000000000'),
  ('named_keys.b', '0000000000000007'), ('named_keys.c', '000000000000003f');
SET search_path = named_keys, :path;
DELETE FROM by_name WHERE id = 'named_keys.b'::regclass;
SET search_path = :path;
SELECT simhash_cluster_settle('by_name');
TABLE by_name ORDER BY id;
DROP SCHEMA named_keys CASCADE;

-- arguments
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN never_null AS int NOT NULL;
CREATE DOMAIN below_it AS never_null CHECK (VALUE > 0);
CREATE TABLE wrong (made_of_story int GENERATED ALWAYS AS (-story) STORED,
  fp_of_story fingerprint64 GENERATED ALWAYS AS (CASE story WHEN 1 THEN fp END) STORED,
  below below_it DEFAULT 1, text text COLLATE "C" UNIQUE, other_text text COLLATE folded,
  id int PRIMARY KEY, fp fingerprint64, story int, other text, unloved int,
  made int GENERATED ALWAYS AS (unloved) STORED, point point);
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE state text; message text; hint text;
BEGIN
  PERFORM simhash_cluster_create('wrong', VARIADIC arguments);
  RAISE NOTICE 'accepted';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
    message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
  RAISE NOTICE E'% %\n  hint: %', state, message, hint;
END $$;
SELECT try('cluster=story');
SELECT try('fp=fp');
SELECT try('fp=nothing', 'cluster=story');
SELECT try('fp=other', 'cluster=story');
SELECT try('fp=fp', 'cluster=other');
SELECT try('fp=fp', 'cluster=made');
SELECT try('fp=fp', 'cluster=id');
SELECT try('fp=fp', 'cluster=below');
SELECT try('fp=fp', 'cluster=other_text', 'key=text');
SELECT try('fp=fp', 'cluster=story', 'scope=made_of_story');
SELECT try('fp=fp_of_story', 'cluster=story');
SELECT try('fp=fp', 'cluster=story', 'key=unloved');
SELECT try('fp=fp', 'cluster=story', 'distance=65');
SELECT try('fp=fp', 'cluster=story', 'distance=many');
SELECT try('fp=fp', 'cluster=story', 'settle=never');
SELECT try('fp=fp', 'cluster=story', 'scope=story');
SELECT try('fp=fp', 'cluster=story', 'scope=unloved,unloved');
SELECT try('fp=fp', 'cluster=story', 'scope=point');
SELECT try('fp=fp', 'cluster=story', 'action=skip');
SELECT try('fp=fp', 'cluster=story', 'fp=fp');
SELECT try('fp=fp', 'cluster=story', 'nonsense');
CREATE TABLE keyless (fp fingerprint64, story int);
SELECT simhash_cluster_create('keyless', 'fp=fp', 'cluster=story');
CREATE TABLE heir (LIKE wrong) INHERITS (wrong);
SELECT simhash_cluster_create('heir', 'fp=fp', 'cluster=story');
SELECT try('fp=fp', 'cluster=story');
SELECT simhash_cluster_create('part_a', 'fp=fp', 'cluster=story', 'key=id');
SELECT simhash_cluster_create('stories', 'fp=fp', 'cluster=story');
SELECT simhash_cluster_settle('keyless');
SELECT simhash_cluster_settle('stories');
SELECT simhash_cluster_settle(0);
-- not as a trigger of rows, without its tables, or not as a trigger
CREATE TRIGGER t AFTER INSERT ON keyless FOR EACH ROW EXECUTE FUNCTION simhash_cluster('fp=fp');
INSERT INTO keyless VALUES (NULL);
DROP TRIGGER t ON keyless;
CREATE TRIGGER t AFTER INSERT ON keyless EXECUTE FUNCTION simhash_cluster('fp=fp');
INSERT INTO keyless VALUES (NULL);
DROP TRIGGER t ON keyless;
CREATE TRIGGER t BEFORE TRUNCATE ON keyless EXECUTE FUNCTION simhash_cluster('fp=fp');
TRUNCATE keyless;
SELECT simhash_cluster();

-- A domain does not keep out every NULL. A row with such a key is in no group and connects none,
-- whoever is near it.
CREATE TABLE not_quite (id never_null UNIQUE, fp fingerprint64, story int);
CREATE INDEX ON not_quite USING simhash (fp);
INSERT INTO not_quite VALUES (1, '0000000000000000'), (2, '000000000000003f'),
  ((SELECT id FROM not_quite WHERE false), '0000000000000007'), (4, 'ffffffffffffffff'),
  (5, 'ffffffffffffffff');
SELECT simhash_cluster_create('not_quite', 'fp=fp', 'cluster=story', 'key=id', 'distance=3');
TABLE not_quite ORDER BY fp, id;

-- one UPDATE moves two rows to two others, while a trigger moves one of these to the other
CREATE TABLE chain (id int PRIMARY KEY, fp fingerprint64, story int, lazy int);
CREATE INDEX chain_fp ON chain USING simhash (fp);
CREATE INDEX ON chain (story);
CREATE INDEX ON chain (lazy);
SELECT simhash_cluster_create('chain', 'fp=fp', 'cluster=story', 'distance=3'),
  simhash_cluster_create('chain', 'fp=fp', 'cluster=lazy', 'distance=3', 'settle=later');
INSERT INTO chain VALUES (1, 'ffffffffffffffff'), (2, '000000000000003f'),
  (3, 'aaaaaaaaaaaaaaaa'), (4, '5555555555555555');
CREATE FUNCTION closer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE chain SET fp = '0000000000000007' WHERE id = 1;
  RETURN NULL;
END $$;
CREATE TRIGGER closer AFTER UPDATE ON chain FOR EACH ROW
  WHEN (OLD.id = 3 AND OLD.fp <> NEW.fp) EXECUTE FUNCTION closer();
UPDATE chain SET story = 77, lazy = 77,
  fp = CASE id WHEN 3 THEN '0000000000000000' WHEN 4 THEN '00000000000001ff' ELSE fp END;
SELECT * FROM chain ORDER BY id;
SELECT simhash_cluster_settle('chain');
SELECT * FROM chain ORDER BY id;
DROP TABLE chain;
DROP FUNCTION closer;

-- a row without a key connects nobody, by whatever way groups are found
CREATE TABLE nameless (k int UNIQUE, fp fingerprint64, story int);
CREATE INDEX ON nameless USING simhash (fp);
CREATE INDEX ON nameless (story);
INSERT INTO nameless VALUES (1, '0000000000000000'), (NULL, '0000000000000007'),
  (2, '000000000000003f'), (3, '000000000000007f');
SELECT simhash_cluster_create('nameless', 'fp=fp', 'cluster=story', 'key=k', 'distance=3');
SELECT k, story FROM nameless ORDER BY k;
DROP TABLE nameless;

-- a key that is computed in the partition
CREATE TABLE computed
  (n int, fp fingerprint64, k int GENERATED ALWAYS AS (n * 10) STORED, story int)
  PARTITION BY RANGE (n);
SELECT simhash_cluster_create('computed', 'fp=fp', 'cluster=story', 'key=k');
DROP TABLE computed;

-- many founders leave their groups, and become one that finds their keys taken
CREATE TABLE founders (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON founders USING simhash (fp);
CREATE INDEX ON founders (story);
SELECT simhash_cluster_create('founders', 'fp=fp', 'cluster=story', 'distance=0');
INSERT INTO founders SELECT i + 100 * copy, lpad(to_hex(i), 16, '0')::fingerprint64
  FROM generate_series(1, 40) i, generate_series(0, 3) copy;
UPDATE founders SET fp = 'ffffffffffffffff' WHERE id <= 40 OR id = 240;
SELECT count(DISTINCT story) FROM founders;
SELECT DISTINCT story FROM founders WHERE fp = 'ffffffffffffffff';
DROP TABLE founders;

-- a row is inserted with another group's id, in a statement that also updates: by the update's turn
-- rows that an upsert, and statements with parts, insert and update, and one inside
CREATE TABLE synced (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX synced_fp ON synced USING simhash (fp);
CREATE INDEX ON synced (story);
SELECT simhash_cluster_create('synced', 'fp=fp', 'cluster=story', 'distance=3');
INSERT INTO synced VALUES (5, '0000000000000000'), (6, '0000000000000000'),
  (7, '00000000000000ff'), (8, '0000000000000fff');
INSERT INTO synced VALUES (10, '0000ffff00000000'), (7, '0000ffff00000000')
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp;
SELECT id, story FROM synced ORDER BY id;
WITH inserted AS (INSERT INTO synced VALUES (11, 'ffff000000000000'))
  UPDATE synced SET fp = 'ffff000000000000' WHERE id = 8;
SELECT id, story FROM synced ORDER BY id;
WITH updated AS (UPDATE synced SET fp = '00ff00ff00ff00ff' WHERE id = 11)
  INSERT INTO synced VALUES (12, '00ff00ff00ff00ff');
SELECT id, story FROM synced ORDER BY id;
-- a statement inside an INSERT finds its row before its turn
CREATE FUNCTION copied() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO synced SELECT NEW.id + 100, NEW.fp WHERE NEW.id = 13;
  RETURN NULL;
END $$;
CREATE TRIGGER copied AFTER INSERT ON synced FOR EACH ROW EXECUTE FUNCTION copied();
INSERT INTO synced VALUES (13, 'f0f0f0f0f0f0f0f0');
SELECT id, story FROM synced ORDER BY id;
DROP TABLE synced;
DROP FUNCTION copied;

-- a row is moved, and the one beside which it was put while ids are put back
CREATE TABLE moved (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX moved_fp ON moved USING simhash (fp);
CREATE INDEX ON moved (story);
SELECT simhash_cluster_create('moved', 'fp=fp', 'cluster=story', 'distance=1');
INSERT INTO moved VALUES (1, '0000000000000000'), (2, '00000000000000ff');
CREATE FUNCTION moving() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF pg_trigger_depth() = 1 AND NEW.id = 1 THEN
    UPDATE moved SET fp = '00000000000000ff' WHERE id = 1;
  ELSIF pg_trigger_depth() = 2 AND NEW.id = 2 AND NEW.story IS NULL THEN
    UPDATE moved SET fp = '000000000000ffff' WHERE id = 2;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER moving AFTER UPDATE ON moved FOR EACH ROW EXECUTE FUNCTION moving();
UPDATE moved SET story = 9, fp = CASE id WHEN 1 THEN '0000000000000fff' ELSE fp END;
SELECT * FROM moved ORDER BY id;
DROP TABLE moved;
DROP FUNCTION moving;

-- columns of which the names begin alike, as do their triggers'
CREATE TABLE alike (id int PRIMARY KEY, fp fingerprint64,
  the_group_in_which_there_are_near_duplicates_of_the_first_kind int,
  the_group_in_which_there_are_near_duplicates_of_the_other_kind int);
CREATE INDEX ON alike USING simhash (fp);
CREATE INDEX ON alike (the_group_in_which_there_are_near_duplicates_of_the_first_kind);
CREATE INDEX ON alike (the_group_in_which_there_are_near_duplicates_of_the_other_kind);
SELECT simhash_cluster_create('alike', 'fp=fp', 'distance=3',
    'cluster=the_group_in_which_there_are_near_duplicates_of_the_first_kind'),
  simhash_cluster_create('alike', 'fp=fp', 'distance=0',
    'cluster=the_group_in_which_there_are_near_duplicates_of_the_other_kind');
INSERT INTO alike VALUES (1, '0000000000000000'), (2, '0000000000000001');
TABLE alike;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'alike'::regclass ORDER BY tgname;
DROP TABLE alike;
