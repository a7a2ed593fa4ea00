-- The argument scope= of the trigger simhash_dedup: only rows with equal values in its columns are
-- duplicates of each other. Fingerprints are written out, so that distances can be counted by eye.
\set SHOW_CONTEXT never
\pset null -
SELECT 'dedup_scope, ' || current_setting('search_path') AS path \gset
CREATE SCHEMA dedup_scope;
SET search_path = :path;

-- within a tenant
CREATE TABLE doc (id int PRIMARY KEY, tenant int, fp fingerprint64);
CREATE INDEX doc_fp ON doc USING simhash (tenant, fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON doc
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
INSERT INTO doc VALUES (1, 1, '0000000000000000'), (2, 2, '0000000000000001'),
  (3, 1, '0000000000000007'), (4, 2, 'ff00000000000000') RETURNING id;
COPY doc FROM stdin (DELIMITER ',');
5,2,ff00000000000001
6,3,ff00000000000001
\.
-- nothing is equal to NULL, not even NULL: such rows have no duplicates, and need no lock
BEGIN;
INSERT INTO doc VALUES (7, NULL, 'ff00000000000000'), (8, NULL, 'ff00000000000000') RETURNING id;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
COMMIT;
SELECT * FROM doc ORDER BY id;
-- an update of the scope alone is judged in the new scope, or not done
UPDATE doc SET tenant = 2 WHERE id = 1 RETURNING *;
UPDATE doc SET tenant = 3 WHERE id = 1 RETURNING *;
UPDATE doc SET tenant = 2 WHERE id = 7 RETURNING *;
UPDATE doc SET tenant = 4 WHERE id = 7 RETURNING *;
UPDATE doc SET tenant = NULL WHERE id = 6 RETURNING *;
UPDATE doc SET tenant = 4, fp = 'ff00000000000003' WHERE id = 6 RETURNING *;
UPDATE doc SET tenant = 4, fp = 'ffff000000000003' WHERE id = 6 RETURNING *;
-- an update that leaves both alone takes no lock, one of the scope takes one
BEGIN;
UPDATE doc SET tenant = tenant, fp = fp, id = id;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
UPDATE doc SET tenant = 5 WHERE id = 6;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
ROLLBACK;
-- an upsert moves a row to another tenant, unless it has a duplicate there
INSERT INTO doc VALUES (1, 5, '0000000000000000')
  ON CONFLICT (id) DO UPDATE SET tenant = EXCLUDED.tenant RETURNING *;
INSERT INTO doc VALUES (1, 2, '0000000000000000')
  ON CONFLICT (id) DO UPDATE SET tenant = EXCLUDED.tenant RETURNING *;
INSERT INTO doc VALUES (2, 2, '0000000000000000')
  ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp RETURNING *;
SELECT * FROM doc ORDER BY id;

-- UPDATE OF names what the trigger shall watch
CREATE TABLE watched (id int PRIMARY KEY, tenant int, fp fingerprint64);
CREATE INDEX ON watched USING simhash (tenant, fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE OF fp ON watched
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
INSERT INTO watched VALUES (1, 1, '0000000000000000'), (2, 2, '0000000000000000');
UPDATE watched SET tenant = 1 WHERE id = 2 RETURNING *;
UPDATE watched SET tenant = 2 WHERE id = 2;
DROP TRIGGER no_near ON watched;
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE OF fp, tenant ON watched
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
UPDATE watched SET tenant = 1 WHERE id = 2 RETURNING *;

-- error, with several columns: DETAIL names them
CREATE TABLE strict (id int PRIMARY KEY, tenant int, "Lang" text, fp fingerprint64);
CREATE INDEX ON strict USING simhash ("Lang", tenant, fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON strict FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope= tenant , Lang', 'action=error', 'distance=5');
INSERT INTO strict VALUES (1, 1, 'en', '0000000000000000'), (2, 1, 'de', '0000000000000000'),
  (3, 2, 'en', '0000000000000000'), (4, 1, '', '0000000000000000');
INSERT INTO strict VALUES (5, 1, 'de', '000000000000001f');
UPDATE strict SET tenant = 1 WHERE id = 3;
UPDATE strict SET tenant = 1, "Lang" = NULL WHERE id = 3;
CREATE ROLE dedup_scope_writer ROLE CURRENT_USER;
GRANT USAGE ON SCHEMA dedup_scope TO dedup_scope_writer;
GRANT INSERT ON strict TO dedup_scope_writer;
SET ROLE dedup_scope_writer;
INSERT INTO dedup_scope.strict VALUES (5, 1, 'de', '000000000000001f');
RESET ROLE;

-- link and flag: to the nearest row of the scope
CREATE TABLE linked (id int PRIMARY KEY, tenant text, fp fingerprint64, same_as int, near boolean);
CREATE INDEX ON linked USING simhash (tenant, fp);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON linked FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant', 'action=link', 'link=same_as',
    'flag=near');
INSERT INTO linked VALUES (1, 'a', '0000000000000000'), (2, 'b', '0000000000000001'),
  (3, 'a', '0000000000000001'), (4, 'b', '0000000000000000'), (5, NULL, '0000000000000000');
SELECT * FROM linked ORDER BY id;
UPDATE linked SET tenant = 'b' WHERE id = 3 RETURNING *;
UPDATE linked SET tenant = NULL WHERE id = 3 RETURNING *;
UPDATE linked SET tenant = 'a' WHERE id = 5 RETURNING *;

-- Columns of many types, with an index on both columns, on the fingerprint alone, on neither. The
-- columns' own = says what is right.
CREATE TYPE mood AS ENUM ('calm', 'merry');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN tenant AS text CHECK (VALUE <> '');
CREATE FUNCTION wrong_rows(type text, a text, b text) RETURNS TABLE (index text, row_id int)
LANGUAGE plpgsql AS $$
DECLARE columns text;
BEGIN
  FOREACH columns IN ARRAY '{"v, fp",fp,""}'::text[] LOOP
    EXECUTE format('CREATE TABLE typed (id int, v %s, fp fingerprint64)', type);
    -- Every value thrice, the last time with a fingerprint that is not near.
    CREATE TABLE given AS TABLE typed;
    EXECUTE format('INSERT INTO given SELECT row_number() OVER (), v::%s,
        (CASE WHEN n < 3 THEN n ELSE -n END)::bigint::fingerprint64
      FROM generate_series(1, 3) n, unnest($1::text[]) v', type) USING ARRAY[a, b, NULL, a, b];
    BEGIN
      IF columns <> '' THEN
        EXECUTE format('CREATE INDEX ON typed USING simhash (%s)', columns);
      END IF;
      CREATE TRIGGER no_near BEFORE INSERT ON typed
        FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=v', 'writers=one');
      INSERT INTO typed SELECT * FROM given ORDER BY id;
      RETURN QUERY SELECT columns, g.id FROM given g
        WHERE (NOT EXISTS (SELECT FROM given o WHERE o.id < g.id AND o.v = g.v
            AND (o.fp <~> g.fp) + 0 <= 3))
          <> EXISTS (SELECT FROM typed t WHERE t.id = g.id);
      RETURN QUERY SELECT columns, -count(*)::int FROM typed HAVING count(*) < 4;
      -- An index on both yields only the duplicate of each row that has one.
      IF columns = 'v, fp' AND pg_stat_get_xact_tuples_returned(to_regclass('typed_v_fp_idx'))
          IS DISTINCT FROM (SELECT count(*) FROM given) - (SELECT count(*) FROM typed) THEN
        RETURN QUERY SELECT columns, NULL::int;
      END IF;
    EXCEPTION WHEN undefined_object THEN
      -- No operator class of simhash: rows are filtered.
    END;
    DROP TABLE typed, given;
  END LOOP;
END $$;
SET client_min_messages = error;
SELECT type, w.* FROM (VALUES ('boolean', 'true', 'false'), ('smallint', '-1', '1'),
    ('integer', '-1', '1'), ('bigint', '-1', '1'), ('oid', '1', '2'),
    ('uuid', 'c0ffee00-0000-0000-0000-000000000000', 'c0ffee00-0000-0000-0000-000000000001'),
    ('text', '', repeat('long ', 5000)), ('varchar(9)', 'a', 'a '), ('bytea', '\x', '\x00'),
    ('date', '2026-01-01', '2026-01-02'), ('timestamp', '2026-01-01', 'infinity'),
    ('timestamptz', '2026-01-01', '2026-01-02'), ('mood', 'calm', 'merry'), ('tenant', 'a', 'b'),
    ('numeric', '1', '1.10'), ('float8', 'NaN', '0'), ('char(3)', 'a', 'b'), ('name', 'a', 'b'),
    ('interval', '1 day', '1 month'), ('jsonb', '{"a": 1}', '[]'), ('text[]', '{a,b}', '{}'),
    ('pair', '(1,a)', '(,)'), ('int4range', '[1,3)', 'empty'), ('inet', '::1', '::2'))
  types (type, a, b), LATERAL wrong_rows(type, a, b) w;
-- equal values with different bytes
CREATE TABLE prices (id int, price numeric, fp fingerprint64);
CREATE INDEX ON prices USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON prices
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=price');
INSERT INTO prices VALUES (1, 1.0, '0000000000000000'), (2, 1.00, '0000000000000000'),
  (3, 1.01, '0000000000000000') RETURNING id;
-- the scope stays: nothing to judge
ALTER TABLE prices DISABLE TRIGGER no_near;
INSERT INTO prices VALUES (4, 1.01, '0000000000000000');
ALTER TABLE prices ENABLE TRIGGER no_near;
UPDATE prices SET price = 1.010 WHERE id = 4 RETURNING id, price;
RESET client_min_messages;
-- Texts that a nondeterministic collation holds equal, where the server has ICU. An index that
-- compares bytes is searched whole.
CREATE FUNCTION kept_without_case() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  CREATE TABLE folded (name text COLLATE no_case, fp fingerprint64);
  CREATE INDEX ON folded USING simhash (name COLLATE "C", fp);
  CREATE TRIGGER no_near BEFORE INSERT ON folded
    FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=name');
  INSERT INTO folded VALUES ('a', '0000000000000000'), ('A', '0000000000000001'),
    ('b', '0000000000000001');
  RETURN count(*) FROM folded;
EXCEPTION WHEN feature_not_supported OR undefined_object OR invalid_parameter_value THEN RETURN 2;
END $$;
SELECT kept_without_case() AS kept;

-- Which index is searched, and how many rows it yields: of 60 rows in all, 20 are of the tenant,
-- and 5 of these of the language.
CREATE TABLE chosen (tenant int, lang text, fp fingerprint64, near boolean);
INSERT INTO chosen SELECT t, l, 'ffffffff00000000'
  FROM generate_series(1, 3) t, unnest('{de,en,fr,it}'::text[]) l, generate_series(1, 5);
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON chosen
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=lang,tenant', 'action=error',
    'writers=one');
CREATE FUNCTION counted() RETURNS TABLE (index text, yielded bigint) LANGUAGE sql AS $$
  SELECT relname::text, pg_stat_get_xact_tuples_returned(c.oid)
  FROM pg_class c JOIN pg_index ON indexrelid = c.oid WHERE indrelid = 'chosen'::regclass $$;
CREATE FUNCTION read_rows() RETURNS TABLE (index text, yielded bigint) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TEMPORARY TABLE before ON COMMIT DROP AS SELECT * FROM counted();
  BEGIN
    INSERT INTO chosen VALUES (2, 'en', 'ffffffff00000000');
    RAISE WARNING 'no error';
  EXCEPTION WHEN SQLSTATE '23S01' THEN NULL;
  END;
  RETURN QUERY SELECT after.index, after.yielded - before.yielded
    FROM counted() after JOIN before USING (index) ORDER BY 1;
END $$;
CREATE INDEX by_three ON chosen USING simhash (tenant, near, lang, fp);
SELECT * FROM read_rows();
CREATE INDEX by_fp ON chosen USING simhash (fp);
SELECT * FROM read_rows();
CREATE INDEX by_part ON chosen USING simhash (fp) WHERE tenant > 1;
CREATE INDEX by_tenant ON chosen USING simhash (tenant, fp) WHERE lang IS NOT NULL;
SELECT * FROM read_rows();
CREATE INDEX by_both ON chosen USING simhash (lang, tenant, fp) WHERE fp IS NOT NULL;
CREATE INDEX by_more ON chosen USING simhash (lang, tenant, near, fp);
SELECT * FROM read_rows();
DROP INDEX by_both;
CREATE INDEX by_other ON chosen USING simhash (tenant, lang, fp);
SELECT * FROM read_rows();
DROP INDEX by_other, by_tenant, by_fp;
SELECT * FROM read_rows();
-- without scope= the index on the fingerprint alone is the best
CREATE INDEX by_fp ON chosen USING simhash (fp);
DROP TRIGGER no_near ON chosen;
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON chosen
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'action=error', 'writers=one');
SELECT * FROM read_rows();

-- no index: the hint names one
CREATE TABLE bare (id int, "Tenant" uuid, price numeric, lang text, a int, b int,
  fp fingerprint64, n bigint);
CREATE TRIGGER no_near BEFORE INSERT ON bare FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=Tenant,price,lang,a,b');
INSERT INTO bare (id) VALUES (1);
CREATE TABLE bare_number (tenant int, n bigint);
CREATE TRIGGER no_near BEFORE INSERT ON bare_number FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=n', 'scope=tenant');
INSERT INTO bare_number VALUES (1, 1), (1, 2), (2, 2) RETURNING *;
CREATE TABLE bare_indexed (tenant int, fp fingerprint64);
CREATE INDEX ON bare_indexed USING simhash (fp);
CREATE TRIGGER no_near BEFORE INSERT ON bare_indexed FOR EACH ROW
  EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
INSERT INTO bare_indexed VALUES (1, '0000000000000000'), (2, '0000000000000000');

-- partitions by the scope's column: an update of it moves the row, and is judged once, in the new
-- scope
CREATE TABLE parted (id int, tenant text, fp fingerprint64) PARTITION BY LIST (tenant);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a');
CREATE TABLE parted_rest (fp fingerprint64, gone int, tenant text, id int);
ALTER TABLE parted_rest DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_rest DEFAULT;
CREATE INDEX ON parted USING simhash (tenant, fp);
INSERT INTO parted VALUES (1, 'b', '0000000000000000'), (2, 'b', '0000000000000001');
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON parted
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'scope=tenant');
INSERT INTO parted VALUES (3, 'a', '0000000000000000'), (4, 'b', '0000000000000003'),
  (5, 'a', 'ff00000000000000') RETURNING id;
