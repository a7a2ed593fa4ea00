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
-- in a transaction that only reads
BEGIN READ ONLY;
SELECT simhash_cluster_settle('lived.t');
ROLLBACK;
DROP SCHEMA lived CASCADE;
DROP OWNED BY regress_groups_writer;
DROP ROLE regress_groups_owner, regress_groups_writer;
