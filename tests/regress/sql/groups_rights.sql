-- superuser only: roles, and what belongs to the extension
-- Whose rights the trigger simhash_cluster uses: ids belong to the table, so its owner's; and as
-- whom other code runs meanwhile: as whoever writes.
\set SHOW_CONTEXT never
\pset null -
CREATE ROLE regress_groups_owner;
CREATE ROLE regress_groups_writer;
CREATE SCHEMA lived AUTHORIZATION regress_groups_owner;
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.t (id int PRIMARY KEY, fp fingerprint64, tenant text, story int);
CREATE INDEX ON lived.t USING simhash (fp);
CREATE INDEX ON lived.t (story);
SELECT simhash_cluster_create('lived.t', 'fp=fp', 'cluster=story', 'settle=later');
ALTER TABLE lived.t ENABLE ROW LEVEL SECURITY;
ALTER TABLE lived.t FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON lived.t USING (tenant = current_user) WITH CHECK (tenant = current_user);
GRANT USAGE ON SCHEMA lived TO regress_groups_writer;
GRANT INSERT, DELETE ON lived.t TO regress_groups_writer;
GRANT SELECT (id, tenant), UPDATE (fp) ON lived.t TO regress_groups_writer;
-- rows of the owner, which the policies hide from the other role
INSERT INTO lived.t VALUES (1, '0000000000000000', 'regress_groups_owner'),
  (2, '000000000000003f', 'regress_groups_owner');
