-- Nobody lends rights by accident: a superuser calls functions of this extension on another role's
-- relation, and no code that comes with the relation ever runs as the superuser.
-- superuser only: it is about a superuser
CREATE ROLE regress_trapper;
CREATE SCHEMA trap AUTHORIZATION regress_trapper;
SET ROLE regress_trapper;
SET client_min_messages = warning;
-- Sequences count, because an ERROR does not undo them.
CREATE SEQUENCE trap.ran MINVALUE 0 START 0;
CREATE SEQUENCE trap.sprung MINVALUE 0 START 0;
CREATE FUNCTION trap.spring() RETURNS void VOLATILE LANGUAGE plpgsql AS $$
BEGIN
  PERFORM nextval('trap.ran');
  IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
    PERFORM nextval('trap.sprung');
  END IF;
  BEGIN
    EXECUTE 'ALTER ROLE regress_trapper SUPERUSER';
  EXCEPTION WHEN insufficient_privilege THEN NULL;
  END;
END $$;
CREATE FUNCTION trap.fp(public.fingerprint64)
  RETURNS public.fingerprint64 IMMUTABLE LANGUAGE plpgsql
  AS $$ BEGIN PERFORM trap.spring(); RETURN $1; END $$;
CREATE FUNCTION trap.body(text) RETURNS text IMMUTABLE LANGUAGE plpgsql
  AS $$ BEGIN PERFORM trap.spring(); RETURN $1; END $$;
