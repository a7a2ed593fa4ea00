-- Tables for equivalence.pl. Schema eq has the extension's types, operators and indexes. Schema
-- plain has the same rows as bigint (two for 128 bits) and nothing of the extension. The tables of
-- plain are filled before this runs. :c0 to :c3 are fingerprints, :w0 is a fingerprint128. Every
-- table has the same columns in the same order, so that a query means the same over either schema.

-- The distance in plain SQL.
CREATE FUNCTION plain.d(a bigint, b bigint) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT bit_count((a # b)::bit(64))::integer$$;
-- The least distance over equal positions, for arrays of at most three elements.
CREATE FUNCTION plain.least(a bigint[], b bigint[]) RETURNS integer LANGUAGE sql
IMMUTABLE PARALLEL SAFE AS
  $$SELECT least(plain.d(a[1], b[1]), plain.d(a[2], b[2]), plain.d(a[3], b[3]))$$;

-- Functions for both sides: the planner may not evaluate them early.
CREATE FUNCTION plain.unsteady(anyelement) RETURNS anyelement LANGUAGE plpgsql VOLATILE
  AS 'BEGIN RETURN $1; END';
CREATE FUNCTION plain.steady(anyelement) RETURNS anyelement LANGUAGE plpgsql STABLE
  AS 'BEGIN RETURN $1; END';
CREATE FUNCTION plain.parallel(anyelement) RETURNS anyelement LANGUAGE plpgsql STABLE PARALLEL SAFE
  COST 1 AS 'BEGIN RETURN $1; END';

CREATE FUNCTION plain.narrow(bigint[]) RETURNS fingerprint64[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN $1 IS NOT NULL THEN
    ARRAY(SELECT x::fingerprint64 FROM unnest($1) WITH ORDINALITY u(x, i) ORDER BY i) END
$$;
CREATE FUNCTION plain.wide(bigint, bigint) RETURNS fingerprint128 LANGUAGE sql IMMUTABLE AS
  $$SELECT (lpad(to_hex($1), 16, '0') || lpad(to_hex($2), 16, '0'))::fingerprint128$$;

CREATE SCHEMA eq;
CREATE DOMAIN eq.imprint AS fingerprint64;
CREATE DOMAIN eq.wide_imprint AS fingerprint128;
CREATE DOMAIN eq.number AS bigint;

-- A table with all indexes, a small one, a large one whose indexes have many leaves, one without an
-- index.
CREATE TABLE eq.t (id integer, grp integer, k2 smallint, k integer, k8 bigint, kn numeric,
  ok boolean, rad integer, fp fingerprint64, w fingerprint128, h bigint, lex fingerprint64[],
  ball hamming_ball64);
CREATE TABLE eq.u (LIKE eq.t);
CREATE TABLE eq.big (LIKE eq.t);
CREATE TABLE eq.n (LIKE eq.t);
-- Partial indexes, expressions, domains.
CREATE TABLE eq.part (LIKE eq.t);
CREATE TABLE eq.ex (LIKE eq.t);
CREATE TABLE eq.dom (id integer, grp integer, k2 smallint, k integer, k8 bigint, kn numeric,
  ok boolean, rad integer, fp eq.imprint, w eq.wide_imprint, h eq.number, lex fingerprint64[],
  ball hamming_ball64);
-- Partitions: by list with sub-partitions, all indexed; by range with columns in other places and
-- indexes of their own; by hash.
CREATE TABLE eq.pl (LIKE eq.t) PARTITION BY LIST (grp);
CREATE TABLE eq.pl1 PARTITION OF eq.pl FOR VALUES IN (0, 1, 2);
CREATE TABLE eq.pl2 PARTITION OF eq.pl FOR VALUES IN (3, 4, 5) PARTITION BY HASH (id);
CREATE TABLE eq.pl2a PARTITION OF eq.pl2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE eq.pl2b PARTITION OF eq.pl2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE eq.pl3 PARTITION OF eq.pl DEFAULT;
CREATE TABLE eq.pr (LIKE eq.t) PARTITION BY RANGE (id);
CREATE TABLE eq.pr1 PARTITION OF eq.pr FOR VALUES FROM (MINVALUE) TO (60);
CREATE TABLE eq.pr2 (fp fingerprint64, gone text, w fingerprint128, lex fingerprint64[],
  ball hamming_ball64, h bigint, grp integer, k2 smallint, rad integer, k integer, k8 bigint,
  kn numeric, ok boolean, id integer);
ALTER TABLE eq.pr2 DROP COLUMN gone;
ALTER TABLE eq.pr ATTACH PARTITION eq.pr2 FOR VALUES FROM (60) TO (120);
CREATE TABLE eq.pr3 PARTITION OF eq.pr FOR VALUES FROM (120) TO (MAXVALUE);
CREATE TABLE eq.ph (LIKE eq.t) PARTITION BY HASH (fp);
CREATE TABLE eq.ph0 PARTITION OF eq.ph FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE eq.ph1 PARTITION OF eq.ph FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE eq.ph2 PARTITION OF eq.ph FOR VALUES WITH (MODULUS 3, REMAINDER 2);
-- Inheritance: the parent has rows, a child has further columns, a grandchild has two parents.
CREATE TABLE eq.inh (LIKE eq.t);
CREATE TABLE eq.inh1 () INHERITS (eq.inh);
CREATE TABLE eq.inh2 (extra text, note fingerprint64) INHERITS (eq.inh);
CREATE TABLE eq.inh3 () INHERITS (eq.inh1, eq.inh2);
-- A foreign table as a child if postgres_fdw is available, else a plain table.
CREATE TABLE eq.far (LIKE eq.t);
CREATE TABLE eq.far1 () INHERITS (eq.far);
SELECT count(*) > 0 AS has_fdw FROM pg_available_extensions WHERE name = 'postgres_fdw' \gset
\if :has_fdw
CREATE TABLE eq.remote (LIKE eq.t);
CREATE EXTENSION postgres_fdw;
SELECT format('CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host %L, port %L, dbname %L, extensions %L)',
  :'HOST', :'PORT', current_database(), 'pg_simhash') \gexec
CREATE USER MAPPING FOR CURRENT_USER SERVER loop;
CREATE FOREIGN TABLE eq.far2 () INHERITS (eq.far) SERVER loop
  OPTIONS (schema_name 'eq', table_name 'remote');
\else
CREATE TABLE eq.far2 () INHERITS (eq.far);
\endif

-- The rows of eq. In a family they go to its members by id.
CREATE FUNCTION plain.fill(family text, member text, condition text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO eq.%I (id, grp, k2, k, k8, kn, ok, rad, fp, w, h, lex, ball)
    SELECT id, grp, k2, k, k8, kn, ok, rad, fp, plain.wide(w1, w2), h, plain.narrow(lex),
      hamming_ball(fp, rad)
    FROM plain.%I WHERE %s', member, family, condition);
END $$;
SELECT plain.fill(name, name, 'true')
FROM unnest('{t,u,big,n,part,ex,dom,pl,pr,ph}'::text[]) name;
SELECT plain.fill('inh', CASE i WHEN 0 THEN 'inh' ELSE 'inh' || i END, 'id % 4 = ' || i)
FROM generate_series(0, 3) i;
SELECT plain.fill('far', CASE i WHEN 0 THEN 'far' ELSE 'far' || i END, 'id % 3 = ' || i)
FROM generate_series(0, 2) i;

-- Indexes.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY '{t,u,big,dom,pl,ph,inh1,inh3}'::text[] LOOP
    EXECUTE format('CREATE INDEX %1$s_fp ON eq.%1$I USING simhash (fp);
      CREATE INDEX %1$s_w ON eq.%1$I USING simhash (w);
      CREATE INDEX %1$s_h ON eq.%1$I USING simhash (h hamming_int8_ops);
      CREATE INDEX %1$s_lex ON eq.%1$I USING simhash (lex)', name);
  END LOOP;
END $$;
ALTER TABLE eq.t ADD PRIMARY KEY (id);
CREATE INDEX ON eq.t (grp);
CREATE INDEX ON eq.t USING simhash (ball);
-- Columns compared by equality first.
CREATE INDEX ON eq.t USING simhash (grp, fp) INCLUDE (id, k);
CREATE INDEX ON eq.u USING simhash (ok, grp, w) INCLUDE (id);
CREATE INDEX ON eq.big USING simhash (grp, h hamming_int8_ops) INCLUDE (id, k8);
CREATE INDEX ON eq.pl USING simhash (grp, lex);
CREATE INDEX ON eq.ex USING simhash ((grp % 3), fp) INCLUDE (id);
CREATE INDEX ON eq.u USING simhash (hamming_ball(fp, rad));
CREATE INDEX ON eq.u (fp);
CREATE INDEX ON eq.u USING hash (w);
CREATE INDEX ON eq.pr1 USING simhash (fp);
CREATE INDEX ON eq.pr1 USING simhash (h hamming_int8_ops);
CREATE INDEX ON eq.pr2 USING simhash (fp);
CREATE INDEX ON eq.pr2 USING simhash (w);
CREATE INDEX ON eq.pr2 USING simhash (lex);
CREATE INDEX ON eq.far1 USING simhash (fp);
CREATE INDEX ON eq.far1 USING simhash (w);
CREATE INDEX ON eq.part USING simhash (fp) WHERE grp < 4;
CREATE INDEX ON eq.part USING simhash (fp) WHERE hamming(fp, :'c0') <= 24;
CREATE INDEX ON eq.part (id) WHERE hamming(fp, :'c1') <= 20;
CREATE INDEX ON eq.part USING simhash (w) WHERE w IS NOT NULL;
CREATE INDEX ON eq.part USING simhash (h hamming_int8_ops)
  WHERE hamming(h, :'c2'::fingerprint64::bigint) > 10;
CREATE INDEX ON eq.part USING simhash (lex) WHERE hamming(fp, :'c3') < 20;
CREATE INDEX ON eq.ex USING simhash ((h::fingerprint64));
CREATE INDEX ON eq.ex USING simhash ((fp::bigint) hamming_int8_ops);
CREATE INDEX ON eq.ex USING simhash ((coalesce(fp, :'c0'::fingerprint64)));
CREATE INDEX ON eq.ex USING simhash ((w::uuid::fingerprint128));
CREATE INDEX ON eq.ex (hamming(fp, :'c0'));
CREATE INDEX ON eq.ex (id) WHERE hamming(w, :'w0') <= 30;

-- Views on both sides. Where eq has a literal fingerprint, plain has a function.
CREATE FUNCTION plain.near_c0(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS
  $$SELECT plain.d($1, (SELECT value FROM plain.constants WHERE name = 'c0')) <= 24$$;
CREATE VIEW eq.v_near AS SELECT * FROM eq.t WHERE hamming(fp, :'c0') <= 24;
CREATE VIEW plain.v_near AS SELECT * FROM plain.t WHERE plain.near_c0(fp);
SELECT format($$
CREATE VIEW %1$s.v_some AS SELECT * FROM %1$s.t WHERE ok;
CREATE VIEW %1$s.v_few AS SELECT * FROM %1$s.t WHERE id %% 8 = 1;
CREATE VIEW %1$s.v_barrier WITH (security_barrier) AS SELECT * FROM %1$s.t WHERE grp > 1;
-- Ids are unique in every table and view, because queries take the first rows in order of their
-- ids.
CREATE VIEW %1$s.v_all AS
  SELECT * FROM %1$s.t WHERE id %% 2 = 0 UNION ALL SELECT * FROM %1$s.u WHERE id %% 2 = 1;
CREATE VIEW %1$s.v_mixed AS
  SELECT * FROM %1$s.pl WHERE id %% 2 = 0 UNION ALL SELECT * FROM %1$s.n WHERE id %% 2 = 1;
CREATE VIEW %1$s.v_top AS SELECT * FROM %1$s.t ORDER BY id LIMIT 100;
CREATE VIEW %1$s.v_family AS SELECT * FROM %1$s.inh WHERE k IS NOT NULL;
$$, name) FROM unnest('{eq,plain}'::text[]) name \gexec