-- the writer may not set ids, nor read them, and its rows connect rows that it does not see
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.t (id, fp, tenant) VALUES (3, '0000000000000007', 'regress_groups_writer');
UPDATE lived.t SET story = 5;
SELECT story FROM lived.t;
-- whatever the search path says, and operators that somebody else made
SET search_path = pg_temp;
CREATE FUNCTION pg_temp.wrong(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 1';
CREATE OPERATOR pg_temp.= (LEFTARG = int, RIGHTARG = int, FUNCTION = pg_temp.wrong);
SET search_path = pg_temp, pg_catalog;
INSERT INTO lived.t (id, fp, tenant) VALUES (4, '0000000000000007', 'regress_groups_writer');
DELETE FROM lived.t WHERE tenant = 'regress_groups_writer';
RESET search_path;
-- who may settle, and who may read the marks
SELECT simhash_cluster_settle('lived.t');
SELECT simhash_cluster_create('lived.t', 'fp=fp', 'cluster=story');
TABLE simhash_unsettled;
INSERT INTO simhash_unsettled VALUES ('lived.t', 'story', '1');
RESET SESSION AUTHORIZATION;
SELECT id, story FROM lived.t ORDER BY id;
TABLE simhash_unsettled;
SET SESSION AUTHORIZATION regress_groups_owner;
SELECT simhash_cluster_settle('lived.t');
RESET SESSION AUTHORIZATION;
SELECT id, story FROM lived.t ORDER BY id;
TABLE simhash_unsettled;
-- all groups anew, past policies that are forced on the owner
UPDATE lived.t SET fp = '0000000000000000';
SET SESSION AUTHORIZATION regress_groups_owner;
SELECT simhash_cluster_settle('lived.t', true);
RESET SESSION AUTHORIZATION;
SELECT id, story FROM lived.t ORDER BY id;
-- a mark that is no key
INSERT INTO simhash_unsettled VALUES ('lived.t', 'story', 'one');
SELECT simhash_cluster_settle('lived.t');
DELETE FROM simhash_unsettled;
-- the owner's own triggers run as whoever writes, and do not see his search path, but the table's
-- schema
CREATE SCHEMA stranger AUTHORIZATION regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.told (who name, what text);
CREATE TABLE lived.u (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON lived.u USING simhash (fp);
CREATE INDEX ON lived.u (story);
SELECT simhash_cluster_create('lived.u', 'fp=fp', 'cluster=story');
CREATE FUNCTION lived.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO told VALUES (current_user, lower(TG_OP));
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON lived.u FOR EACH ROW EXECUTE FUNCTION lived.note();
GRANT INSERT ON lived.u, lived.told TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_writer;
CREATE FUNCTION stranger.lower(text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING 'a function of the writer runs as %', current_user;
  RETURN 'wrong';
END $$;
GRANT USAGE ON SCHEMA stranger TO PUBLIC;
SET search_path = stranger, pg_catalog;
INSERT INTO lived.u (id, fp) VALUES (1, '0000000000000000'), (2, '0000000000000000');
SHOW search_path;
RESET search_path;
RESET SESSION AUTHORIZATION;
TABLE lived.told;
-- what the owner leaves for later does not run as the superuser who settles
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE FUNCTION lived.later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING 'a deferred trigger runs as %', current_user;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON lived.u DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION lived.later();
ALTER TABLE lived.u DISABLE TRIGGER USER;
UPDATE lived.u SET story = NULL;
ALTER TABLE lived.u ENABLE TRIGGER USER;
RESET SESSION AUTHORIZATION;
SELECT simhash_cluster_settle('lived.u', true);
SET SESSION AUTHORIZATION regress_groups_owner;
SELECT simhash_cluster_settle('lived.u', true);
RESET SESSION AUTHORIZATION;
DROP SCHEMA stranger CASCADE;
-- a writer without rights on the texts that are compared
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.v (id int PRIMARY KEY, body text, fp fingerprint64, story int);
CREATE INDEX ON lived.v USING simhash (fp);
CREATE INDEX ON lived.v (story);
SELECT simhash_cluster_create('lived.v', 'fp=fp', 'cluster=story', 'body=body', 'similarity=0.6',
  'shingle=1');
INSERT INTO lived.v VALUES (1, 'a b c d', '0000000000000000'), (2, 'x', '0000000000000000');
GRANT INSERT ON lived.v TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.v VALUES (3, 'a b c e', '0000000000000000');
RESET SESSION AUTHORIZATION;
SELECT id, story FROM lived.v ORDER BY id;
-- settings that the owner's triggers make end with the call, whoever makes it
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.w (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON lived.w USING simhash (fp);
CREATE INDEX ON lived.w (story);
INSERT INTO lived.w VALUES (1, '0000000000000000'), (2, '0000000000000000');
CREATE FUNCTION lived.lead_astray() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SET search_path = lived, pg_catalog;
  SET row_security = off;
  SET LOCAL lock_timeout = '1h';
  PERFORM set_config('simhash.work_mem', '100MB', false);
  RETURN NEW;
END $$;
CREATE TRIGGER astray BEFORE UPDATE ON lived.w FOR EACH ROW EXECUTE FUNCTION lived.lead_astray();
RESET SESSION AUTHORIZATION;
SET search_path = public;
BEGIN;
SELECT simhash_cluster_create('lived.w', 'fp=fp', 'cluster=story');
CREATE VIEW lived.settings AS SELECT current_setting('search_path') AS path,
  current_setting('row_security') AS security, current_setting('lock_timeout') AS timeout,
  current_setting('simhash.work_mem') AS memory;
TABLE lived.settings;
UPDATE lived.w SET fp = '00000000000000ff' WHERE id = 2;
RESET search_path;
RESET row_security;
RESET simhash.work_mem;
SET LOCAL lock_timeout = 0;
TABLE lived.settings;
ALTER TABLE lived.w DISABLE TRIGGER USER;
UPDATE lived.w SET fp = '0000000000000000', story = NULL;
ALTER TABLE lived.w ENABLE TRIGGER USER;
RESET search_path;
SELECT simhash_cluster_settle('lived.w', true);
TABLE lived.settings;
COMMIT;
INSERT INTO lived.w VALUES (3, '0000000000000000');
TABLE lived.settings;
SELECT id, story FROM lived.w ORDER BY id;
RESET search_path;
-- whoever may create triggers, and so these ones too, has the owner's rights by none of them
CREATE ROLE regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.x (id int PRIMARY KEY, fp fingerprint64, story int, who name);
CREATE INDEX ON lived.x USING simhash (fp);
CREATE INDEX ON lived.x (story);
INSERT INTO lived.x VALUES (1, '0000000000000000');
GRANT USAGE, CREATE ON SCHEMA lived TO regress_groups_stranger;
GRANT TRIGGER, INSERT ON lived.x TO regress_groups_stranger;
GRANT INSERT ON lived.x TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_stranger;
CREATE FUNCTION lived.signed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.who := current_user;
  RETURN NEW;
END $$;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON lived.x
  FOR EACH STATEMENT EXECUTE FUNCTION simhash_cluster('fp=fp', 'cluster=story');
CREATE TRIGGER a_insert AFTER INSERT ON lived.x REFERENCING NEW TABLE AS new
  FOR EACH STATEMENT EXECUTE FUNCTION simhash_cluster('fp=fp', 'cluster=story');
CREATE TRIGGER signed BEFORE UPDATE ON lived.x FOR EACH ROW EXECUTE FUNCTION lived.signed();
INSERT INTO lived.x VALUES (2, '0000000000000000');
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.x VALUES (2, '0000000000000000');
-- who may update rows himself does that
RESET SESSION AUTHORIZATION;
GRANT ALL ON lived.x TO regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_stranger;
INSERT INTO lived.x VALUES (2, '0000000000000000');
-- unless policies hide rows from him
RESET SESSION AUTHORIZATION;
SELECT id, story, who FROM lived.x ORDER BY id;
ALTER TABLE lived.x ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON lived.x USING (true);
SET SESSION AUTHORIZATION regress_groups_stranger;
INSERT INTO lived.x VALUES (3, '0000000000000000');
-- the owner, a member of the owner, and a superuser write as ever
RESET SESSION AUTHORIZATION;
ALTER TABLE lived.x DISABLE ROW LEVEL SECURITY;
GRANT TRIGGER ON lived.x TO PUBLIC;
INSERT INTO lived.x VALUES (3, '0000000000000000');
SELECT id, story, who FROM lived.x ORDER BY id;
-- rights of everybody, and of those who have the owner's anyway
REVOKE ALL ON lived.x FROM regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.x VALUES (4, '0000000000000000');
-- refused whether there is a row near it or not
INSERT INTO lived.x VALUES (4, 'ffffffffffffffff');
RESET SESSION AUTHORIZATION;
REVOKE TRIGGER ON lived.x FROM PUBLIC;
GRANT regress_groups_owner TO regress_groups_stranger;
GRANT TRIGGER ON lived.x TO regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.x VALUES (4, '0000000000000000');
RESET SESSION AUTHORIZATION;
REVOKE regress_groups_owner FROM regress_groups_stranger;
SELECT id, story, who FROM lived.x ORDER BY id;
-- settled by somebody else, code of strangers would run as the owner
SELECT simhash_cluster_settle('lived.x', true);
SET SESSION AUTHORIZATION regress_groups_owner;
SELECT simhash_cluster_settle('lived.x', true);
RESET SESSION AUTHORIZATION;

-- Code that runs when ids are told: it says as whom. Nobody's runs as the owner because a writer
-- has written, nor as a superuser because he has settled.
CREATE TABLE lived.heard (what text, role name, UNIQUE (what, role));
CREATE FUNCTION lived.hear(what text, role name) RETURNS void SECURITY DEFINER LANGUAGE sql
  AS 'INSERT INTO lived.heard VALUES ($1, $2) ON CONFLICT DO NOTHING';
CREATE FUNCTION lived.says(what text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('lived.listening', true) = 'on' THEN
    PERFORM lived.hear(what, current_user);
  END IF;
  RETURN what;
END $$;
-- (from 18 on, a trigger that fires at the end runs as who had it fired)
CREATE VIEW lived.said AS
SELECT CASE WHEN what ~ 'stranger.*AFTER' AND role = 'regress_groups_stranger'
    THEN 'regress_groups_writer' ELSE role END AS role,
  string_agg(what, ', ' ORDER BY what COLLATE "C") AS what
FROM lived.heard GROUP BY 1 ORDER BY 1;
CREATE FUNCTION lived.speaks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lived.says(format('%s %s %s', TG_ARGV[0], TG_WHEN, TG_LEVEL));
  RETURN NEW;
END $$;
GRANT SELECT, UPDATE ON lived.told TO regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE DOMAIN lived.id AS int CHECK (lived.says('domain') IS NOT NULL);
CREATE TABLE lived.p (id lived.id, fp fingerprint64, story lived.id, n int UNIQUE,
  twice text GENERATED ALWAYS AS (lived.says('generated')) STORED, UNIQUE (id, story),
  PRIMARY KEY (id), CHECK (lived.says('check') IS NOT NULL));
CREATE INDEX ON lived.p USING simhash (fp);
CREATE INDEX ON lived.p (story);
CREATE INDEX ON lived.p (lived.says(story::text || ' in an index'))
  WHERE lived.says('predicate') > '';
CREATE TRIGGER a BEFORE UPDATE ON lived.p FOR EACH ROW EXECUTE FUNCTION lived.speaks('owner''s');
CREATE TRIGGER b AFTER UPDATE ON lived.p FOR EACH ROW EXECUTE FUNCTION lived.speaks('owner''s');
CREATE TRIGGER c AFTER UPDATE ON lived.p EXECUTE FUNCTION lived.speaks('owner''s');
INSERT INTO lived.p VALUES (1, '0000000000000000');
SELECT simhash_cluster_create('lived.p', 'fp=fp', 'cluster=story', 'settle=later');
GRANT INSERT, DELETE ON lived.p TO regress_groups_writer;
GRANT SELECT (id) ON lived.p TO regress_groups_writer;
GRANT REFERENCES ON lived.p TO regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_writer;
SET lived.listening = on;
INSERT INTO lived.p VALUES (2, '0000000000000000');
RESET lived.listening;
RESET SESSION AUTHORIZATION;
TABLE lived.said;
TRUNCATE lived.heard;
-- a foreign key into a table of a stranger's
SET SESSION AUTHORIZATION regress_groups_stranger;
CREATE TABLE lived.follows (id int, story int,
  FOREIGN KEY (id, story) REFERENCES lived.p (id, story) ON UPDATE CASCADE);
CREATE TRIGGER f BEFORE UPDATE ON lived.follows FOR EACH ROW
  EXECUTE FUNCTION lived.speaks('stranger''s');
CREATE TRIGGER g AFTER UPDATE ON lived.follows FOR EACH ROW
  EXECUTE FUNCTION lived.speaks('stranger''s');
INSERT INTO lived.follows VALUES (2, 1);
SET SESSION AUTHORIZATION regress_groups_owner;
INSERT INTO lived.p VALUES (0, 'ffffffffffffffff'), (3, 'ffffffffffffffff');
SELECT id, story FROM lived.p ORDER BY id;
ALTER TABLE lived.p DISABLE TRIGGER USER;
UPDATE lived.p SET fp = '0000000000000001' WHERE id = 0;
ALTER TABLE lived.p ENABLE TRIGGER USER;
SET SESSION AUTHORIZATION regress_groups_writer;
SET lived.listening = on;
INSERT INTO lived.p VALUES (5, '0000000000000001');
RESET lived.listening;
SELECT simhash_cluster_settle('lived.p');
RESET SESSION AUTHORIZATION;
-- (up to 18, a foreign key is looked up by a query, for which the owner plans his predicate)
SELECT * FROM lived.said WHERE (role, what) <> ('regress_groups_owner', 'predicate');
TRUNCATE lived.heard;
SELECT id, story FROM lived.p ORDER BY id;
TABLE lived.follows;
-- the superuser settles as the owner, unless strangers' code would run
SELECT simhash_cluster_settle('lived.p', true);
DROP TABLE lived.follows;
DELETE FROM lived.p WHERE id IN (0, 2);
UPDATE lived.p SET fp = 'ffffffffffffffff' WHERE id = 5;
TABLE simhash_unsettled;
SET lived.listening = on;
SELECT simhash_cluster_settle('lived.p');
RESET lived.listening;
TABLE lived.said;
TRUNCATE lived.heard;
SELECT id, story FROM lived.p ORDER BY id;
TABLE simhash_unsettled;
-- a trigger on the table of marks
GRANT TRIGGER ON simhash_unsettled TO regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_stranger;
CREATE TRIGGER m BEFORE INSERT OR DELETE ON simhash_unsettled FOR EACH ROW
  EXECUTE FUNCTION lived.speaks('stranger''s');
SET SESSION AUTHORIZATION regress_groups_writer;
SET lived.listening = on;
DELETE FROM lived.p WHERE id = 3;
RESET lived.listening;
RESET SESSION AUTHORIZATION;
TABLE lived.said;
TRUNCATE lived.heard;
DROP TRIGGER m ON simhash_unsettled;
REVOKE TRIGGER ON simhash_unsettled FROM regress_groups_stranger;
TABLE simhash_unsettled;
DROP TABLE lived.p;
DELETE FROM simhash_unsettled;

-- whoever owns a partition has code of his run there: as whoever writes
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.p (id int PRIMARY KEY, fp fingerprint64, story int) PARTITION BY RANGE (id);
CREATE TABLE lived.p1 PARTITION OF lived.p FOR VALUES FROM (0) TO (10);
CREATE INDEX ON lived.p USING simhash (fp);
CREATE INDEX ON lived.p (story);
SELECT simhash_cluster_create('lived.p', 'fp=fp', 'cluster=story');
INSERT INTO lived.p VALUES (1, '0000000000000000');
GRANT INSERT ON lived.p TO regress_groups_writer, regress_groups_stranger;
RESET SESSION AUTHORIZATION;
ALTER TABLE lived.p1 OWNER TO regress_groups_stranger;
SET SESSION AUTHORIZATION regress_groups_stranger;
CREATE INDEX ON lived.p1 (lived.says(story::text || ' in an index'))
  WHERE lived.says('predicate') > '';
ALTER TABLE lived.p1 ADD CHECK (lived.says('check') IS NOT NULL);
CREATE TRIGGER a BEFORE UPDATE ON lived.p1 FOR EACH ROW
  EXECUTE FUNCTION lived.speaks('stranger''s');
SET lived.listening = on;
INSERT INTO lived.p VALUES (2, '0000000000000000');
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.p VALUES (3, '0000000000000000');
RESET lived.listening;
RESET SESSION AUTHORIZATION;
TABLE lived.said;
TRUNCATE lived.heard;
SELECT id, story FROM lived.p ORDER BY id;
SELECT simhash_cluster_settle('lived.p', true);
ALTER TABLE lived.p1 OWNER TO regress_groups_owner;
GRANT TRIGGER ON lived.p1 TO regress_groups_stranger;
SELECT simhash_cluster_settle('lived.p', true);
REVOKE TRIGGER ON lived.p1 FROM regress_groups_stranger;
SELECT simhash_cluster_settle('lived.p', true);

-- names are the owner's, in schemas that the writer may not use
SET SESSION AUTHORIZATION regress_groups_owner;
REVOKE USAGE ON SCHEMA lived FROM regress_groups_writer;
RESET SESSION AUTHORIZATION;
CREATE VIEW public.regress_groups_p AS TABLE lived.p;
GRANT INSERT ON public.regress_groups_p TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_writer;
DO $$ BEGIN
  INSERT INTO public.regress_groups_p VALUES (4, '0000000000000000');
EXCEPTION WHEN OTHERS THEN RAISE WARNING '%', SQLERRM;
END $$;
RESET SESSION AUTHORIZATION;
DROP VIEW public.regress_groups_p;
GRANT USAGE ON SCHEMA lived TO regress_groups_writer;
SELECT id, story FROM lived.p ORDER BY id;

-- an operator that somebody has made for a domain is not taken for that of its type
RESET SESSION AUTHORIZATION;
GRANT CREATE ON SCHEMA public TO regress_groups_stranger;
CREATE DOMAIN lived.name AS fingerprint64;
CREATE TABLE lived.d (id lived.name PRIMARY KEY, fp fingerprint64, story lived.name);
CREATE INDEX ON lived.d USING simhash (fp);
CREATE INDEX ON lived.d (story);
SELECT simhash_cluster_create('lived.d', 'fp=fp', 'cluster=story');
INSERT INTO lived.d VALUES ('0000000000000001', '0000000000000000');
SET SESSION AUTHORIZATION regress_groups_stranger;
CREATE FUNCTION lived.spy(lived.name, fingerprint64) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING 'a function of the stranger runs as %, with %', current_user, $1;
  RETURN true;
END $$;
CREATE OPERATOR public.= (LEFTARG = lived.name, RIGHTARG = fingerprint64, FUNCTION = lived.spy);
RESET SESSION AUTHORIZATION;
INSERT INTO lived.d VALUES ('0000000000000002', '0000000000000000');
SELECT simhash_cluster_settle('lived.d', true);
DELETE FROM lived.d WHERE id::text = '0000000000000001';
INSERT INTO lived.d VALUES ('0000000000000003', '0000000000000000');
SELECT id, story FROM lived.d ORDER BY id::text;
DROP OPERATOR public.= (lived.name, fingerprint64);
REVOKE CREATE ON SCHEMA public FROM regress_groups_stranger;

-- rules for UPDATE are refused, whatever they do, and others are not
CREATE TABLE lived.ruled (id int PRIMARY KEY, fp fingerprint64, story int);
CREATE INDEX ON lived.ruled USING simhash (fp);
CREATE INDEX ON lived.ruled (story);
SELECT simhash_cluster_create('lived.ruled', 'fp=fp', 'cluster=story');
INSERT INTO lived.ruled VALUES (1, '0000000000000000');
CREATE RULE r AS ON UPDATE TO lived.ruled DO ALSO INSERT INTO lived.told VALUES ('r', 's');
INSERT INTO lived.ruled VALUES (2, '0000000000000000');
CREATE OR REPLACE RULE r AS ON UPDATE TO lived.ruled DO INSTEAD NOTHING;
INSERT INTO lived.ruled VALUES (2, '0000000000000000');
CREATE OR REPLACE RULE r AS ON UPDATE TO lived.ruled
  DO INSTEAD UPDATE lived.u SET story = NEW.story WHERE id = NEW.id;
INSERT INTO lived.ruled VALUES (2, '0000000000000000');
CREATE OR REPLACE RULE r AS ON UPDATE TO lived.ruled WHERE NEW.id = 2 DO INSTEAD NOTHING;
INSERT INTO lived.ruled VALUES (2, '0000000000000000');
SELECT simhash_cluster_settle('lived.ruled');
DROP RULE r ON lived.ruled;
CREATE RULE r AS ON DELETE TO lived.ruled DO ALSO NOTIFY told;
INSERT INTO lived.ruled VALUES (2, '0000000000000000');
SELECT * FROM lived.ruled ORDER BY id;

-- triggers that meddle with ids while rows are told
CREATE FUNCTION lived.meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.story := 77;
  RETURN NEW;
END $$;
CREATE TRIGGER meddle BEFORE UPDATE ON lived.ruled FOR EACH ROW EXECUTE FUNCTION lived.meddle();
INSERT INTO lived.ruled VALUES (3, '0000000000000000');
CREATE OR REPLACE FUNCTION lived.meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.id := NEW.id + 10;
  RETURN NEW;
END $$;
INSERT INTO lived.ruled VALUES (3, '0000000000000000');
-- a statement of theirs is not taken for ours: what it sets is put back
CREATE OR REPLACE FUNCTION lived.meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() < 3 THEN
    UPDATE lived.ruled SET story = 77 WHERE id = 1;
  END IF;
  RETURN NULL;
END $$;
DROP TRIGGER meddle ON lived.ruled;
CREATE TRIGGER meddle AFTER UPDATE ON lived.ruled EXECUTE FUNCTION lived.meddle();
INSERT INTO lived.ruled VALUES (3, '0000000000000000');
SELECT * FROM lived.ruled ORDER BY id;
-- nor does it matter if the row is gone that it has set
CREATE OR REPLACE FUNCTION lived.meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 THEN
    DELETE FROM lived.ruled WHERE id = 3;
  END IF;
  RETURN NULL;
END $$;
DROP TRIGGER meddle ON lived.ruled;
CREATE TRIGGER a_meddle AFTER UPDATE ON lived.ruled EXECUTE FUNCTION lived.meddle();
UPDATE lived.ruled SET story = 5;
SELECT * FROM lived.ruled ORDER BY id;

-- a partition alone, of somebody else's: the rights are those of the table, however many rows come
CREATE ROLE regress_groups_parter;
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE lived.only_part (id int PRIMARY KEY, fp fingerprint64, story int)
  PARTITION BY RANGE (id);
CREATE TABLE lived.the_part PARTITION OF lived.only_part FOR VALUES FROM (0) TO (1000000);
CREATE INDEX ON lived.only_part USING simhash (fp);
SELECT simhash_cluster_create('lived.only_part', 'fp=fp', 'cluster=story');
GRANT INSERT ON lived.only_part TO regress_groups_writer;
RESET SESSION AUTHORIZATION;
ALTER TABLE lived.the_part OWNER TO regress_groups_parter;
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.only_part VALUES (1, '0000000000000000'), (2, '0000000000000000');
INSERT INTO lived.only_part SELECT i, 'ffffffffffffffff' FROM generate_series(3, 10002) AS i;
SET SESSION AUTHORIZATION regress_groups_owner;
SELECT simhash_cluster_settle('lived.only_part', true);
SELECT story, count(*) FROM lived.only_part GROUP BY story ORDER BY story;
RESET SESSION AUTHORIZATION;
DROP TABLE lived.only_part;
DROP ROLE regress_groups_parter;
-- a schema of the name that stands for the schema of whoever writes
CREATE SCHEMA "$user" AUTHORIZATION regress_groups_owner;
CREATE SCHEMA regress_groups_writer AUTHORIZATION regress_groups_writer;
GRANT USAGE ON SCHEMA "$user" TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_owner;
CREATE TABLE "$user".t (id int PRIMARY KEY, fp fingerprint64, body text, story int);
SELECT simhash_cluster_create('"$user".t', 'fp=fp', 'cluster=story');
CREATE FUNCTION "$user".note() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM seen(OLD.body); RETURN NULL; END';
CREATE TRIGGER note AFTER UPDATE ON "$user".t FOR EACH ROW EXECUTE FUNCTION "$user".note();
INSERT INTO "$user".t VALUES (1, '0000000000000000', 'hidden from the writer');
GRANT INSERT ON "$user".t TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_writer;
CREATE FUNCTION regress_groups_writer.seen(text) RETURNS void LANGUAGE plpgsql AS
  $$ BEGIN RAISE WARNING 'the writer sees what is %', $1; END $$;
DO $$ BEGIN
  INSERT INTO "$user".t VALUES (2, '0000000000000000', 'his own');
EXCEPTION WHEN OTHERS THEN RAISE WARNING '%', SQLERRM;
END $$;
RESET SESSION AUTHORIZATION;
SET client_min_messages = warning;
DROP SCHEMA "$user", regress_groups_writer CASCADE;
RESET client_min_messages;
-- in a transaction that only reads
BEGIN READ ONLY;
SELECT simhash_cluster_settle('lived.t');
ROLLBACK;
DROP SCHEMA lived CASCADE;
DROP OWNED BY regress_groups_writer, regress_groups_stranger;
DROP ROLE regress_groups_owner, regress_groups_writer, regress_groups_stranger;
