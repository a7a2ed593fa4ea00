-- Objects for sqlsmith besides those of arguments.sql: tables with the trigger, partitioned and
-- inheriting ones among them.
CREATE TABLE kept (id bigint PRIMARY KEY, body text, fp fingerprint64, link bigint, dup boolean);
CREATE INDEX kept_fp ON kept USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON kept FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('body=body', 'fp=fp', 'action=link', 'link=link', 'flag=dup');
INSERT INTO kept (id, body) SELECT id, body FROM texts;
CREATE TABLE kept_child (extra text) INHERITS (kept);
CREATE INDEX kept_child_fp ON kept_child USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON kept_child
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id');
CREATE TRIGGER dedup BEFORE INSERT OR UPDATE ON parts
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
CREATE TABLE excluded (fp fingerprint64, EXCLUDE USING simhash (hamming_ball(fp, 1) WITH ~=));
INSERT INTO excluded SELECT fp FROM rows ON CONFLICT DO NOTHING;
CREATE VIEW near AS SELECT a.id AS a, b.id AS b FROM rows a JOIN rows b ON hamming(a.fp, b.fp) <= 3;
-- Functions of this schema run any text as SQL.
DROP SCHEMA test CASCADE;
DROP FOREIGN TABLE rows_foreign;
DROP TABLE invalid;
GRANT ALL ON ALL TABLES IN SCHEMA public TO smith;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO smith;
-- sqlsmith reads pg_proc without naming its schema. This view shows it the extension's functions
-- and only some hundreds of PostgreSQL's, so that it calls the extension's often.
CREATE SCHEMA shadow;
CREATE VIEW shadow.pg_proc AS SELECT * FROM pg_catalog.pg_proc p
  WHERE 'internal'::regtype <> ALL (proargtypes::oid[])
    AND (oid IN (
        SELECT objid FROM pg_depend
        WHERE classid = 'pg_catalog.pg_proc'::regclass AND deptype = 'e')
      OR pronamespace = 'pg_catalog'::regnamespace AND oid::bigint % 7 = 0 AND provolatile <> 'v'
        AND NOT EXISTS (SELECT FROM pg_type t
          WHERE t.typtype = 'p' AND (t.oid = ANY (proargtypes::oid[]) OR t.oid = prorettype)));
GRANT USAGE ON SCHEMA shadow TO smith;
GRANT SELECT ON shadow.pg_proc TO smith;
ALTER ROLE smith SET search_path = shadow, public, pg_catalog;
ANALYZE;
