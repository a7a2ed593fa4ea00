-- Rights in rewritten queries: nobody's function passes for one of the extension's, and a rewritten
-- query needs no right that the user's own query does not need.
-- superuser only: it makes databases and installs
\set SHOW_CONTEXT never
CREATE ROLE rights_owner;
CREATE ROLE rights_reader;
CREATE DATABASE planner_rights OWNER rights_owner;
\c planner_rights
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET ROLE rights_owner;
CREATE SCHEMA own;
CREATE EXTENSION pg_simhash SCHEMA own;
CREATE TABLE doc AS
  SELECT i AS id,
    ('x' || substr(md5((i / 2)::text), 1, 16))::bit(64)::bigint::own.fingerprint64 AS fp
  FROM generate_series(1, 2000) i;
CREATE INDEX doc_fp ON doc USING simhash (fp);
ANALYZE doc;
CREATE TABLE probe AS SELECT id, fp FROM doc WHERE id = 9;
SET search_path = own, public;

-- a function with the name of one of the extension's and with its symbol for a source; beside it
-- helpers of other types than the extension's
SET check_function_bodies = off;
CREATE FUNCTION own.hamming_evil(fingerprint64, text)
  RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'hamming_fingerprint64_wrapper';
CREATE FUNCTION own.hamming(fingerprint64, text)
  RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 64';
CREATE FUNCTION own.hamming_ball_or_null(text, bigint)
  RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 12345678::bigint';
CREATE FUNCTION own.hamming_within(fingerprint64, text, bigint)
  RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 12345678::bigint';
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE hamming_evil(fp, 'x'::text) <= 3;
\pset tuples_only on
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE hamming(fp, 'x'::text) <= 3 \g |sed '/Replaces: /d'
\pset tuples_only off
-- in another schema, before the extension's in the search path, with the same signature
CREATE SCHEMA other;
CREATE FUNCTION other.hamming_ball_or_null(fingerprint64, bigint)
  RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 12345678::bigint';
CREATE FUNCTION other.hamming(fingerprint64, fingerprint64)
  RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'hamming_fingerprint64_wrapper';
SET search_path = other, own, public;
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE own.hamming(fp, '0123456789abcdef'::fingerprint64) <= 3;
EXPLAIN (COSTS OFF) SELECT * FROM doc
  WHERE other.hamming(fp, '0123456789abcdef'::fingerprint64) <= 3;
-- as members of the extension, which its owner may add
ALTER EXTENSION pg_simhash ADD FUNCTION own.hamming_evil(fingerprint64, text);
ALTER EXTENSION pg_simhash ADD FUNCTION own.hamming(fingerprint64, text);
ALTER EXTENSION pg_simhash ADD FUNCTION own.hamming_ball_or_null(text, bigint);
ALTER EXTENSION pg_simhash ADD FUNCTION other.hamming(fingerprint64, fingerprint64);
ALTER EXTENSION pg_simhash ADD FUNCTION other.hamming_ball_or_null(fingerprint64, bigint);
\c -
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET ROLE rights_owner;
SET search_path = other, own, public;
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE hamming_evil(fp, 'x'::text) <= 3;
\pset tuples_only on
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE hamming(fp, 'x'::text) <= 3 \g |sed '/Replaces: /d'
\pset tuples_only off
EXPLAIN (COSTS OFF) SELECT * FROM doc WHERE own.hamming(fp, '0123456789abcdef'::fingerprint64) <= 3;
EXPLAIN (COSTS OFF) SELECT * FROM doc
  WHERE other.hamming(fp, '0123456789abcdef'::fingerprint64) <= 3;
ALTER EXTENSION pg_simhash DROP FUNCTION other.hamming(fingerprint64, fingerprint64);
ALTER EXTENSION pg_simhash DROP FUNCTION other.hamming_ball_or_null(fingerprint64, bigint);
ALTER EXTENSION pg_simhash DROP FUNCTION own.hamming_evil(fingerprint64, text);
ALTER EXTENSION pg_simhash DROP FUNCTION own.hamming(fingerprint64, text);
ALTER EXTENSION pg_simhash DROP FUNCTION own.hamming_ball_or_null(text, bigint);
DROP SCHEMA other CASCADE;
DROP FUNCTION own.hamming_evil, own.hamming(fingerprint64, text),
  own.hamming_ball_or_null(text, bigint), own.hamming_within(fingerprint64, text, bigint);

-- a view works for a role without USAGE on the schema, with an index or without: with a constant, a
-- parameter, a join, an array
SET search_path = public, own;
CREATE TABLE lexicons AS SELECT id, ARRAY[fp, fp] AS fps FROM doc;
CREATE INDEX lexicons_fps ON lexicons USING simhash (fps);
CREATE VIEW near AS SELECT id FROM doc WHERE hamming(fp, (SELECT fp FROM doc WHERE id = 9)) <= 3;
CREATE VIEW near_constant AS SELECT id FROM doc WHERE hamming(fp, '45c48cce2e2d7fbd') < 4;
CREATE VIEW near_join AS SELECT doc.id FROM probe JOIN doc ON hamming(doc.fp, probe.fp) <= 3;
CREATE VIEW near_both AS SELECT b.id FROM doc a JOIN doc b ON hamming(a.fp, b.fp) <= 3
  WHERE a.id = 9;
