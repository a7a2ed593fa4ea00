-- Rights in queries of near_duplicate: row-level security, functions that a role may not execute,
-- and another server.
-- superuser only: it makes roles and a server
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE near_owner;
CREATE ROLE near_reader;
SELECT extnamespace::regnamespace AS home FROM pg_extension WHERE extname = 'pg_simhash' \gset
GRANT USAGE ON SCHEMA :home TO near_owner, near_reader;
CREATE TABLE near_r (id integer PRIMARY KEY, tenant integer, body text, asked double precision);
ALTER TABLE near_r OWNER TO near_owner;
-- asked of every other tenant's rows is no similarity
INSERT INTO near_r
  SELECT i, i % 3, 'w' || i / 9 || ' x' || i / 9 || ' y' || i / 9 || ' some words of '
    || string_agg(substr(md5(i / 9 || 'x' || w), 1, 4), ' '),
    CASE WHEN i % 3 = 1 THEN 0.7 ELSE i END
  FROM generate_series(1, 3000) i, generate_series(1, 20) w GROUP BY i;
CREATE INDEX near_r_body ON near_r USING simhash (body);
CREATE TABLE near_probe AS SELECT id, body FROM near_r WHERE id IN (910, 1000);
GRANT SELECT ON near_r, near_probe TO near_reader;
VACUUM ANALYZE near_r, near_probe;
SELECT body AS asked FROM near_r WHERE id = 910 \gset

-- what tells in a plan
CREATE FUNCTION near_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    line := regexp_replace(line, '<w.*>', '<...>');
    line := regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0');
    IF line ~ 'Scan|~=|near_duplicate' THEN
      RETURN NEXT regexp_replace(line, '''w[^'']*''', '''...''');
    END IF;
  END LOOP;
END $$;