UPDATE parted SET tenant = 'a' WHERE id = 1 RETURNING tableoid::regclass, *;
UPDATE parted SET tenant = 'c' WHERE id = 3 RETURNING tableoid::regclass, *;
UPDATE parted SET tenant = 'a' WHERE id = 1 RETURNING tableoid::regclass, *;
UPDATE parted SET tenant = 'a' WHERE id = 2 RETURNING tableoid::regclass, *;
UPDATE parted SET tenant = 'd' WHERE id IN (1, 2) RETURNING tableoid::regclass, *;
UPDATE parted SET tenant = NULL WHERE id IN (1, 2) RETURNING tableoid::regclass, *;
-- a trigger of the partition changes the scope on the way: judged again, as any row that comes in
CREATE FUNCTION another_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.tenant = 'z' THEN NEW.tenant = 'c'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON parted_rest FOR EACH ROW EXECUTE FUNCTION another_tenant();
UPDATE parted SET fp = '0000000000000001' WHERE id = 5 RETURNING *;
UPDATE parted SET tenant = 'z' WHERE id = 5 RETURNING *;
SELECT tableoid::regclass, * FROM parted ORDER BY id;

-- partitions by something else: rows that are duplicates from before are not lost when they move
CREATE TABLE moved (id int, tenant int, part int, fp fingerprint64) PARTITION BY LIST (part);
CREATE TABLE moved1 PARTITION OF moved FOR VALUES IN (1);
CREATE TABLE moved2 PARTITION OF moved FOR VALUES IN (2);
CREATE INDEX ON moved USING simhash (tenant, fp);
INSERT INTO moved VALUES (1, 1, 1, '0000000000000000'), (2, 1, 1, '0000000000000000'),
  (3, NULL, 1, '0000000000000000');