CREATE VIEW near_lexicons AS SELECT id FROM lexicons
  WHERE hamming(fps, (SELECT ARRAY[fp, fp] FROM probe)) <= 3;
CREATE VIEW distances AS SELECT id, hamming(fp, '45c48cce2e2d7fbd') AS distance FROM doc;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO rights_reader;
RESET search_path;
RESET ROLE;
CREATE FUNCTION both_ways(query text)
  RETURNS TABLE (rewritten text, plain text) LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL enable_seqscan = off;
  SET LOCAL simhash.enable_rewrite = on;
  EXECUTE 'SELECT string_agg(id::text, $q$,$q$ ORDER BY id) FROM ' || query INTO rewritten;
  SET LOCAL simhash.enable_rewrite = off;
  EXECUTE 'SELECT string_agg(id::text, $q$,$q$ ORDER BY id) FROM ' || query INTO plain;
  RETURN NEXT;
END $$;
SET ROLE rights_reader;
SELECT own.hamming(1, 2);
SELECT v, b.* FROM unnest('{near,near_constant,near_join,near_both,near_lexicons}'::text[]) v,
  both_ways(v) b;
SELECT * FROM both_ways('distances WHERE distance <= 3');
EXPLAIN (COSTS OFF) SELECT id FROM near_constant;

-- the extension moves: the same session finds it again
RESET ROLE;
ALTER EXTENSION pg_simhash SET SCHEMA public;
SET ROLE rights_reader;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE hamming(fp, '0123456789abcdef') <= 3;
SELECT * FROM both_ways('near');

-- EXECUTE revoked from the helper: the user's condition is left as it is, and works
RESET ROLE;
PREPARE of_everybody(fingerprint64) AS SELECT id FROM doc WHERE hamming(fp, $1) <= 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE of_everybody('45c48cce2e2d7fbd');
REVOKE EXECUTE ON FUNCTION hamming_ball_or_null(fingerprint64, bigint) FROM PUBLIC;
EXPLAIN (COSTS OFF) EXECUTE of_everybody('45c48cce2e2d7fbd');
SET ROLE rights_reader;
-- the plan that the superuser made is not the reader's
EXPLAIN (COSTS OFF) EXECUTE of_everybody('45c48cce2e2d7fbd');
EXECUTE of_everybody('45c48cce2e2d7fbd');
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE hamming(fp, '0123456789abcdef') <= 3;
SELECT v, b.* FROM unnest('{near,near_constant,near_join,near_both,near_lexicons}'::text[]) v,
  both_ways(v) b;
SELECT count(*) FROM doc a JOIN doc b ON hamming_within(a.fp, b.fp, 3) WHERE a.id = 9;
RESET ROLE;
EXPLAIN (COSTS OFF) EXECUTE of_everybody('45c48cce2e2d7fbd');
-- revoked from the function of <@, then from hamming_within
GRANT EXECUTE ON FUNCTION hamming_ball_or_null(fingerprint64, bigint) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION fingerprint64_within(fingerprint64, hamming_ball64) FROM PUBLIC;
SET ROLE rights_reader;
SELECT v, b.* FROM unnest('{near,near_constant,near_join,near_both,near_lexicons}'::text[]) v,
  both_ways(v) b;
RESET ROLE;
GRANT EXECUTE ON FUNCTION fingerprint64_within(fingerprint64, hamming_ball64) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION hamming_within(fingerprint64, fingerprint64, bigint) FROM PUBLIC;
SET ROLE rights_reader;
SELECT v, b.* FROM unnest('{near,near_constant,near_join,near_both,near_lexicons}'::text[]) v,
  both_ways(v) b;
-- revoked from hamming itself: the user's query is refused, rewritten or not
RESET ROLE;
GRANT EXECUTE ON FUNCTION hamming_within(fingerprint64, fingerprint64, bigint) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION hamming(fingerprint64, fingerprint64) FROM PUBLIC;
SET ROLE rights_reader;
SELECT id FROM near_constant;
SELECT id FROM near_both;
EXECUTE of_everybody('45c48cce2e2d7fbd');
RESET ROLE;
SELECT id FROM near_constant;

-- the extension is dropped and created again within one session
DROP EXTENSION pg_simhash CASCADE;
SELECT id FROM doc WHERE lower(id::text) = '9';
CREATE EXTENSION pg_simhash;
CREATE TABLE again AS SELECT i::bigint::fingerprint64 AS fp FROM generate_series(1, 1000) i;
CREATE INDEX again_fp ON again USING simhash (fp);
EXPLAIN (COSTS OFF) SELECT fp FROM again WHERE hamming(fp, '0000000000000007') <= 0;
SELECT fp FROM again WHERE hamming(fp, '0000000000000007') <= 0;

\c regression
DROP DATABASE planner_rights;
DROP ROLE rights_owner;
DROP ROLE rights_reader;
