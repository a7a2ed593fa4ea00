-- superuser only: it makes a database and the extension as other roles
-- The extension's scripts run as a superuser. Operators and functions that whoever installs it put
-- into its schema are not called by them.
CREATE ROLE regress_simhash_installs LOGIN;
CREATE DATABASE regress_simhash_trusted OWNER regress_simhash_installs;
\c regress_simhash_trusted
SET ROLE regress_simhash_installs;
CREATE SCHEMA trap;
CREATE FUNCTION trap.spring() RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'called by %', current_user; END $$;
DO $$
DECLARE
  l text; r text; op text; n int := 0;
  types CONSTANT text[] := '{oid,regclass,regrole,regtype,regproc,regprocedure,regnamespace,
    name,text,char,int4,int8,bool,oid[],text[],name[],regtype[],
    aclitem,aclitem[],"\"char\"","\"char\"[]"}';
BEGIN
  FOREACH l IN ARRAY types LOOP FOREACH r IN ARRAY types LOOP
    n := n + 1;
    EXECUTE format('CREATE FUNCTION trap.f%s(%s, %s) RETURNS boolean LANGUAGE plpgsql AS
      ''BEGIN PERFORM trap.spring(); RETURN true; END''', n, l, r);
    FOREACH op IN ARRAY '{=,<>,<,>,<=,>=,||,~,!~,~~,@>,<@,+,-}'::text[] LOOP
      EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap.f%s)',
        op, l, r, n);
    END LOOP;
  END LOOP; END LOOP;
END $$;
CREATE FUNCTION trap.format(text, oid, text) RETURNS text LANGUAGE plpgsql
  AS $$ BEGIN PERFORM trap.spring(); RETURN $1; END $$;
CREATE EXTENSION pg_simhash SCHEMA trap VERSION '0.1.0';
ALTER EXTENSION pg_simhash UPDATE;
DROP EXTENSION pg_simhash;
CREATE EXTENSION pg_simhash SCHEMA trap;
SELECT extowner::regrole FROM pg_extension WHERE extname = 'pg_simhash';
RESET ROLE;
\c regression
DROP DATABASE regress_simhash_trusted;
DROP ROLE regress_simhash_installs;
