-- The database of the suite `least`. A superuser has installed the extension in a schema of its
-- own, and the role that runs the regression tests owns nothing of it. The role has the rights that
-- the tests need: USAGE on that schema, to make objects and roles, and to read and write the
-- server's files.
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
-- The rights of roles that train models and make lists of words. The right of PUBLIC is granted
-- again by this role, so that a test can revoke it.
GRANT SELECT, INSERT, UPDATE, DELETE ON simhash_home.simhash_model, simhash_home.simhash_word_list
  TO regress_simhash_least WITH GRANT OPTION;
REVOKE SELECT ON simhash_home.simhash_model, simhash_home.simhash_word_list FROM PUBLIC;
-- The right to see which groups are marked, which nobody has unless it is granted.
GRANT SELECT ON simhash_home.simhash_unsettled TO regress_simhash_least;
SET ROLE regress_simhash_least;
GRANT SELECT ON simhash_home.simhash_model, simhash_home.simhash_word_list TO PUBLIC;
