-- superuser only: makes operator classes
-- The operator classes of columns that are compared by equality, before the column of fingerprints.

CREATE VIEW scope_class AS
  SELECT c.oid, opcname, opcfamily, opcintype, opcdefault, opfname, amproc FROM pg_opclass c
    JOIN pg_am a ON a.oid = opcmethod AND amname = 'simhash'
    JOIN pg_opfamily f ON f.oid = opcfamily
    JOIN pg_amproc p ON amprocfamily = opcfamily
      AND (amproclefttype, amprocrighttype, amprocnum) = (opcintype, opcintype, 1)
  WHERE amproc::text ~ '^simhash_scope_';
SELECT opcname, opcintype::regtype AS type, opcdefault AS "default", opfname AS family, amproc,
    amvalidate(oid)
  FROM scope_class ORDER BY 1;

-- They have the equality of the B-tree's classes of the same names, and nothing else. What B-tree
-- has beyond is equality of dates with timestamps.
CREATE FUNCTION equalities(method name) RETURNS TABLE (class name, operator regoperator)
LANGUAGE sql AS $$
  SELECT opcname, amopopr::regoperator FROM pg_opclass
    JOIN pg_am a ON a.oid = opcmethod AND amname = method
    JOIN pg_amop ON amopfamily = opcfamily AND amoplefttype = opcintype
      AND amopstrategy = CASE method WHEN 'btree' THEN 3 ELSE amopstrategy END
      AND amoprighttype IN (SELECT opcintype FROM scope_class)
  WHERE opcname IN (SELECT opcname FROM scope_class) $$;
SELECT count(*) FROM equalities('simhash');
SELECT * FROM equalities('simhash') EXCEPT ALL SELECT * FROM equalities('btree');
SELECT * FROM equalities('btree') EXCEPT ALL SELECT * FROM equalities('simhash')
  ORDER BY 1, 2;

-- The class that a column gets is the one of the same name that a B-tree takes.
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN tenant AS bigint;
CREATE TABLE scoped (b boolean, i2 smallint, i4 integer, i8 bigint, o oid, u uuid, t text,
  v varchar(9), y bytea, d date, ts timestamp, tz timestamptz, e mood, dom tenant,
  r regclass) PARTITION BY LIST (i4);
CREATE FUNCTION class_of(col text, method text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE class text;
BEGIN
  -- An index of a table that has partitions, of which there are none, is only catalogued.
  EXECUTE format('CREATE INDEX scoped_class ON scoped USING %I (%I)', method, col);
  SELECT opcname INTO class FROM pg_index JOIN pg_opclass c ON c.oid = indclass[0]
    WHERE indexrelid = 'scoped_class'::regclass;
  DROP INDEX scoped_class;
  RETURN class;
END $$;
SELECT attname AS column, atttypid::regtype AS type, class_of(attname, 'simhash') AS class,
    class_of(attname, 'btree') AS by_btree
  FROM pg_attribute WHERE attrelid = 'scoped'::regclass AND attnum > 0 ORDER BY attnum;
CREATE INDEX ON scoped USING simhash (v varchar_ops);
-- No class: equality of these is not equality of bytes, or they are rare as tenants.
CREATE TABLE unscoped (n numeric, f float8, c char(3), j jsonb, nm name);
CREATE INDEX ON unscoped USING simhash (n);
CREATE INDEX ON unscoped USING simhash (f);
CREATE INDEX ON unscoped USING simhash (c);
CREATE INDEX ON unscoped USING simhash (j);
CREATE INDEX ON unscoped USING simhash (nm);

-- A column to be searched by distance has to be there.
CREATE TABLE alone (id bigint);
CREATE INDEX ON alone USING simhash (id);
CREATE INDEX ON alone USING simhash (id hamming_int8_ops);

-- What amvalidate says of classes that are unsound.
CREATE OPERATOR CLASS another_size FOR TYPE float8 USING simhash AS
  OPERATOR 1 = (float8, float8), FUNCTION 1 simhash_scope_int4(internal);
CREATE OPERATOR CLASS no_operator FOR TYPE money USING simhash AS
  FUNCTION 1 simhash_scope_int8(internal);
CREATE OPERATOR CLASS no_function FOR TYPE money USING simhash AS
  OPERATOR 1 = (money, money);
CREATE OPERATOR CLASS another_strategy FOR TYPE money USING simhash AS
  OPERATOR 1 = (money, money), OPERATOR 3 <> (money, money),
  FUNCTION 1 simhash_scope_int8(internal);
CREATE OPERATOR CLASS two_types FOR TYPE date USING simhash AS
  OPERATOR 1 = (date, date), OPERATOR 1 = (date, timestamp),
  FUNCTION 1 simhash_scope_date(internal);
CREATE OPERATOR CLASS foreign_integer FOR TYPE bigint USING simhash AS
  OPERATOR 1 = (bigint, bigint), OPERATOR 1 = (bigint, integer),
  FUNCTION 1 simhash_scope_int8(internal);
CREATE FUNCTION no_code(internal) RETURNS integer LANGUAGE internal AS 'pg_trigger_depth';
CREATE OPERATOR CLASS unknown_code FOR TYPE money USING simhash AS
  OPERATOR 1 = (money, money), FUNCTION 1 no_code(internal);
-- Sound: a type of the user's own that is laid out as one of these.
CREATE OPERATOR CLASS own_type FOR TYPE money USING simhash AS
  OPERATOR 1 = (money, money), FUNCTION 1 simhash_scope_int8(internal);
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
  WHERE amname = 'simhash' AND c.oid NOT IN (SELECT objid FROM pg_depend WHERE deptype = 'e')
  ORDER BY opcname;

DROP TABLE scoped, unscoped, alone;
DROP OPERATOR FAMILY another_size USING simhash;
DROP OPERATOR FAMILY no_operator USING simhash;
DROP OPERATOR FAMILY no_function USING simhash;
DROP OPERATOR FAMILY another_strategy USING simhash;
DROP OPERATOR FAMILY two_types USING simhash;
DROP OPERATOR FAMILY foreign_integer USING simhash;
DROP OPERATOR FAMILY unknown_code USING simhash;
DROP OPERATOR FAMILY own_type USING simhash;
DROP FUNCTION equalities, class_of, no_code;
DROP VIEW scope_class;
DROP TYPE mood;
DROP DOMAIN tenant;
