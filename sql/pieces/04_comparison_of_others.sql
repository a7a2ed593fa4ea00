--
-- Comparison of the other types. DISTINCT, GROUP BY, UNION and replication of tables with REPLICA
-- IDENTITY FULL ask for equality. Balls are ordered by centre, then by radius. Types of variable
-- length are ordered by their bytes, as bytea is, because each value has one stored form. Balls
-- have no hash operator class: with one, the planner would put Memoize into joins by distance, and
-- nobody has measured that.
--

CREATE FUNCTION hamming_ball64_eq(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_eq_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_eq(hamming_ball64, hamming_ball64) IS
  'internal: implementation of = operator';
CREATE FUNCTION hamming_ball64_ne(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_ne_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_ne(hamming_ball64, hamming_ball64) IS
  'internal: implementation of <> operator';
CREATE FUNCTION hamming_ball64_lt(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_lt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_lt(hamming_ball64, hamming_ball64) IS
  'internal: implementation of < operator';
CREATE FUNCTION hamming_ball64_le(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_le_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_le(hamming_ball64, hamming_ball64) IS
  'internal: implementation of <= operator';
CREATE FUNCTION hamming_ball64_gt(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_gt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_gt(hamming_ball64, hamming_ball64) IS
  'internal: implementation of > operator';
CREATE FUNCTION hamming_ball64_ge(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_ge_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_ge(hamming_ball64, hamming_ball64) IS
  'internal: implementation of >= operator';
CREATE FUNCTION hamming_ball64_cmp(hamming_ball64, hamming_ball64) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_ball64_cmp_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_cmp(hamming_ball64, hamming_ball64) IS
  'internal: less-equal-greater';
CREATE OPERATOR = (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (hamming_ball64, hamming_ball64) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (hamming_ball64, hamming_ball64) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (hamming_ball64, hamming_ball64) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (hamming_ball64, hamming_ball64) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (hamming_ball64, hamming_ball64) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (hamming_ball64, hamming_ball64) IS 'greater than or equal';
CREATE OPERATOR CLASS hamming_ball64_ops DEFAULT FOR TYPE hamming_ball64 USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 hamming_ball64_cmp(hamming_ball64, hamming_ball64),
  FUNCTION 4 btequalimage(oid);

CREATE FUNCTION hamming_ball128_eq(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_eq_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_eq(hamming_ball128, hamming_ball128) IS
  'internal: implementation of = operator';
CREATE FUNCTION hamming_ball128_ne(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_ne_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_ne(hamming_ball128, hamming_ball128) IS
  'internal: implementation of <> operator';
CREATE FUNCTION hamming_ball128_lt(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_lt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_lt(hamming_ball128, hamming_ball128) IS
  'internal: implementation of < operator';
CREATE FUNCTION hamming_ball128_le(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_le_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_le(hamming_ball128, hamming_ball128) IS
  'internal: implementation of <= operator';
CREATE FUNCTION hamming_ball128_gt(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_gt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_gt(hamming_ball128, hamming_ball128) IS
  'internal: implementation of > operator';
CREATE FUNCTION hamming_ball128_ge(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_ge_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_ge(hamming_ball128, hamming_ball128) IS
  'internal: implementation of >= operator';
CREATE FUNCTION hamming_ball128_cmp(hamming_ball128, hamming_ball128) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_ball128_cmp_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_cmp(hamming_ball128, hamming_ball128) IS
  'internal: less-equal-greater';
CREATE OPERATOR = (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (hamming_ball128, hamming_ball128) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (hamming_ball128, hamming_ball128) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (hamming_ball128, hamming_ball128) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (hamming_ball128, hamming_ball128) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (hamming_ball128, hamming_ball128) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (hamming_ball128, hamming_ball128) IS 'greater than or equal';
CREATE OPERATOR CLASS hamming_ball128_ops DEFAULT FOR TYPE hamming_ball128 USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 hamming_ball128_cmp(hamming_ball128, hamming_ball128),
  FUNCTION 4 btequalimage(oid);

CREATE FUNCTION hamming_ball256_eq(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_eq_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_eq(hamming_ball256, hamming_ball256) IS
  'internal: implementation of = operator';
CREATE FUNCTION hamming_ball256_ne(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_ne_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_ne(hamming_ball256, hamming_ball256) IS
  'internal: implementation of <> operator';
CREATE FUNCTION hamming_ball256_lt(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_lt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_lt(hamming_ball256, hamming_ball256) IS
  'internal: implementation of < operator';
CREATE FUNCTION hamming_ball256_le(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_le_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_le(hamming_ball256, hamming_ball256) IS
  'internal: implementation of <= operator';
CREATE FUNCTION hamming_ball256_gt(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_gt_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_gt(hamming_ball256, hamming_ball256) IS
  'internal: implementation of > operator';
CREATE FUNCTION hamming_ball256_ge(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_ge_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_ge(hamming_ball256, hamming_ball256) IS
  'internal: implementation of >= operator';
CREATE FUNCTION hamming_ball256_cmp(hamming_ball256, hamming_ball256) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_ball256_cmp_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_cmp(hamming_ball256, hamming_ball256) IS
  'internal: less-equal-greater';
CREATE OPERATOR = (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (hamming_ball256, hamming_ball256) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (hamming_ball256, hamming_ball256) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (hamming_ball256, hamming_ball256) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (hamming_ball256, hamming_ball256) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (hamming_ball256, hamming_ball256) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (hamming_ball256, hamming_ball256) IS 'greater than or equal';
CREATE OPERATOR CLASS hamming_ball256_ops DEFAULT FOR TYPE hamming_ball256 USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 hamming_ball256_cmp(hamming_ball256, hamming_ball256),
  FUNCTION 4 btequalimage(oid);

CREATE FUNCTION hamming_ball_bit_eq(hamming_ball_bit, hamming_ball_bit) RETURNS boolean
  AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_eq(hamming_ball_bit, hamming_ball_bit) IS
  'internal: implementation of = operator';
CREATE FUNCTION hamming_ball_bit_ne(hamming_ball_bit, hamming_ball_bit) RETURNS boolean
  AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_ne(hamming_ball_bit, hamming_ball_bit) IS
  'internal: implementation of <> operator';
CREATE FUNCTION hamming_ball_bit_lt(hamming_ball_bit, hamming_ball_bit) RETURNS boolean
  AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_lt(hamming_ball_bit, hamming_ball_bit) IS
  'internal: implementation of < operator';
CREATE FUNCTION hamming_ball_bit_le(hamming_ball_bit, hamming_ball_bit) RETURNS boolean
  AS 'byteale' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_le(hamming_ball_bit, hamming_ball_bit) IS
  'internal: implementation of <= operator';
CREATE FUNCTION hamming_ball_bit_gt(hamming_ball_bit, hamming_ball_bit) RETURNS boolean
  AS 'byteagt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_gt(hamming_ball_bit, hamming_ball_bit) IS
  'internal: implementation of > operator';
CREATE FUNCTION hamming_ball_bit_ge(hamming_ball_bit, hamming_ball_bit) RETURNS boolean
  AS 'byteage' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_ge(hamming_ball_bit, hamming_ball_bit) IS
  'internal: implementation of >= operator';
CREATE FUNCTION hamming_ball_bit_cmp(hamming_ball_bit, hamming_ball_bit) RETURNS integer
  AS 'byteacmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_cmp(hamming_ball_bit, hamming_ball_bit) IS
  'internal: less-equal-greater';
CREATE OPERATOR = (
  LEFTARG = hamming_ball_bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_ball_bit_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (hamming_ball_bit, hamming_ball_bit) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = hamming_ball_bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_ball_bit_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (hamming_ball_bit, hamming_ball_bit) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = hamming_ball_bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_ball_bit_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (hamming_ball_bit, hamming_ball_bit) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = hamming_ball_bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_ball_bit_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (hamming_ball_bit, hamming_ball_bit) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = hamming_ball_bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_ball_bit_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (hamming_ball_bit, hamming_ball_bit) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = hamming_ball_bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_ball_bit_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (hamming_ball_bit, hamming_ball_bit) IS 'greater than or equal';
CREATE OPERATOR CLASS hamming_ball_bit_ops DEFAULT FOR TYPE hamming_ball_bit USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 hamming_ball_bit_cmp(hamming_ball_bit, hamming_ball_bit),
  FUNCTION 4 btequalimage(oid);

CREATE FUNCTION simhash_config_eq(simhash_config, simhash_config) RETURNS boolean
  AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_eq(simhash_config, simhash_config) IS
  'internal: implementation of = operator';
CREATE FUNCTION simhash_config_ne(simhash_config, simhash_config) RETURNS boolean
  AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_ne(simhash_config, simhash_config) IS
  'internal: implementation of <> operator';
CREATE FUNCTION simhash_config_lt(simhash_config, simhash_config) RETURNS boolean
  AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_lt(simhash_config, simhash_config) IS
  'internal: implementation of < operator';
CREATE FUNCTION simhash_config_le(simhash_config, simhash_config) RETURNS boolean
  AS 'byteale' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_le(simhash_config, simhash_config) IS
  'internal: implementation of <= operator';
CREATE FUNCTION simhash_config_gt(simhash_config, simhash_config) RETURNS boolean
  AS 'byteagt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_gt(simhash_config, simhash_config) IS
  'internal: implementation of > operator';
CREATE FUNCTION simhash_config_ge(simhash_config, simhash_config) RETURNS boolean
  AS 'byteage' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_ge(simhash_config, simhash_config) IS
  'internal: implementation of >= operator';
CREATE FUNCTION simhash_config_cmp(simhash_config, simhash_config) RETURNS integer
  AS 'byteacmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_cmp(simhash_config, simhash_config) IS
  'internal: less-equal-greater';
CREATE FUNCTION simhash_config_hash(simhash_config) RETURNS integer
  AS 'hashvarlena' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_hash(simhash_config) IS 'internal: hash';
CREATE FUNCTION simhash_config_hash_extended(simhash_config, bigint) RETURNS bigint
  AS 'hashvarlenaextended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_hash_extended(simhash_config, bigint) IS 'internal: hash';
CREATE OPERATOR = (
  LEFTARG = simhash_config, RIGHTARG = simhash_config, FUNCTION = simhash_config_eq,
  COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (simhash_config, simhash_config) IS 'equal';
CREATE OPERATOR <> (
  LEFTARG = simhash_config, RIGHTARG = simhash_config, FUNCTION = simhash_config_ne,
  COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (simhash_config, simhash_config) IS 'not equal';
CREATE OPERATOR < (
  LEFTARG = simhash_config, RIGHTARG = simhash_config, FUNCTION = simhash_config_lt,
  COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (simhash_config, simhash_config) IS 'less than';
CREATE OPERATOR <= (
  LEFTARG = simhash_config, RIGHTARG = simhash_config, FUNCTION = simhash_config_le,
  COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (simhash_config, simhash_config) IS 'less than or equal';
CREATE OPERATOR > (
  LEFTARG = simhash_config, RIGHTARG = simhash_config, FUNCTION = simhash_config_gt,
  COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (simhash_config, simhash_config) IS 'greater than';
CREATE OPERATOR >= (
  LEFTARG = simhash_config, RIGHTARG = simhash_config, FUNCTION = simhash_config_ge,
  COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (simhash_config, simhash_config) IS 'greater than or equal';
CREATE OPERATOR CLASS simhash_config_ops DEFAULT FOR TYPE simhash_config USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
  FUNCTION 1 simhash_config_cmp(simhash_config, simhash_config),
  FUNCTION 4 btequalimage(oid);
CREATE OPERATOR CLASS simhash_config_ops DEFAULT FOR TYPE simhash_config USING hash AS
  OPERATOR 1 =,
  FUNCTION 1 simhash_config_hash(simhash_config),
  FUNCTION 2 simhash_config_hash_extended(simhash_config, bigint);