CREATE TRIGGER no_near BEFORE INSERT OR UPDATE ON moved
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'scope=tenant');
UPDATE moved SET part = 2 RETURNING tableoid::regclass, id;
UPDATE moved SET part = 1, tenant = 1 WHERE id = 3 RETURNING id;
UPDATE moved SET part = 1, tenant = 2 WHERE id = 2 RETURNING tableoid::regclass, id;

-- inheritance: a family is what has the scope's columns from one parent
CREATE TABLE parent (fp fingerprint64);
CREATE TABLE child (id int, tenant int) INHERITS (parent);
CREATE TABLE grandchild (note text) INHERITS (child);
CREATE TABLE sibling (tenant int, id int) INHERITS (parent);
CREATE INDEX ON parent USING simhash (fp);
CREATE INDEX ON child USING simhash (tenant, fp);
CREATE INDEX ON grandchild USING simhash (tenant, fp);
INSERT INTO parent VALUES ('0000000000000000');
INSERT INTO sibling VALUES ('0000000000000000', 1, 1);
INSERT INTO grandchild VALUES ('ff00000000000000', 2, 1);
CREATE TRIGGER no_near BEFORE INSERT ON child
  FOR EACH ROW EXECUTE FUNCTION simhash_dedup('fp=fp', 'key=id', 'scope=tenant', 'action=error');
