--
-- Distances
--

CREATE FUNCTION hamming_support(internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'hamming_support_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_support(internal) IS 'internal: planner support of hamming';
CREATE FUNCTION hamming_within_support(internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'hamming_within_support_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_within_support(internal) IS
  'internal: planner support of hamming_within';
CREATE FUNCTION hamming_within_sel(internal, oid, internal, integer) RETURNS double precision
  AS 'MODULE_PATHNAME', 'hamming_within_sel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_within_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity';
CREATE FUNCTION hamming_within_joinsel(internal, oid, internal, smallint, internal)
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'hamming_within_joinsel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_within_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity';
CREATE FUNCTION hamming_near_sel(internal, oid, internal, integer) RETURNS double precision
  AS 'MODULE_PATHNAME', 'hamming_near_sel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_near_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity';
CREATE FUNCTION hamming_near_joinsel(internal, oid, internal, smallint, internal)
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'hamming_near_joinsel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_near_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity';

CREATE FUNCTION hamming(a fingerprint64, b fingerprint64) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_fingerprint64_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_support;
COMMENT ON FUNCTION hamming(a fingerprint64, b fingerprint64) IS
  'number of bits in which the two differ';
CREATE FUNCTION hamming(a fingerprint128, b fingerprint128) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_fingerprint128_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_support;
COMMENT ON FUNCTION hamming(a fingerprint128, b fingerprint128) IS
  'number of bits in which the two differ';
CREATE FUNCTION hamming(a fingerprint256, b fingerprint256) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_fingerprint256_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_support;
COMMENT ON FUNCTION hamming(a fingerprint256, b fingerprint256) IS
  'number of bits in which the two differ';
CREATE FUNCTION hamming(a bigint, b bigint) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_int8_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_support;
COMMENT ON FUNCTION hamming(a bigint, b bigint) IS 'number of bits in which the two differ';
CREATE FUNCTION hamming(a bit, b bit) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_bit_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT hamming_support;
COMMENT ON FUNCTION hamming(a bit, b bit) IS
  'number of bits in which two strings of one length differ';
CREATE FUNCTION hamming(a text, b text) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_text_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming(a text, b text) IS
  'number of bits in which two fingerprints, given in text form, differ';

CREATE FUNCTION hamming_within(a fingerprint64, b fingerprint64, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_fingerprint64_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a fingerprint64, b fingerprint64, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';
CREATE FUNCTION hamming_within(a fingerprint128, b fingerprint128, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_fingerprint128_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a fingerprint128, b fingerprint128, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';
CREATE FUNCTION hamming_within(a fingerprint256, b fingerprint256, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_fingerprint256_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a fingerprint256, b fingerprint256, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';
CREATE FUNCTION hamming_within(a bigint, b bigint, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_int8_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a bigint, b bigint, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';

CREATE FUNCTION hamming_within(a bit, b bit, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_bit_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a bit, b bit, distance bigint) IS
  'internal: whether two strings of one length differ in at most so many bits';

CREATE OPERATOR <~> (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = hamming,
  COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (fingerprint64, fingerprint64) IS 'Hamming distance';
CREATE OPERATOR <~> (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = hamming,
  COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (fingerprint128, fingerprint128) IS 'Hamming distance';
CREATE OPERATOR <~> (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = hamming,
  COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (fingerprint256, fingerprint256) IS 'Hamming distance';
CREATE OPERATOR <~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming, COMMUTATOR = <~>);
COMMENT ON OPERATOR <~> (bigint, bigint) IS 'Hamming distance';
-- The operator for bit is <^>: pgvector declares <~> of bit with the same meaning, and a database
-- can have it only once.
CREATE OPERATOR <^> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = hamming, COMMUTATOR = <^>);
COMMENT ON OPERATOR <^> (bit, bit) IS 'Hamming distance';

CREATE FUNCTION hamming_ball(center fingerprint64, radius integer) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball_64_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center fingerprint64, radius integer) IS
  'every fingerprint within a radius of a centre';
CREATE FUNCTION hamming_ball(center fingerprint128, radius integer) RETURNS hamming_ball128
  AS 'MODULE_PATHNAME', 'hamming_ball_128_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center fingerprint128, radius integer) IS
  'every fingerprint within a radius of a centre';
CREATE FUNCTION hamming_ball(center fingerprint256, radius integer) RETURNS hamming_ball256
  AS 'MODULE_PATHNAME', 'hamming_ball_256_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center fingerprint256, radius integer) IS
  'every fingerprint within a radius of a centre';
CREATE FUNCTION hamming_ball(center bigint, radius integer) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball_64_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center bigint, radius integer) IS
  'every bigint whose bits are within a radius of a centre';
CREATE FUNCTION hamming_ball(center text, radius integer) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball_text_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center text, radius integer) IS
  'every fingerprint within a radius of a centre given in text form';
CREATE FUNCTION hamming_ball_or_null(center fingerprint64, radius bigint) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_64_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(center fingerprint64, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
CREATE FUNCTION hamming_ball_or_null(center fingerprint128, radius bigint) RETURNS hamming_ball128
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_128_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(center fingerprint128, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
CREATE FUNCTION hamming_ball_or_null(center fingerprint256, radius bigint) RETURNS hamming_ball256
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_256_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(center fingerprint256, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
CREATE FUNCTION hamming_ball_or_null(center bigint, radius bigint) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_64_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(center bigint, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';

CREATE FUNCTION fingerprint64_within(fingerprint64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_within_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_within(fingerprint64, hamming_ball64) IS
  'internal: implementation of <@ operator';
CREATE FUNCTION fingerprint64_contained(hamming_ball64, fingerprint64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_contains_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_contained(hamming_ball64, fingerprint64) IS
  'internal: implementation of @> operator';
CREATE FUNCTION fingerprint64_near(fingerprint64, fingerprint64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_near(fingerprint64, fingerprint64) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR <@ (
  LEFTARG = fingerprint64, RIGHTARG = hamming_ball64, FUNCTION = fingerprint64_within,
  COMMUTATOR = @>, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR <@ (fingerprint64, hamming_ball64) IS 'is within the radius';
CREATE OPERATOR @> (
  LEFTARG = hamming_ball64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_contained,
  COMMUTATOR = <@, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR @> (hamming_ball64, fingerprint64) IS 'holds within the radius';
CREATE OPERATOR ~= (
  LEFTARG = fingerprint64, RIGHTARG = fingerprint64, FUNCTION = fingerprint64_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (fingerprint64, fingerprint64) IS
  'near-duplicates: distance of at most 3 of 64 bits';

CREATE FUNCTION fingerprint128_within(fingerprint128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint128_within_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_within(fingerprint128, hamming_ball128) IS
  'internal: implementation of <@ operator';
CREATE FUNCTION fingerprint128_contained(hamming_ball128, fingerprint128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_contains_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_contained(hamming_ball128, fingerprint128) IS
  'internal: implementation of @> operator';
CREATE FUNCTION fingerprint128_near(fingerprint128, fingerprint128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint128_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_near(fingerprint128, fingerprint128) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR <@ (
  LEFTARG = fingerprint128, RIGHTARG = hamming_ball128, FUNCTION = fingerprint128_within,
  COMMUTATOR = @>, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR <@ (fingerprint128, hamming_ball128) IS 'is within the radius';
CREATE OPERATOR @> (
  LEFTARG = hamming_ball128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_contained,
  COMMUTATOR = <@, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR @> (hamming_ball128, fingerprint128) IS 'holds within the radius';
CREATE OPERATOR ~= (
  LEFTARG = fingerprint128, RIGHTARG = fingerprint128, FUNCTION = fingerprint128_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (fingerprint128, fingerprint128) IS
  'near-duplicates: distance of at most 10 of 128 bits';

CREATE FUNCTION fingerprint256_within(fingerprint256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_within_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_within(fingerprint256, hamming_ball256) IS
  'internal: implementation of <@ operator';
CREATE FUNCTION fingerprint256_contained(hamming_ball256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_contains_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_contained(hamming_ball256, fingerprint256) IS
  'internal: implementation of @> operator';
CREATE FUNCTION fingerprint256_near(fingerprint256, fingerprint256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint256_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_near(fingerprint256, fingerprint256) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR <@ (
  LEFTARG = fingerprint256, RIGHTARG = hamming_ball256, FUNCTION = fingerprint256_within,
  COMMUTATOR = @>, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR <@ (fingerprint256, hamming_ball256) IS 'is within the radius';
CREATE OPERATOR @> (
  LEFTARG = hamming_ball256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_contained,
  COMMUTATOR = <@, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR @> (hamming_ball256, fingerprint256) IS 'holds within the radius';
CREATE OPERATOR ~= (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = fingerprint256_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (fingerprint256, fingerprint256) IS
  'near-duplicates: distance of at most 31 of 256 bits';

CREATE FUNCTION hamming_int8_within(bigint, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_within_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_int8_within(bigint, hamming_ball64) IS
  'internal: implementation of <@ operator';
CREATE FUNCTION hamming_int8_near(bigint, bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_int8_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_int8_near(bigint, bigint) IS 'internal: implementation of ~= operator';
-- Without a commutator: with a second @>, hamming_ball64 @> '...' would no longer say what type the
-- literal is.
CREATE OPERATOR <@ (
  LEFTARG = bigint, RIGHTARG = hamming_ball64, FUNCTION = hamming_int8_within,
  RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR <@ (bigint, hamming_ball64) IS 'is within the radius';
CREATE OPERATOR ~= (
  LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming_int8_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (bigint, bigint) IS 'near-duplicates: distance of at most 3 of 64 bits';

CREATE FUNCTION hamming_ball64_near(hamming_ball64, hamming_ball64) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_near(hamming_ball64, hamming_ball64) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR ~= (
  LEFTARG = hamming_ball64, RIGHTARG = hamming_ball64, FUNCTION = hamming_ball64_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (hamming_ball64, hamming_ball64) IS 'each holds the other''s centre';

CREATE FUNCTION hamming_ball128_near(hamming_ball128, hamming_ball128) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball128_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_near(hamming_ball128, hamming_ball128) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR ~= (
  LEFTARG = hamming_ball128, RIGHTARG = hamming_ball128, FUNCTION = hamming_ball128_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (hamming_ball128, hamming_ball128) IS 'each holds the other''s centre';

CREATE FUNCTION hamming_ball256_near(hamming_ball256, hamming_ball256) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball256_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_near(hamming_ball256, hamming_ball256) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR ~= (
  LEFTARG = hamming_ball256, RIGHTARG = hamming_ball256, FUNCTION = hamming_ball256_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (hamming_ball256, hamming_ball256) IS 'each holds the other''s centre';

CREATE FUNCTION hamming_ball(center bit, radius integer) RETURNS hamming_ball_bit
  AS 'MODULE_PATHNAME', 'hamming_ball_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center bit, radius integer) IS
  'every bit string within a radius of a centre of the same length';

CREATE FUNCTION hamming_ball_or_null(center bit, radius bigint) RETURNS hamming_ball_bit
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_bit_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(center bit, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, at most the length';

CREATE FUNCTION hamming_bit_within(bit, hamming_ball_bit) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_bit_within_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_bit_within(bit, hamming_ball_bit) IS
  'internal: implementation of <@ operator';
CREATE FUNCTION hamming_bit_contained(hamming_ball_bit, bit) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball_bit_contains_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_bit_contained(hamming_ball_bit, bit) IS
  'internal: implementation of @> operator';
CREATE OPERATOR <@ (
  LEFTARG = bit, RIGHTARG = hamming_ball_bit, FUNCTION = hamming_bit_within,
  COMMUTATOR = @>, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR <@ (bit, hamming_ball_bit) IS 'is within the radius';
CREATE OPERATOR @> (
  LEFTARG = hamming_ball_bit, RIGHTARG = bit, FUNCTION = hamming_bit_contained,
  COMMUTATOR = <@, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR @> (hamming_ball_bit, bit) IS 'holds within the radius';
