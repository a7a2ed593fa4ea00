-- The database of the suite `least`: a superuser made the extension in a schema of its own, and the
-- role that runs the regression tests owns nothing of it. It has what its tests need: USAGE on that
-- schema, the right to make objects and roles, and the server's files, for one copies rows.
CREATE ROLE regress_simhash_least LOGIN CREATEROLE;
GRANT pg_read_server_files, pg_write_server_files, pg_read_all_settings TO regress_simhash_least;
CREATE DATABASE least;
GRANT CREATE, TEMPORARY ON DATABASE least TO regress_simhash_least;
ALTER ROLE regress_simhash_least IN DATABASE least SET search_path = "$user", public, simhash_home;
\c least
CREATE SCHEMA simhash_home;
CREATE EXTENSION pg_simhash SCHEMA simhash_home;
GRANT USAGE ON SCHEMA simhash_home TO regress_simhash_least WITH GRANT OPTION;
GRANT CREATE ON SCHEMA public TO PUBLIC;
-- What one grants to those who train models; and the right that PUBLIC has, from a hand that may
-- take it back, as one test does.
GRANT SELECT, INSERT, UPDATE, DELETE ON simhash_home.simhash_model TO regress_simhash_least
  WITH GRANT OPTION;
REVOKE SELECT ON simhash_home.simhash_model FROM PUBLIC;
SET ROLE regress_simhash_least;
GRANT SELECT ON simhash_home.simhash_model TO PUBLIC;
