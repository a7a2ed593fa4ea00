-- Rules that every object of the extension keeps. Each query lists the exceptions.
CREATE VIEW member AS
  SELECT classid, objid FROM pg_depend
  WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash');
CREATE VIEW member_function AS SELECT p.* FROM pg_proc p
  JOIN member ON classid = 'pg_proc'::regclass AND objid = p.oid;

-- Functions, types and operators have a comment.
SELECT oid::regprocedure AS without_comment FROM member_function
  WHERE obj_description(oid, 'pg_proc') IS NULL ORDER BY oid::regprocedure::text COLLATE "C";
SELECT t.oid::regtype AS without_comment FROM pg_type t
  JOIN member ON classid = 'pg_type'::regclass AND objid = t.oid
  WHERE obj_description(t.oid, 'pg_type') IS NULL
    AND t.typelem = 0 AND t.typrelid = 0 ORDER BY t.typname;
SELECT o.oid::regoperator AS without_comment FROM pg_operator o
  JOIN member ON classid = 'pg_operator'::regclass AND objid = o.oid
  WHERE obj_description(o.oid, 'pg_operator') IS NULL ORDER BY o.oid::regoperator::text COLLATE "C";

-- Functions are immutable, strict and safe in parallel workers, except these.
SELECT oid::regprocedure AS function, provolatile, proisstrict, proparallel FROM member_function
  WHERE (provolatile, proisstrict, proparallel) <> ('i', true, 's')
  ORDER BY oid::regprocedure::text COLLATE "C";

-- Functions are in this library or PostgreSQL's own, except these.
SELECT p.oid::regprocedure AS function, lanname FROM member_function p
  JOIN pg_language l ON l.oid = prolang
  WHERE lanname NOT IN ('c', 'internal') OR lanname = 'c' AND probin <> '$libdir/pg_simhash'
  ORDER BY p.oid::regprocedure::text COLLATE "C";

-- A function that reads a text states its cost, which is higher than that of an operator on
-- numbers.
SELECT oid::regprocedure AS cheap FROM member_function
  WHERE proname ~ '^(simhash|esimhash|imatch|minhash|ksentence|shingle|near|text_similarity|edit)'
    AND proname !~ '_(in|out|recv|send|support)$' AND procost <= 1
    AND 'text'::regtype = ANY (proargtypes) ORDER BY oid::regprocedure::text COLLATE "C";

-- Equality, hashing and order belong together: an operator marked HASHES or MERGES is in an
-- operator class.
SELECT o.oid::regoperator AS no_class FROM pg_operator o
  JOIN member ON classid = 'pg_operator'::regclass AND objid = o.oid
  WHERE (oprcanhash OR oprcanmerge)
    AND NOT EXISTS (SELECT FROM pg_amop WHERE amopopr = o.oid) ORDER BY 1;

-- Every type can be compared for equality and sorted: it has a B-tree operator class of its own.
-- Those that do not are values in passing, and not for columns.
SELECT t.oid::regtype AS without_order FROM pg_type t
  JOIN member ON classid = 'pg_type'::regclass AND objid = t.oid
  WHERE t.typelem = 0 AND t.typrelid = 0
    AND NOT EXISTS (SELECT FROM pg_opclass c WHERE opcintype = t.oid AND opcdefault
      AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree'))
  ORDER BY t.typname;

-- The operators and support functions of a B-tree or hash class are leakproof together or not at
-- all: the planner uses one in place of another.
SELECT o.amopopr::regoperator AS operator, s.amproc AS support,
    of.proleakproof AS operator_leakproof, sf.proleakproof AS support_leakproof
  FROM pg_amop o JOIN member ON classid = 'pg_operator'::regclass AND objid = o.amopopr
    JOIN pg_am a ON a.oid = o.amopmethod AND a.amname IN ('btree', 'hash')
    JOIN pg_operator op ON op.oid = o.amopopr JOIN pg_proc of ON of.oid = op.oprcode
    JOIN pg_amproc s ON s.amprocfamily = o.amopfamily
      AND (s.amproclefttype, s.amprocrighttype) = (o.amoplefttype, o.amoprighttype)
    JOIN pg_proc sf ON sf.oid = s.amproc
      AND NOT ('internal'::regtype = ANY (sf.proargtypes) OR sf.proname = 'btequalimage')
  WHERE of.proleakproof <> sf.proleakproof ORDER BY 1::text COLLATE "C", 2::text COLLATE "C";
-- An operator is leakproof exactly when its negator is.
SELECT o.oid::regoperator AS operator FROM pg_operator o
  JOIN member ON classid = 'pg_operator'::regclass AND objid = o.oid
  JOIN pg_operator n ON n.oid = o.oprnegate
  JOIN pg_proc f ON f.oid = o.oprcode JOIN pg_proc nf ON nf.oid = n.oprcode
  WHERE f.proleakproof <> nf.proleakproof ORDER BY 1::text COLLATE "C";

-- No operator that pgvector declares on a type of PostgreSQL's own: a database can have it only
-- once.
SELECT o.oid::regoperator AS pgvectors FROM pg_operator o
  JOIN member ON classid = 'pg_operator'::regclass AND objid = o.oid
  WHERE oprname IN ('<->', '<#>', '<=>', '<+>', '<~>', '<%>')
    AND 'bit'::regtype IN (oprleft, oprright);
SELECT hamming(B'1100', B'1010');

-- Every operator class is valid.
SELECT opcname AS invalid FROM pg_opclass c
  JOIN member ON classid = 'pg_opclass'::regclass AND objid = c.oid
  WHERE NOT amvalidate(c.oid) ORDER BY 1;

DROP VIEW member_function, member;