INSERT INTO child VALUES ('0000000000000000', 3, 1) RETURNING id;
INSERT INTO child VALUES ('ff00000000000000', 4, 2) RETURNING id;
INSERT INTO child VALUES ('ff00000000000000', 5, 1) RETURNING id;
ALTER TABLE child RENAME tenant TO owner;
INSERT INTO child VALUES ('ff00000000000000', 5, 3);
ALTER TABLE child RENAME owner TO tenant;
ALTER TABLE child ALTER tenant TYPE bigint;
INSERT INTO child VALUES ('ff00000000000000', 5, 1);

-- wrong arguments
CREATE TABLE wrong (id int, tenant int, fp fingerprint64, near boolean, same_as int, doc json,
  half int GENERATED ALWAYS AS (tenant / 2) STORED, a int, b int, c int, d int, e int, f int);
CREATE INDEX ON wrong USING simhash (fp);
\i test/tests/regress/include/try_trigger.sql
SELECT try('fp=fp', 'scope=tenant,id,a,b,c,d,e,f');
SELECT try('fp=fp', 'scope=tenant,id,a,b,c,d,e,f,near');
SELECT try('fp=fp', 'scope=');
SELECT try('fp=fp', 'scope=tenant,');
SELECT try('fp=fp', 'scope=tenant,lang');
SELECT try('fp=fp', 'scope=tableoid');
SELECT try('fp=fp', 'scope=tenant,id,tenant');
SELECT try('fp=fp', 'scope=tenant', 'scope=id');
SELECT try('fp=fp', 'scope=tenant,fp');
SELECT try('fp=fp', 'scope=half');
SELECT try('fp=fp', 'scope=doc');
SELECT try('fp=fp', 'scope=near', 'action=flag', 'flag=near');
SELECT try('fp=fp', 'scope=same_as', 'action=link', 'link=same_as', 'key=id');

SET client_min_messages = warning;
DROP SCHEMA dedup_scope CASCADE;
DROP ROLE dedup_scope_writer;
