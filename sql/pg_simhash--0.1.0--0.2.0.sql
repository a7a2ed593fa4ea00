-- pg_simhash 0.1.0 to 0.2.0: makes the catalogue of 0.1.0 equal to that of a fresh 0.2.0. The same
-- statements stand in pg_simhash--0.2.0.sql, in the same order.

-- complain if the script is sourced in psql rather than through ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_simhash UPDATE TO '0.2.0'" to load this file. \quit

--
-- The index
--

-- Columns that stand before the fingerprint and are compared by equality. Numbers of different
-- widths are compared as in a B-tree.

CREATE FUNCTION simhash_scope_bool(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_bool_wrapper';
COMMENT ON FUNCTION simhash_scope_bool(internal) IS
  'support function: a column of boolean, compared by equality';
CREATE FUNCTION simhash_scope_int2(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int2_wrapper';
COMMENT ON FUNCTION simhash_scope_int2(internal) IS
  'support function: a column of smallint, compared by equality';
CREATE FUNCTION simhash_scope_int4(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int4_wrapper';
COMMENT ON FUNCTION simhash_scope_int4(internal) IS
  'support function: a column of integer, compared by equality';
CREATE FUNCTION simhash_scope_int8(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int8_wrapper';
COMMENT ON FUNCTION simhash_scope_int8(internal) IS
  'support function: a column of bigint, compared by equality';
CREATE FUNCTION simhash_scope_oid(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_oid_wrapper';
COMMENT ON FUNCTION simhash_scope_oid(internal) IS
  'support function: a column of oid, compared by equality';
CREATE FUNCTION simhash_scope_uuid(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_uuid_wrapper';
COMMENT ON FUNCTION simhash_scope_uuid(internal) IS
  'support function: a column of uuid, compared by equality';
CREATE FUNCTION simhash_scope_text(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_text_wrapper';
COMMENT ON FUNCTION simhash_scope_text(internal) IS
  'support function: a column of text, compared by equality';
CREATE FUNCTION simhash_scope_bytea(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_bytea_wrapper';
COMMENT ON FUNCTION simhash_scope_bytea(internal) IS
  'support function: a column of bytea, compared by equality';
CREATE FUNCTION simhash_scope_date(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_date_wrapper';
COMMENT ON FUNCTION simhash_scope_date(internal) IS
  'support function: a column of date, compared by equality';
CREATE FUNCTION simhash_scope_timestamp(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_timestamp_wrapper';
COMMENT ON FUNCTION simhash_scope_timestamp(internal) IS
  'support function: a column of timestamp without time zone, compared by equality';
CREATE FUNCTION simhash_scope_timestamptz(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_timestamptz_wrapper';
COMMENT ON FUNCTION simhash_scope_timestamptz(internal) IS
  'support function: a column of timestamp with time zone, compared by equality';
CREATE FUNCTION simhash_scope_enum(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_enum_wrapper';
COMMENT ON FUNCTION simhash_scope_enum(internal) IS
  'support function: a column of an enum, compared by equality';

CREATE OPERATOR FAMILY integer_ops USING simhash;
CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE boolean USING simhash AS
  OPERATOR 1 = (boolean, boolean),
  FUNCTION 1 simhash_scope_bool(internal);
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint USING simhash FAMILY integer_ops AS
  OPERATOR 1 = (smallint, smallint),
  FUNCTION 1 simhash_scope_int2(internal);
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE integer USING simhash FAMILY integer_ops AS
  OPERATOR 1 = (integer, integer),
  FUNCTION 1 simhash_scope_int4(internal);
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint USING simhash FAMILY integer_ops AS
  OPERATOR 1 = (bigint, bigint),
  FUNCTION 1 simhash_scope_int8(internal);
ALTER OPERATOR FAMILY integer_ops USING simhash ADD
  OPERATOR 1 = (smallint, integer), OPERATOR 1 = (smallint, bigint),
  OPERATOR 1 = (integer, smallint), OPERATOR 1 = (integer, bigint),
  OPERATOR 1 = (bigint, smallint), OPERATOR 1 = (bigint, integer);
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING simhash AS
  OPERATOR 1 = (oid, oid),
  FUNCTION 1 simhash_scope_oid(internal);
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING simhash AS
  OPERATOR 1 = (uuid, uuid),
  FUNCTION 1 simhash_scope_uuid(internal);
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING simhash AS
  OPERATOR 1 = (text, text),
  FUNCTION 1 simhash_scope_text(internal);
-- For a column of varchar, whose default is text_ops: as for a B-tree, a name and nothing else. Its
-- operator and support function are those of the family.
CREATE OPERATOR CLASS varchar_ops FOR TYPE text USING simhash FAMILY text_ops AS
  STORAGE text;
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING simhash AS
  OPERATOR 1 = (bytea, bytea),
  FUNCTION 1 simhash_scope_bytea(internal);
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING simhash AS
  OPERATOR 1 = (date, date),
  FUNCTION 1 simhash_scope_date(internal);
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING simhash AS
  OPERATOR 1 = (timestamp, timestamp),
  FUNCTION 1 simhash_scope_timestamp(internal);
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING simhash AS
  OPERATOR 1 = (timestamptz, timestamptz),
  FUNCTION 1 simhash_scope_timestamptz(internal);
CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum USING simhash AS
  OPERATOR 1 = (anyenum, anyenum),
  FUNCTION 1 simhash_scope_enum(internal);