-- row-level security
ALTER TABLE near_r ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON near_r USING (tenant = 1);
SET ROLE near_reader;
SELECT near_plan(
  $$SELECT id FROM near_r WHERE near_duplicate(body, $$ || quote_literal(:'asked') || ')');
SELECT id FROM near_r WHERE near_duplicate(body, :'asked') ORDER BY id;
SELECT near_plan('SELECT id FROM near_r
  WHERE near_duplicate((SELECT body FROM near_probe WHERE id = 910), body, 0.8)');
SELECT id FROM near_r
  WHERE near_duplicate((SELECT body FROM near_probe WHERE id = 910), body, 0.8) ORDER BY id;
-- a function of a sub-select is not taken for leakproof, a sub-select is
SELECT near_plan('SELECT id FROM near_r
  WHERE body ~= (SELECT near_text(body, 0.8) FROM near_probe WHERE id = 910)');
PREPARE near (text) AS SELECT id FROM near_r WHERE near_duplicate(body, $1) ORDER BY id;
SET plan_cache_mode = force_generic_plan;
SELECT near_plan('EXECUTE near(''x'')');
EXECUTE near (:'asked');
RESET plan_cache_mode;
WITH d AS (SELECT id FROM near_r WHERE near_duplicate(body, :'asked', 0.5)) SELECT count(*) FROM d;
-- both texts are columns, one of hidden rows: not by the index
SELECT near_plan('SELECT r.id FROM near_probe p JOIN near_r r ON near_duplicate(r.body, p.body)');
SELECT p.id, r.id FROM near_probe p JOIN near_r r ON near_duplicate(r.body, p.body)
  ORDER BY 1, 2;
-- an ERROR would tell of hidden rows: the policy comes first
SELECT count(*) FROM near_r WHERE near_duplicate('a b', 'a b', asked);
SELECT count(*) FROM near_r WHERE near_duplicate(body, :'asked', asked);
SELECT count(*) FROM near_r WHERE near_duplicate(body, :'asked', 7);
SET simhash.enable_rewrite = off;
SELECT near_plan(
  $$SELECT id FROM near_r WHERE near_duplicate(body, $$ || quote_literal(:'asked') || ')');
SELECT id FROM near_r WHERE near_duplicate(body, :'asked') ORDER BY id;
RESET simhash.enable_rewrite;
RESET ROLE;
ALTER TABLE near_r DISABLE ROW LEVEL SECURITY;

-- EXECUTE revoked from what the condition is made of: the call stays, and works
CREATE TABLE near_x (id integer, body text, EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=));
INSERT INTO near_x SELECT id, body FROM near_r WHERE id % 9 = 1 AND id < 1500;
VACUUM ANALYZE near_x;
GRANT SELECT ON near_x TO near_reader;
PREPARE of_everybody (text) AS SELECT count(*) FROM near_r WHERE near_duplicate(body, $1);
PREPARE of_constraint (text) AS SELECT count(*) FROM near_x WHERE near_duplicate(body, $1, 0.8);
SET plan_cache_mode = force_generic_plan;
SELECT near_plan('EXECUTE of_everybody(''x'')');
SELECT near_plan('EXECUTE of_constraint(''x'')');
REVOKE EXECUTE ON FUNCTION near_text(text, double precision, simhash_config) FROM PUBLIC;
SELECT near_plan('EXECUTE of_everybody(''x'')');
SET ROLE near_reader;
-- the plan that the superuser made is not the reader's
SELECT near_plan('EXECUTE of_everybody(''x'')');
SELECT near_plan('EXECUTE of_constraint(''x'')');
EXECUTE of_everybody (:'asked');
EXECUTE of_constraint (:'asked');
RESET ROLE;
GRANT EXECUTE ON FUNCTION near_text(text, double precision, simhash_config) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION near_text_near(text, near_text) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION near_text_near(near_text, near_text) FROM PUBLIC;
SET ROLE near_reader;
SELECT near_plan('EXECUTE of_everybody(''x'')');
SELECT near_plan('EXECUTE of_constraint(''x'')');
EXECUTE of_everybody (:'asked');
EXECUTE of_constraint (:'asked');
RESET ROLE;
GRANT EXECUTE ON FUNCTION near_text_near(text, near_text) TO PUBLIC;
GRANT EXECUTE ON FUNCTION near_text_near(near_text, near_text) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION near_duplicate(text, text, double precision, simhash_config) FROM PUBLIC;
SET ROLE near_reader;
EXECUTE of_everybody (:'asked');
EXECUTE of_constraint (:'asked');
RESET ROLE;
GRANT EXECUTE ON FUNCTION near_duplicate(text, text, double precision, simhash_config) TO PUBLIC;
RESET plan_cache_mode;
DEALLOCATE ALL;

-- another server, which has the extension as well: the call goes there as it was written
CREATE EXTENSION postgres_fdw;
DO $$ BEGIN
  EXECUTE format('CREATE SERVER near_server FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host %L, port %L, dbname %L, extensions ''pg_simhash'')',
    split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'),
    current_database());
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER near_server OPTIONS (user :'USER');
CREATE FOREIGN TABLE near_f (id integer, tenant integer, body text) SERVER near_server
  OPTIONS (table_name 'near_r');
CREATE TABLE near_part (id integer, body text) PARTITION BY RANGE (id);
CREATE TABLE near_local PARTITION OF near_part (
  EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=))
  FOR VALUES FROM (0) TO (10000);
CREATE FOREIGN TABLE near_far PARTITION OF near_part FOR VALUES FROM (10000) TO (20000)
  SERVER near_server OPTIONS (table_name 'near_x');
INSERT INTO near_local SELECT * FROM near_x;
VACUUM ANALYZE near_local;
CREATE FUNCTION near_remote(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF, VERBOSE) ' || query LOOP
    CONTINUE WHEN line !~ 'Remote SQL|~=';
    RETURN NEXT trim(substring(line FROM '^[^:]*:')) || ' ' || concat_ws(' ',
      substring(line FROM 'FROM [a-z_.]*'), substring(line FROM 'near_duplicate|~='));
  END LOOP;
END $$;
SELECT near_remote(
  $$SELECT id FROM near_f WHERE near_duplicate(body, $$ || quote_literal(:'asked') || ')');
SELECT count(*) FROM near_f WHERE near_duplicate(body, :'asked');
SELECT near_remote($$SELECT id FROM near_part WHERE near_duplicate(body, $$
  || quote_literal(:'asked') || ', 0.8)');
SELECT count(*) FROM near_part WHERE near_duplicate(body, :'asked', 0.8);
DROP TABLE near_part;
DROP EXTENSION postgres_fdw CASCADE;
DROP TABLE near_r, near_x, near_probe;
DROP FUNCTION near_plan, near_remote;
REVOKE USAGE ON SCHEMA :home FROM near_owner, near_reader;
DROP ROLE near_owner, near_reader;
