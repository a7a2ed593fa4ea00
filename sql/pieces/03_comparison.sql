--
-- Comparison: fingerprints in unsigned order
--

CREATE FUNCTION fingerprint64_eq(fingerprint64, fingerprint64) RETURNS boolean
  AS 'int8eq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_eq(fingerprint64, fingerprint64) IS
  'internal: implementation of = operator';
CREATE FUNCTION fingerprint64_ne(fingerprint64, fingerprint64) RETURNS boolean
  AS 'int8ne' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_ne(fingerprint64, fingerprint64) IS
  'internal: implementation of <> operator';
CREATE FUNCTION fingerprint64_lt(fingerprint64, fingerprint64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_lt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_lt(fingerprint64, fingerprint64) IS
  'internal: implementation of < operator';
CREATE FUNCTION fingerprint64_le(fingerprint64, fingerprint64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_le_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_le(fingerprint64, fingerprint64) IS
  'internal: implementation of <= operator';
CREATE FUNCTION fingerprint64_gt(fingerprint64, fingerprint64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_gt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_gt(fingerprint64, fingerprint64) IS
  'internal: implementation of > operator';
CREATE FUNCTION fingerprint64_ge(fingerprint64, fingerprint64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_ge_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_ge(fingerprint64, fingerprint64) IS
  'internal: implementation of >= operator';
CREATE FUNCTION fingerprint64_cmp(fingerprint64, fingerprint64) RETURNS integer
  AS 'MODULE_PATHNAME', 'fingerprint64_cmp_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_cmp(fingerprint64, fingerprint64) IS
  'internal: less-equal-greater';
CREATE FUNCTION fingerprint64_sortsupport(internal) RETURNS void
  AS 'MODULE_PATHNAME', 'fingerprint64_sortsupport_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_sortsupport(internal) IS 'internal: sort support';
CREATE FUNCTION fingerprint64_hash(fingerprint64) RETURNS integer
  AS 'hashint8' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_hash(fingerprint64) IS 'internal: hash';
CREATE FUNCTION fingerprint64_hash_extended(fingerprint64, bigint) RETURNS bigint
  AS 'hashint8extended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_hash_extended(fingerprint64, bigint) IS 'internal: hash';
CREATE FUNCTION fingerprint64_smaller(fingerprint64, fingerprint64) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_smaller_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_smaller(fingerprint64, fingerprint64) IS
  'internal: smaller of two';
CREATE FUNCTION fingerprint64_larger(fingerprint64, fingerprint64) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_larger_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_larger(fingerprint64, fingerprint64) IS 'internal: larger of two';

CREATE OPERATOR = (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (fingerprint64, fingerprint64) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (fingerprint64, fingerprint64) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (fingerprint64, fingerprint64) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (fingerprint64, fingerprint64) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (fingerprint64, fingerprint64) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (fingerprint64, fingerprint64) IS 'greater than or equal';

CREATE OPERATOR CLASS fingerprint64_ops DEFAULT FOR TYPE fingerprint64 USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 fingerprint64_cmp(fingerprint64, fingerprint64),
  FUNCTION 2 fingerprint64_sortsupport(internal),
  FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS fingerprint64_ops DEFAULT FOR TYPE fingerprint64 USING hash AS
  OPERATOR 1 =,
  FUNCTION 1 fingerprint64_hash(fingerprint64),
  FUNCTION 2 fingerprint64_hash_extended(fingerprint64, bigint);

CREATE AGGREGATE min(fingerprint64) (
  SFUNC = fingerprint64_smaller, STYPE = fingerprint64, SORTOP = <,
  COMBINEFUNC = fingerprint64_smaller, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(fingerprint64) IS
  'internal: minimum, in unsigned order';
CREATE AGGREGATE max(fingerprint64) (
  SFUNC = fingerprint64_larger, STYPE = fingerprint64, SORTOP = >,
  COMBINEFUNC = fingerprint64_larger, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(fingerprint64) IS
  'internal: maximum, in unsigned order';

CREATE FUNCTION fingerprint128_eq(fingerprint128, fingerprint128) RETURNS boolean
  AS 'uuid_eq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_eq(fingerprint128, fingerprint128) IS
  'internal: implementation of = operator';
CREATE FUNCTION fingerprint128_ne(fingerprint128, fingerprint128) RETURNS boolean
  AS 'uuid_ne' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_ne(fingerprint128, fingerprint128) IS
  'internal: implementation of <> operator';
CREATE FUNCTION fingerprint128_lt(fingerprint128, fingerprint128) RETURNS boolean
  AS 'uuid_lt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_lt(fingerprint128, fingerprint128) IS
  'internal: implementation of < operator';
CREATE FUNCTION fingerprint128_le(fingerprint128, fingerprint128) RETURNS boolean
  AS 'uuid_le' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_le(fingerprint128, fingerprint128) IS
  'internal: implementation of <= operator';
CREATE FUNCTION fingerprint128_gt(fingerprint128, fingerprint128) RETURNS boolean
  AS 'uuid_gt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_gt(fingerprint128, fingerprint128) IS
  'internal: implementation of > operator';
CREATE FUNCTION fingerprint128_ge(fingerprint128, fingerprint128) RETURNS boolean
  AS 'uuid_ge' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_ge(fingerprint128, fingerprint128) IS
  'internal: implementation of >= operator';
CREATE FUNCTION fingerprint128_cmp(fingerprint128, fingerprint128) RETURNS integer
  AS 'uuid_cmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_cmp(fingerprint128, fingerprint128) IS
  'internal: less-equal-greater';
CREATE FUNCTION fingerprint128_sortsupport(internal) RETURNS void
  AS 'uuid_sortsupport' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_sortsupport(internal) IS 'internal: sort support';
CREATE FUNCTION fingerprint128_hash(fingerprint128) RETURNS integer
  AS 'uuid_hash' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_hash(fingerprint128) IS 'internal: hash';
CREATE FUNCTION fingerprint128_hash_extended(fingerprint128, bigint) RETURNS bigint
  AS 'uuid_hash_extended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_hash_extended(fingerprint128, bigint) IS 'internal: hash';
CREATE FUNCTION fingerprint128_smaller(fingerprint128, fingerprint128) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_smaller_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_smaller(fingerprint128, fingerprint128) IS
  'internal: smaller of two';
CREATE FUNCTION fingerprint128_larger(fingerprint128, fingerprint128) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_larger_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_larger(fingerprint128, fingerprint128) IS
  'internal: larger of two';

CREATE OPERATOR = (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (fingerprint128, fingerprint128) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (fingerprint128, fingerprint128) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (fingerprint128, fingerprint128) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (fingerprint128, fingerprint128) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (fingerprint128, fingerprint128) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (fingerprint128, fingerprint128) IS 'greater than or equal';

CREATE OPERATOR CLASS fingerprint128_ops DEFAULT FOR TYPE fingerprint128 USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 fingerprint128_cmp(fingerprint128, fingerprint128),
  FUNCTION 2 fingerprint128_sortsupport(internal),
  FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS fingerprint128_ops DEFAULT FOR TYPE fingerprint128 USING hash AS
  OPERATOR 1 =,
  FUNCTION 1 fingerprint128_hash(fingerprint128),
  FUNCTION 2 fingerprint128_hash_extended(fingerprint128, bigint);

CREATE AGGREGATE min(fingerprint128) (
  SFUNC = fingerprint128_smaller, STYPE = fingerprint128, SORTOP = <,
  COMBINEFUNC = fingerprint128_smaller, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(fingerprint128) IS
  'internal: minimum, in unsigned order';
CREATE AGGREGATE max(fingerprint128) (
  SFUNC = fingerprint128_larger, STYPE = fingerprint128, SORTOP = >,
  COMBINEFUNC = fingerprint128_larger, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(fingerprint128) IS
  'internal: maximum, in unsigned order';

CREATE FUNCTION fingerprint256_eq(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_eq_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_eq(fingerprint256, fingerprint256) IS
  'internal: implementation of = operator';
CREATE FUNCTION fingerprint256_ne(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_ne_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_ne(fingerprint256, fingerprint256) IS
  'internal: implementation of <> operator';
CREATE FUNCTION fingerprint256_lt(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_lt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_lt(fingerprint256, fingerprint256) IS
  'internal: implementation of < operator';
CREATE FUNCTION fingerprint256_le(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_le_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_le(fingerprint256, fingerprint256) IS
  'internal: implementation of <= operator';
CREATE FUNCTION fingerprint256_gt(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_gt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_gt(fingerprint256, fingerprint256) IS
  'internal: implementation of > operator';
CREATE FUNCTION fingerprint256_ge(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_ge_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_ge(fingerprint256, fingerprint256) IS
  'internal: implementation of >= operator';
CREATE FUNCTION fingerprint256_cmp(fingerprint256, fingerprint256) RETURNS integer
  AS 'MODULE_PATHNAME', 'fingerprint256_cmp_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_cmp(fingerprint256, fingerprint256) IS
  'internal: less-equal-greater';
CREATE FUNCTION fingerprint256_sortsupport(internal) RETURNS void
  AS 'MODULE_PATHNAME', 'fingerprint256_sortsupport_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_sortsupport(internal) IS 'internal: sort support';
CREATE FUNCTION fingerprint256_hash(fingerprint256) RETURNS integer
  AS 'MODULE_PATHNAME', 'fingerprint256_hash_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_hash(fingerprint256) IS 'internal: hash';
CREATE FUNCTION fingerprint256_hash_extended(fingerprint256, bigint) RETURNS bigint
  AS 'MODULE_PATHNAME', 'fingerprint256_hash_extended_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_hash_extended(fingerprint256, bigint) IS 'internal: hash';
CREATE FUNCTION fingerprint256_smaller(fingerprint256, fingerprint256) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_smaller_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_smaller(fingerprint256, fingerprint256) IS
  'internal: smaller of two';
CREATE FUNCTION fingerprint256_larger(fingerprint256, fingerprint256) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_larger_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_larger(fingerprint256, fingerprint256) IS
  'internal: larger of two';

CREATE OPERATOR = (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (fingerprint256, fingerprint256) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (fingerprint256, fingerprint256) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (fingerprint256, fingerprint256) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (fingerprint256, fingerprint256) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (fingerprint256, fingerprint256) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (fingerprint256, fingerprint256) IS 'greater than or equal';

CREATE OPERATOR CLASS fingerprint256_ops DEFAULT FOR TYPE fingerprint256 USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 fingerprint256_cmp(fingerprint256, fingerprint256),
  FUNCTION 2 fingerprint256_sortsupport(internal),
  FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS fingerprint256_ops DEFAULT FOR TYPE fingerprint256 USING hash AS
  OPERATOR 1 =,
  FUNCTION 1 fingerprint256_hash(fingerprint256),
  FUNCTION 2 fingerprint256_hash_extended(fingerprint256, bigint);

CREATE AGGREGATE min(fingerprint256) (
  SFUNC = fingerprint256_smaller, STYPE = fingerprint256, SORTOP = <,
  COMBINEFUNC = fingerprint256_smaller, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(fingerprint256) IS
  'internal: minimum, in unsigned order';
CREATE AGGREGATE max(fingerprint256) (
  SFUNC = fingerprint256_larger, STYPE = fingerprint256, SORTOP = >,
  COMBINEFUNC = fingerprint256_larger, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(fingerprint256) IS
  'internal: maximum, in unsigned order';