CREATE FUNCTION trap.number(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql
  AS $$ BEGIN PERFORM trap.spring(); RETURN $1; END $$;
CREATE FUNCTION trap.yes(bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
  AS $$ BEGIN PERFORM trap.spring(); RETURN true; END $$;
CREATE FUNCTION trap.fire() RETURNS trigger LANGUAGE plpgsql
  AS $$ BEGIN PERFORM trap.spring(); RETURN NEW; END $$;

-- Every place of a table that can hold a function. Calls with constant arguments are evaluated as
-- soon as the expression is simplified.
CREATE DOMAIN trap.checked AS bigint CHECK (trap.yes(VALUE));
CREATE TABLE trap.t (
  id bigint PRIMARY KEY DEFAULT trap.number(1) CHECK (trap.yes(id) AND trap.yes(7)),
  fp public.fingerprint64,
  made public.fingerprint64 GENERATED ALWAYS AS (trap.fp(fp)) STORED,
  number trap.checked DEFAULT 3, body text DEFAULT 'one two three', story bigint);
INSERT INTO trap.t SELECT i, (i * 7)::bigint::public.fingerprint64 FROM generate_series(1, 20) i;
CREATE INDEX t_plain ON trap.t USING simhash (fp);
CREATE INDEX t_made ON trap.t USING simhash (made);
CREATE INDEX t_expression ON trap.t USING simhash (trap.fp(fp));
CREATE INDEX t_constant ON trap.t USING simhash ((trap.fp('00000000000000ff')));
CREATE INDEX t_bigint ON trap.t
  USING simhash ((fp::bigint # trap.number(5)) public.hamming_int8_ops);
CREATE INDEX t_partial ON trap.t USING simhash (fp) WHERE trap.yes(id);
CREATE INDEX t_folded ON trap.t USING simhash (fp) WHERE trap.yes(1);
CREATE INDEX t_both ON trap.t USING simhash (trap.fp(fp)) WHERE trap.yes(1) AND trap.yes(id);
CREATE INDEX t_body ON trap.t USING simhash (trap.body(body)) WHERE trap.yes(10);
CREATE INDEX t_near ON trap.t USING simhash (public.near_text(trap.body(body), 0.5));
CREATE INDEX t_passages ON trap.t USING simhash (body public.text_passage_ops) WITH (words = 5);
CREATE INDEX t_quoted ON trap.t USING simhash (body public.text_passage_ops) WITH (words = 5)
  WHERE trap.yes(11);
CREATE INDEX t_btree ON trap.t (trap.number(id), trap.number(9)) WHERE trap.yes(2);
CREATE VIEW trap.v AS SELECT trap.fp(fp) AS fp, trap.number(4) FROM trap.t WHERE trap.yes(5);
CREATE MATERIALIZED VIEW trap.m AS SELECT trap.fp(fp) AS fp, body FROM trap.t;
CREATE INDEX m_fp ON trap.m USING simhash (fp) WHERE trap.yes(6);
CREATE TABLE trap.parts (id bigint, fp public.fingerprint64, body text DEFAULT 'one two three')
  PARTITION BY LIST (trap.number(id));
CREATE TABLE trap.part PARTITION OF trap.parts DEFAULT;
CREATE INDEX parts_fp ON trap.parts USING simhash (trap.fp(fp)) WHERE trap.yes(8);
INSERT INTO trap.parts SELECT id, fp FROM trap.t;
CREATE TABLE trap.child (CHECK (trap.yes(id))) INHERITS (trap.t);
CREATE INDEX child_fp ON trap.child USING simhash (trap.fp(fp)) WHERE trap.yes(3);
INSERT INTO trap.child SELECT id, fp FROM trap.t;
CREATE TABLE trap.secured (id bigint, fp public.fingerprint64, body text DEFAULT 'one two three');
INSERT INTO trap.secured SELECT id, fp FROM trap.t;
ALTER TABLE trap.secured ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY trapped ON trap.secured USING (trap.yes(id) AND trap.yes(0));
CREATE INDEX secured_fp ON trap.secured USING simhash (fp);
CREATE INDEX secured_both ON trap.secured USING simhash (trap.fp(fp)) WHERE trap.yes(4);
CREATE TRIGGER fire BEFORE INSERT OR UPDATE OR DELETE ON trap.t
  FOR EACH ROW EXECUTE FUNCTION trap.fire();
RESET ROLE;
SELECT setval('trap.ran', 0, false) AS ran, setval('trap.sprung', 0, false) AS sprung;

-- A new session has nothing of it in its caches.
\c -
SET client_min_messages = error;
CREATE FUNCTION pg_temp.call_all(OUT function regprocedure, OUT answered bigint, OUT refused bigint)
  RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
  relation regclass;
  arguments text;
BEGIN
  -- Every function of the extension that takes a relation. Other arguments: true and false, numbers
  -- that are a distance or the size of a shingle, and how texts are compared. Not keep: that is a
  -- query of the caller's on the table, and PostgreSQL runs it as one.
  FOR function IN
    SELECT p.oid FROM pg_proc p
      JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
      JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass
        AND d.refobjid = e.oid AND e.extname = 'pg_simhash'
    WHERE 'regclass'::regtype = ANY (p.proargtypes) ORDER BY p.oid::regprocedure::text COLLATE "C"
  LOOP
    answered := 0;
    refused := 0;
    FOR relation IN SELECT oid FROM pg_class WHERE relnamespace = 'trap'::regnamespace ORDER BY oid
    LOOP
      FOR arguments IN
        WITH RECURSIVE call AS (
          SELECT 0 AS n, '' AS list
          UNION ALL
          SELECT n + 1, list || CASE WHEN n > 0 THEN ', ' ELSE '' END || value
          FROM call, pg_proc p, LATERAL unnest(CASE p.proargtypes[n]
              WHEN 'regclass'::regtype THEN ARRAY[
                -- A table is no other one than itself.
                CASE WHEN p.proname = 'simhash_duplicates' AND n > 0 THEN '''trap.child_fp'''
                  ELSE quote_literal(relation) END || '::regclass']
              WHEN 'boolean'::regtype THEN ARRAY['true', 'false']
              WHEN 'integer'::regtype THEN
                ARRAY[CASE p.proargnames[n + 1] WHEN 'words' THEN '5' ELSE '3' END]
              WHEN 'double precision'::regtype THEN ARRAY['0.5']
              WHEN 'text'::regtype THEN CASE p.proargnames[n + 1]
                WHEN 'body' THEN ARRAY['''body''']
                WHEN 'measure' THEN ARRAY['''jaccard''', '''containment''']
                WHEN 'linkage' THEN ARRAY['''star''']
                WHEN 'content' THEN ARRAY['''texts''', '''passages''', '''fingerprints''']
                WHEN 'numbers' THEN ARRAY[''''''] ELSE ARRAY['NULL'] END
              WHEN 'bigint'::regtype THEN ARRAY['0', '4294967296']
              WHEN 'bytea'::regtype THEN ARRAY['''\x010000000000''']
              WHEN 'text[]'::regtype THEN ARRAY['VARIADIC ''{fp=fp,cluster=story}''']
              WHEN 'public.simhash_config'::regtype THEN ARRAY['''{}'''] END) value
          WHERE p.oid = function AND n < p.pronargs)
        SELECT list FROM call WHERE n = (SELECT pronargs FROM pg_proc WHERE oid = function)
      LOOP
        BEGIN
          EXECUTE format('SELECT count(*) FROM %s(%s)', function::oid::regproc, arguments);
          answered := answered + 1;
        EXCEPTION WHEN OTHERS THEN refused := refused + 1;
        END;
      END LOOP;
    END LOOP;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM pg_temp.call_all();
RESET client_min_messages;
-- The functions did run, as their owner.
SELECT last_value > 0 AS ran FROM trap.ran;
SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END AS sprung FROM trap.sprung;
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_trapper';
SELECT current_user = session_user AS same, current_setting('search_path') AS search_path;

-- The role is the old one after an ERROR too, caught or not, and with a cursor left half read.
DO $$
BEGIN
  PERFORM simhash_index_check('trap.t_btree');
EXCEPTION WHEN wrong_object_type THEN
  RAISE WARNING 'same user: %', current_user = session_user;
END $$;
SELECT simhash_index_check('trap.t_btree');
SELECT current_user = session_user AS same;
BEGIN;
DECLARE half CURSOR FOR SELECT *, current_user = session_user AS same
  FROM simhash_pairs('trap.t_both', 64);
FETCH 1 FROM half;
SELECT current_user = session_user AS same;
ROLLBACK;

-- So it is where passages are looked up as well as fingerprints, which opens two indexes.
UPDATE trap.t SET body = 'every text has this passage of eight words';
SELECT count(*) > 0 AS found FROM simhash_pairs('trap.t_plain', 3, body => 'body',
  similarity => 0.9, measure => 'containment');
SELECT current_user = session_user AS same;
SELECT (simhash_pairs('trap.t_plain', 0, body => 'body', similarity => 0.9,
  measure => 'containment')).distance > 0 AS farther LIMIT 1;
SELECT current_user = session_user AS same;

-- Two tables of two owners, one of whom is the superuser: functions in the expressions of each
-- one's index run as its own, whichever comes first.
CREATE TABLE own (id bigint PRIMARY KEY, fp fingerprint64, body text);
INSERT INTO own SELECT i, (i * 7)::bigint::fingerprint64,
  'every text has this passage of eight words' FROM generate_series(1, 20) i;
CREATE INDEX own_fp ON own USING simhash (fp);
CREATE INDEX own_body ON own USING simhash (body);
CREATE INDEX own_near ON own USING simhash (near_text(body, 0.5));
CREATE INDEX own_passages ON own USING simhash (body text_passage_ops) WITH (words = 5);
-- The UPDATE above fired a trigger of his.
ALTER ROLE regress_trapper NOSUPERUSER;
SET ROLE regress_trapper;
CREATE INDEX t_words ON trap.t USING simhash ((trap.body(body)) public.text_passage_ops)
  WITH (words = 5);
CREATE TABLE trap.halves (body text) PARTITION BY LIST (body);
CREATE TABLE trap.half PARTITION OF trap.halves DEFAULT;
INSERT INTO trap.halves SELECT body FROM trap.t;
CREATE INDEX halves_body ON trap.halves USING simhash (trap.body(body));
RESET ROLE;
CREATE TABLE other_half (body text);
INSERT INTO other_half SELECT body FROM own;
CREATE INDEX other_half_body ON other_half USING simhash (body);
SELECT setval('trap.ran', 0, false) AS ran, setval('trap.sprung', 0, false) AS sprung;
\c -
SET client_min_messages = warning;
SELECT mine, yours, (SELECT count(*) > 0 FROM simhash_pairs(mine, other => yours)) AS pairs,
  (SELECT count(*) > 0 FROM simhash_pairs(yours, other => mine)) AS pairs_back,
  (SELECT count(*) > 0 FROM simhash_duplicates(mine, other => yours)) AS duplicates,
  (SELECT count(*) > 0 FROM simhash_duplicates(yours, other => mine)) AS duplicates_back
FROM (VALUES ('trap.t_body'::regclass, 'own_body'::regclass), ('trap.t_near', 'own_near'),
  ('trap.half_body_idx', 'other_half_body')) q (mine, yours);
SELECT (SELECT count(*) > 0
    FROM simhash_passages('trap.t_words', other => 'own_passages')) AS there,
  (SELECT count(*) > 0 FROM simhash_passages('own_passages', other => 'trap.t_words')) AS back;
SELECT mine, (SELECT count(*) > 0 FROM simhash_pairs(mine, other => 'own_fp', distance => 64,
    body => 'body', similarity => 0.9, measure => 'containment')) AS there,
  (SELECT count(*) > 0 FROM simhash_pairs('own_fp', other => mine, distance => 64,
    body => 'body', similarity => 0.9, measure => 'containment')) AS back
FROM (VALUES ('trap.t_plain'::regclass), ('trap.t_expression')) q (mine);
RESET client_min_messages;
SELECT last_value > 0 AS ran FROM trap.ran;
SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END AS sprung FROM trap.sprung;
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_trapper';

-- An ERROR of a function in an expression ends what was begun, also where a function in another
-- expression catches it.
CREATE TABLE inner_text (body text);
INSERT INTO inner_text SELECT body FROM own;
CREATE FUNCTION divides(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('test.fails', true) = 'yes' THEN PERFORM 1 / 0; END IF;
  RETURN body;
END $$;
CREATE INDEX inner_text_body ON inner_text USING simhash ((public.divides(body)));
CREATE TABLE outer_text (body text);
INSERT INTO outer_text SELECT body FROM own;
CREATE FUNCTION catches(body text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('test.fails', true) = 'yes' THEN
    BEGIN
      PERFORM public.simhash_pairs('public.inner_text_body');
    EXCEPTION WHEN division_by_zero THEN NULL;
    END;
  END IF;
  RETURN body;
END $$;
CREATE INDEX outer_text_body ON outer_text USING simhash ((public.catches(body)));
\set SHOW_CONTEXT never
SET test.fails = 'yes';
SELECT count(*) FROM simhash_pairs('inner_text_body');
SELECT count(*) FROM simhash_pairs('outer_text_body');
SELECT count(*) FROM simhash_pairs('outer_text_body', other => 'own_body');
SELECT current_user = session_user AS same, current_setting('search_path') AS search_path;

-- The trigger does not lend the rights of the role that inserts to the owners of other tables of
-- the family.
CREATE TABLE shared (id bigint PRIMARY KEY, fp fingerprint64);
CREATE INDEX ON shared USING simhash (fp);
CREATE TRIGGER dedup BEFORE INSERT ON shared FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp');
CREATE TABLE trap.kid () INHERITS (shared);
ALTER TABLE trap.kid OWNER TO regress_trapper;
SET ROLE regress_trapper;
CREATE INDEX kid_fp ON trap.kid USING simhash (fp) WHERE trap.yes(1);
CREATE INDEX kid_both ON trap.kid USING simhash (fp) WHERE fp IS NOT NULL AND trap.yes(1);
CREATE INDEX kid_made ON trap.kid USING simhash (trap.fp('00000000000000ff'));
CREATE UNIQUE INDEX kid_id ON trap.kid (id) WHERE trap.yes(1);
RESET ROLE;
SELECT setval('trap.sprung', 0, false) AS sprung;
\c -
INSERT INTO shared VALUES (1, '00000000000000ff');
SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END AS sprung FROM trap.sprung;

ALTER ROLE regress_trapper NOSUPERUSER;
SET client_min_messages = warning;
DROP SCHEMA trap CASCADE;
DROP TABLE shared, own, other_half, inner_text, outer_text;
DROP FUNCTION divides, catches;
DROP ROLE regress_trapper;
