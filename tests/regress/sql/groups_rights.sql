-- superuser only: roles, and what belongs to the extension
-- Whose rights the trigger simhash_cluster uses: ids belong to the table, so its owner's.
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
-- the owner's own triggers do not see the search path of whoever writes, but the table's schema
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
GRANT INSERT ON lived.u TO regress_groups_writer;
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
SELECT simhash_cluster_create('lived.v', 'fp=fp', 'cluster=story', 'body=body', 'similarity=0.6');
INSERT INTO lived.v VALUES (1, 'a b c d', '0000000000000000'), (2, 'x', '0000000000000000');
GRANT INSERT ON lived.v TO regress_groups_writer;
SET SESSION AUTHORIZATION regress_groups_writer;
INSERT INTO lived.v VALUES (3, 'a b c e', '0000000000000000');
RESET SESSION AUTHORIZATION;
SELECT id, story FROM lived.v ORDER BY id;
-- in a transaction that only reads
BEGIN READ ONLY;
SELECT simhash_cluster_settle('lived.t');
ROLLBACK;
DROP SCHEMA lived CASCADE;
DROP OWNED BY regress_groups_writer;
DROP ROLE regress_groups_owner, regress_groups_writer;
