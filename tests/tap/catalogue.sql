-- test.catalogue(): what the catalogues say of the extension's objects, and of what belongs to
-- them, a line each in no order. Objects stand by name, so that two databases can be compared.

-- Every object that another one can name.
CREATE VIEW test.object AS
  SELECT tableoid AS classid, oid AS objid FROM pg_proc
  UNION ALL SELECT tableoid, oid FROM pg_type UNION ALL SELECT tableoid, oid FROM pg_operator
  UNION ALL SELECT tableoid, oid FROM pg_opclass UNION ALL SELECT tableoid, oid FROM pg_opfamily
  UNION ALL SELECT tableoid, oid FROM pg_amop UNION ALL SELECT tableoid, oid FROM pg_amproc
  UNION ALL SELECT tableoid, oid FROM pg_am UNION ALL SELECT tableoid, oid FROM pg_cast
  UNION ALL SELECT tableoid, oid FROM pg_class UNION ALL SELECT tableoid, oid FROM pg_constraint
  UNION ALL SELECT tableoid, oid FROM pg_trigger UNION ALL SELECT tableoid, oid FROM pg_rewrite
  UNION ALL SELECT tableoid, oid FROM pg_attrdef UNION ALL SELECT tableoid, oid FROM pg_namespace
  UNION ALL SELECT tableoid, oid FROM pg_language UNION ALL SELECT tableoid, oid FROM pg_collation
  UNION ALL SELECT tableoid, oid FROM pg_extension UNION ALL SELECT tableoid, oid FROM pg_authid;
CREATE TABLE test.named (classid oid, objid oid, number text, name text);
-- Catalogues may have the same OID. Where a column could mean several, it means all of them.
CREATE TABLE test.number_of (number text PRIMARY KEY, name text);

-- The extension and its members, and what is there because of them: members of operator families,
-- columns' defaults, indexes, constraints, rules, toast tables, the types of rows and of arrays. In
-- PostgreSQL 14 a generated column depends on functions by itself, but its table does not.
CREATE VIEW test.member AS
  WITH RECURSIVE member AS (
    SELECT tableoid AS classid, oid AS objid FROM pg_extension WHERE extname = 'pg_simhash'
    UNION SELECT d.classid, d.objid FROM pg_depend d JOIN member m
      ON d.refclassid = m.classid AND d.refobjid = m.objid AND d.deptype IN ('e', 'a', 'i')
        AND d.objsubid = 0)
  SELECT classid, objid, name FROM member JOIN test.named USING (classid, objid);

-- A row of a catalogue that says something of a member.
CREATE TABLE test.entry (id serial, member text, catalogue regclass, content jsonb);
CREATE FUNCTION test.read_catalogues() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  read CONSTANT text := 'INSERT INTO test.entry (member, catalogue, content) SELECT name, %1$L,
    to_jsonb(c) FROM %1$s c JOIN test.member m ON m.classid = %2$s AND m.objid = %3$s';
  source record;
BEGIN
  TRUNCATE test.named, test.number_of, test.entry;
  INSERT INTO test.named SELECT classid, objid, objid::text, i.type || ' ' || i.identity
    FROM test.object, pg_identify_object(classid, objid, 0) i;
  INSERT INTO test.number_of SELECT number, string_agg(name, ' or ' ORDER BY name)
    FROM test.named GROUP BY number;
  ANALYZE test.named, test.number_of;
  FOR source IN SELECT DISTINCT classid::regclass AS catalogue FROM test.member LOOP
    EXECUTE format(read, source.catalogue, 'c.tableoid', 'c.oid');
  END LOOP;
  -- Those that have no OID of their own.
  FOR source IN SELECT * FROM (VALUES
    ('pg_aggregate', '''pg_proc''::regclass', 'aggfnoid'),
    ('pg_attribute', '''pg_class''::regclass', 'attrelid'),
    ('pg_index', '''pg_class''::regclass', 'indexrelid'),
    ('pg_description', 'classoid', 'objoid'), ('pg_init_privs', 'classoid', 'objoid'),
    ('pg_depend', 'c.classid', 'c.objid')) s (catalogue, class, object)
  LOOP
    EXECUTE format(read, source.catalogue, source.class, source.object);
  END LOOP;
END $$;

-- Their columns with names for OIDs. Without what differs between any two databases, and without
-- expressions, which hold OIDs as well.
CREATE VIEW test.described AS
  SELECT e.member, e.catalogue, attname, CASE
      WHEN atttypid = 'oid'::regtype THEN coalesce(n.name, value)
      WHEN atttypid IN ('oid[]'::regtype, 'oidvector'::regtype) THEN (
        SELECT string_agg(coalesce(n.name, element), ', ' ORDER BY place)
        FROM jsonb_array_elements_text(nullif(content -> attname, 'null'))
            WITH ORDINALITY a (element, place)
          LEFT JOIN test.number_of n ON n.number = element)
      ELSE value END AS value, e.id
  FROM test.entry e
    CROSS JOIN jsonb_each_text(content) column_of (attname, value)
    JOIN pg_attribute a USING (attname)
    LEFT JOIN test.number_of n ON atttypid = 'oid'::regtype AND n.number = value
  WHERE attrelid = catalogue AND NOT attisdropped AND atttypid <> 'pg_node_tree'::regtype
    AND attname NOT IN ('oid', 'relname', 'relfilenode', 'relpages', 'reltuples',
      'relallvisible', 'relallfrozen', 'relfrozenxid', 'relminmxid');

-- The expressions, as SQL.
CREATE VIEW test.definition AS
  SELECT name, CASE classid
      WHEN 'pg_proc'::regclass THEN pg_get_function_arguments(objid)
      WHEN 'pg_class'::regclass THEN concat(pg_get_viewdef(objid), pg_get_indexdef(objid))
      WHEN 'pg_constraint'::regclass THEN pg_get_constraintdef(objid)
      WHEN 'pg_trigger'::regclass THEN pg_get_triggerdef(objid)
      WHEN 'pg_attrdef'::regclass
        THEN (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE oid = objid) END AS sql
  FROM test.member;

CREATE FUNCTION test.catalogue() RETURNS SETOF text LANGUAGE plpgsql
SET search_path = pg_catalog SET jit = off AS $$
BEGIN
  PERFORM test.read_catalogues();
  RETURN QUERY
    SELECT format('%s, %s: %s', member, catalogue, jsonb_object_agg(attname, value))
    FROM test.described GROUP BY id, member, catalogue;
  RETURN QUERY SELECT format('%s, in SQL: %s', name, sql) FROM test.definition WHERE sql <> '';
END $$;
