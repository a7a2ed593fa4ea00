-- pg_simhash 0.1.0 to 0.2.0: makes the catalogue of 0.1.0 that of 0.2.0.
-- Made by scripts/sql.py of sql/pieces and sql/changes, which are written by hand.

-- complain if the script is sourced in psql rather than through ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_simhash UPDATE TO '0.2.0'" to load this file. \quit

--
-- Types
--

COMMENT ON FUNCTION fingerprint64_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint64_out(fingerprint64) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint64_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint64_send(fingerprint64) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint128_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint128_out(fingerprint128) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint128_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION fingerprint128_send(fingerprint128) IS 'internal: I/O';

CREATE TYPE fingerprint256;

CREATE FUNCTION fingerprint256_in(cstring) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_in(cstring) IS 'internal: I/O';
CREATE FUNCTION fingerprint256_out(fingerprint256) RETURNS cstring
  AS 'MODULE_PATHNAME', 'fingerprint256_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_out(fingerprint256) IS 'internal: I/O';
CREATE FUNCTION fingerprint256_recv(internal) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_recv(internal) IS 'internal: I/O';
CREATE FUNCTION fingerprint256_send(fingerprint256) RETURNS bytea
  AS 'MODULE_PATHNAME', 'fingerprint256_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_send(fingerprint256) IS 'internal: I/O';

CREATE TYPE fingerprint256 (
  INPUT = fingerprint256_in, OUTPUT = fingerprint256_out,
  RECEIVE = fingerprint256_recv, SEND = fingerprint256_send,
  INTERNALLENGTH = 32, ALIGNMENT = char, STORAGE = plain
);
COMMENT ON TYPE fingerprint256 IS
  '256-bit fingerprint, compared by Hamming distance: 64 hexadecimal digits';
COMMENT ON FUNCTION hamming_ball64_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball64_out(hamming_ball64) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball64_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball64_send(hamming_ball64) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball128_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball128_out(hamming_ball128) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball128_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION hamming_ball128_send(hamming_ball128) IS 'internal: I/O';

CREATE TYPE hamming_ball256;

CREATE FUNCTION hamming_ball256_in(cstring) RETURNS hamming_ball256
  AS 'MODULE_PATHNAME', 'hamming_ball256_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_in(cstring) IS 'internal: I/O';
CREATE FUNCTION hamming_ball256_out(hamming_ball256) RETURNS cstring
  AS 'MODULE_PATHNAME', 'hamming_ball256_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_out(hamming_ball256) IS 'internal: I/O';
CREATE FUNCTION hamming_ball256_recv(internal) RETURNS hamming_ball256
  AS 'MODULE_PATHNAME', 'hamming_ball256_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_recv(internal) IS 'internal: I/O';
CREATE FUNCTION hamming_ball256_send(hamming_ball256) RETURNS bytea
  AS 'MODULE_PATHNAME', 'hamming_ball256_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball256_send(hamming_ball256) IS 'internal: I/O';

CREATE TYPE hamming_ball256 (
  INPUT = hamming_ball256_in, OUTPUT = hamming_ball256_out,
  RECEIVE = hamming_ball256_recv, SEND = hamming_ball256_send,
  INTERNALLENGTH = 36, ALIGNMENT = int4, STORAGE = plain
);
COMMENT ON TYPE hamming_ball256 IS
  'every 256-bit fingerprint within a radius of a centre: <fingerprint,radius>';

CREATE TYPE hamming_ball_bit;

CREATE FUNCTION hamming_ball_bit_in(cstring) RETURNS hamming_ball_bit
  AS 'MODULE_PATHNAME', 'hamming_ball_bit_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_in(cstring) IS 'internal: I/O';
CREATE FUNCTION hamming_ball_bit_out(hamming_ball_bit) RETURNS cstring
  AS 'MODULE_PATHNAME', 'hamming_ball_bit_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_out(hamming_ball_bit) IS 'internal: I/O';
CREATE FUNCTION hamming_ball_bit_recv(internal) RETURNS hamming_ball_bit
  AS 'MODULE_PATHNAME', 'hamming_ball_bit_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_recv(internal) IS 'internal: I/O';
CREATE FUNCTION hamming_ball_bit_send(hamming_ball_bit) RETURNS bytea
  AS 'MODULE_PATHNAME', 'hamming_ball_bit_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_bit_send(hamming_ball_bit) IS 'internal: I/O';

CREATE TYPE hamming_ball_bit (
  INPUT = hamming_ball_bit_in, OUTPUT = hamming_ball_bit_out,
  RECEIVE = hamming_ball_bit_recv, SEND = hamming_ball_bit_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE hamming_ball_bit IS
  'every bit string within a radius of a centre of the same length: <bits,radius>';
COMMENT ON FUNCTION simhash_config_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION simhash_config_out(simhash_config) IS 'internal: I/O';
COMMENT ON FUNCTION simhash_config_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION simhash_config_send(simhash_config) IS 'internal: I/O';

--
-- Casts
--

COMMENT ON FUNCTION fingerprint64_to_bit(fingerprint64) IS
  'internal: implementation of the cast to bit(64)';
COMMENT ON FUNCTION fingerprint64_from_bit(bit) IS
  'internal: implementation of the cast from bit(64)';
COMMENT ON FUNCTION fingerprint64_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';
COMMENT ON FUNCTION fingerprint128_to_bit(fingerprint128) IS
  'internal: implementation of the cast to bit(128)';
COMMENT ON FUNCTION fingerprint128_from_bit(bit) IS
  'internal: implementation of the cast from bit(128)';
COMMENT ON FUNCTION fingerprint128_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';

CREATE FUNCTION fingerprint256_to_bit(fingerprint256) RETURNS bit
  AS 'MODULE_PATHNAME', 'fingerprint256_to_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_to_bit(fingerprint256) IS
  'internal: implementation of the cast to bit(256)';
CREATE FUNCTION fingerprint256_from_bit(bit) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_from_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_from_bit(bit) IS
  'internal: implementation of the cast from bit(256)';
CREATE FUNCTION fingerprint256_from_bytea(bytea) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_from_bytea_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';
CREATE CAST (fingerprint256 AS bit)
  WITH FUNCTION fingerprint256_to_bit(fingerprint256) AS ASSIGNMENT;
CREATE CAST (bit AS fingerprint256) WITH FUNCTION fingerprint256_from_bit(bit) AS ASSIGNMENT;
CREATE CAST (fingerprint256 AS bytea)
  WITH FUNCTION fingerprint256_send(fingerprint256) AS ASSIGNMENT;
CREATE CAST (bytea AS fingerprint256) WITH FUNCTION fingerprint256_from_bytea(bytea) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint256 AS bit) IS 'the most significant bit first';
COMMENT ON CAST (bit AS fingerprint256) IS 'the most significant bit first';
COMMENT ON CAST (fingerprint256 AS bytea) IS '32 bytes in network order';
COMMENT ON CAST (bytea AS fingerprint256) IS '32 bytes in network order';

-- Numbers as programs send them: unsigned ones as numeric, small ones as smallint or integer.
CREATE FUNCTION fingerprint64_from_int2(smallint) RETURNS fingerprint64
  AS 'int28' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_int2(smallint) IS
  'internal: implementation of the cast from smallint';
CREATE FUNCTION fingerprint64_from_int4(integer) RETURNS fingerprint64
  AS 'int48' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_int4(integer) IS
  'internal: implementation of the cast from integer';
CREATE CAST (smallint AS fingerprint64)
  WITH FUNCTION fingerprint64_from_int2(smallint) AS ASSIGNMENT;
CREATE CAST (integer AS fingerprint64) WITH FUNCTION fingerprint64_from_int4(integer) AS ASSIGNMENT;
COMMENT ON CAST (smallint AS fingerprint64) IS 'the bits of the same bigint';
COMMENT ON CAST (integer AS fingerprint64) IS 'the bits of the same bigint';
CREATE FUNCTION fingerprint64_to_numeric(fingerprint64) RETURNS numeric
  AS 'MODULE_PATHNAME', 'fingerprint64_to_numeric_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_to_numeric(fingerprint64) IS
  'internal: implementation of the cast to numeric';
CREATE FUNCTION fingerprint64_from_numeric(numeric) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_from_numeric_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_numeric(numeric) IS
  'internal: implementation of the cast from numeric';
CREATE CAST (fingerprint64 AS numeric)
  WITH FUNCTION fingerprint64_to_numeric(fingerprint64) AS ASSIGNMENT;
CREATE CAST (numeric AS fingerprint64)
  WITH FUNCTION fingerprint64_from_numeric(numeric) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint64 AS numeric) IS 'an unsigned number';
COMMENT ON CAST (numeric AS fingerprint64) IS 'an unsigned number';

CREATE FUNCTION fingerprint128_to_numeric(fingerprint128) RETURNS numeric
  AS 'MODULE_PATHNAME', 'fingerprint128_to_numeric_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_to_numeric(fingerprint128) IS
  'internal: implementation of the cast to numeric';
CREATE FUNCTION fingerprint128_from_numeric(numeric) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_from_numeric_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_from_numeric(numeric) IS
  'internal: implementation of the cast from numeric';
CREATE CAST (fingerprint128 AS numeric)
  WITH FUNCTION fingerprint128_to_numeric(fingerprint128) AS ASSIGNMENT;
CREATE CAST (numeric AS fingerprint128)
  WITH FUNCTION fingerprint128_from_numeric(numeric) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint128 AS numeric) IS 'an unsigned number';
COMMENT ON CAST (numeric AS fingerprint128) IS 'an unsigned number';

CREATE FUNCTION fingerprint256_to_numeric(fingerprint256) RETURNS numeric
  AS 'MODULE_PATHNAME', 'fingerprint256_to_numeric_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_to_numeric(fingerprint256) IS
  'internal: implementation of the cast to numeric';
CREATE FUNCTION fingerprint256_from_numeric(numeric) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint256_from_numeric_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_from_numeric(numeric) IS
  'internal: implementation of the cast from numeric';
CREATE CAST (fingerprint256 AS numeric)
  WITH FUNCTION fingerprint256_to_numeric(fingerprint256) AS ASSIGNMENT;
CREATE CAST (numeric AS fingerprint256)
  WITH FUNCTION fingerprint256_from_numeric(numeric) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint256 AS numeric) IS 'an unsigned number';
COMMENT ON CAST (numeric AS fingerprint256) IS 'an unsigned number';

-- Implicit from now on, because programs send objects as jsonb. No view or column depends on a cast
-- that goes through the text form.
DROP CAST (jsonb AS simhash_config);
CREATE CAST (jsonb AS simhash_config) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (jsonb AS simhash_config) IS 'checked as on input';

--
-- Comparison: fingerprints in unsigned order
--

COMMENT ON FUNCTION fingerprint64_eq(fingerprint64, fingerprint64) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION fingerprint64_ne(fingerprint64, fingerprint64) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION fingerprint64_lt(fingerprint64, fingerprint64) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION fingerprint64_le(fingerprint64, fingerprint64) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION fingerprint64_gt(fingerprint64, fingerprint64) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION fingerprint64_ge(fingerprint64, fingerprint64) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION fingerprint64_cmp(fingerprint64, fingerprint64) IS
  'internal: less-equal-greater';
COMMENT ON FUNCTION fingerprint64_sortsupport(internal) IS 'internal: sort support';
COMMENT ON FUNCTION fingerprint64_hash(fingerprint64) IS 'internal: hash';
COMMENT ON FUNCTION fingerprint64_hash_extended(fingerprint64, bigint) IS 'internal: hash';
COMMENT ON FUNCTION fingerprint64_smaller(fingerprint64, fingerprint64) IS
  'internal: smaller of two';
COMMENT ON FUNCTION fingerprint64_larger(fingerprint64, fingerprint64) IS 'internal: larger of two';
COMMENT ON AGGREGATE min(fingerprint64) IS
  'internal: minimum, in unsigned order';
COMMENT ON AGGREGATE max(fingerprint64) IS
  'internal: maximum, in unsigned order';
COMMENT ON FUNCTION fingerprint128_eq(fingerprint128, fingerprint128) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION fingerprint128_ne(fingerprint128, fingerprint128) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION fingerprint128_lt(fingerprint128, fingerprint128) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION fingerprint128_le(fingerprint128, fingerprint128) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION fingerprint128_gt(fingerprint128, fingerprint128) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION fingerprint128_ge(fingerprint128, fingerprint128) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION fingerprint128_cmp(fingerprint128, fingerprint128) IS
  'internal: less-equal-greater';
COMMENT ON FUNCTION fingerprint128_sortsupport(internal) IS 'internal: sort support';
COMMENT ON FUNCTION fingerprint128_hash(fingerprint128) IS 'internal: hash';
COMMENT ON FUNCTION fingerprint128_hash_extended(fingerprint128, bigint) IS 'internal: hash';
COMMENT ON FUNCTION fingerprint128_smaller(fingerprint128, fingerprint128) IS
  'internal: smaller of two';
COMMENT ON FUNCTION fingerprint128_larger(fingerprint128, fingerprint128) IS
  'internal: larger of two';
COMMENT ON AGGREGATE min(fingerprint128) IS
  'internal: minimum, in unsigned order';
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

--
-- Comparison of the other types. DISTINCT, GROUP BY, UNION and replication of tables with REPLICA
-- IDENTITY FULL ask for equality. Balls are ordered by centre, then by radius. Types of variable
-- length are ordered by their bytes, as bytea is, because each value has one stored form. Balls
-- have no hash operator class: with one, the planner would put Memoize into joins by distance, and
-- nobody has measured that.
--

COMMENT ON FUNCTION hamming_ball64_eq(hamming_ball64, hamming_ball64) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION hamming_ball64_ne(hamming_ball64, hamming_ball64) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION hamming_ball64_lt(hamming_ball64, hamming_ball64) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION hamming_ball64_le(hamming_ball64, hamming_ball64) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION hamming_ball64_gt(hamming_ball64, hamming_ball64) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION hamming_ball64_ge(hamming_ball64, hamming_ball64) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION hamming_ball64_cmp(hamming_ball64, hamming_ball64) IS
  'internal: less-equal-greater';
COMMENT ON FUNCTION hamming_ball128_eq(hamming_ball128, hamming_ball128) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION hamming_ball128_ne(hamming_ball128, hamming_ball128) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION hamming_ball128_lt(hamming_ball128, hamming_ball128) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION hamming_ball128_le(hamming_ball128, hamming_ball128) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION hamming_ball128_gt(hamming_ball128, hamming_ball128) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION hamming_ball128_ge(hamming_ball128, hamming_ball128) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION hamming_ball128_cmp(hamming_ball128, hamming_ball128) IS
  'internal: less-equal-greater';

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
COMMENT ON FUNCTION simhash_config_eq(simhash_config, simhash_config) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION simhash_config_ne(simhash_config, simhash_config) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION simhash_config_lt(simhash_config, simhash_config) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION simhash_config_le(simhash_config, simhash_config) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION simhash_config_gt(simhash_config, simhash_config) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION simhash_config_ge(simhash_config, simhash_config) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION simhash_config_cmp(simhash_config, simhash_config) IS
  'internal: less-equal-greater';
COMMENT ON FUNCTION simhash_config_hash(simhash_config) IS 'internal: hash';
COMMENT ON FUNCTION simhash_config_hash_extended(simhash_config, bigint) IS 'internal: hash';

--
-- Distances
--

COMMENT ON FUNCTION hamming_support(internal) IS 'internal: planner support of hamming';
COMMENT ON FUNCTION hamming_within_support(internal) IS
  'internal: planner support of hamming_within';
COMMENT ON FUNCTION hamming_within_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity';
COMMENT ON FUNCTION hamming_within_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity';
COMMENT ON FUNCTION hamming_near_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity';
COMMENT ON FUNCTION hamming_near_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity';
CREATE FUNCTION hamming(a fingerprint256, b fingerprint256) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_fingerprint256_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_support;
COMMENT ON FUNCTION hamming(a fingerprint256, b fingerprint256) IS
  'number of bits in which the two differ';

ALTER FUNCTION hamming(bit, bit) SUPPORT hamming_support;
COMMENT ON FUNCTION hamming_within(a fingerprint64, b fingerprint64, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';
COMMENT ON FUNCTION hamming_within(a fingerprint128, b fingerprint128, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';
CREATE FUNCTION hamming_within(a fingerprint256, b fingerprint256, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_fingerprint256_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a fingerprint256, b fingerprint256, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';
COMMENT ON FUNCTION hamming_within(a bigint, b bigint, distance bigint) IS
  'internal: whether the two differ in at most so many bits: hamming(a, b) <= distance';

CREATE FUNCTION hamming_within(a bit, b bit, distance bigint) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_bit_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a bit, b bit, distance bigint) IS
  'internal: whether two strings of one length differ in at most so many bits';
CREATE OPERATOR <~> (
  LEFTARG = fingerprint256, RIGHTARG = fingerprint256, FUNCTION = hamming,
  COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (fingerprint256, fingerprint256) IS 'Hamming distance';
-- The operator for bit is <^>: pgvector declares <~> of bit with the same meaning, and a database
-- can have it only once.
CREATE OPERATOR <^> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = hamming, COMMUTATOR = <^>);
COMMENT ON OPERATOR <^> (bit, bit) IS 'Hamming distance';
CREATE FUNCTION hamming_ball(center fingerprint256, radius integer) RETURNS hamming_ball256
  AS 'MODULE_PATHNAME', 'hamming_ball_256_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(center fingerprint256, radius integer) IS
  'every fingerprint within a radius of a centre';
COMMENT ON FUNCTION hamming_ball_or_null(center fingerprint64, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
COMMENT ON FUNCTION hamming_ball_or_null(center fingerprint128, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
CREATE FUNCTION hamming_ball_or_null(center fingerprint256, radius bigint) RETURNS hamming_ball256
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_256_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(center fingerprint256, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
COMMENT ON FUNCTION hamming_ball_or_null(center bigint, radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
COMMENT ON FUNCTION fingerprint64_within(fingerprint64, hamming_ball64) IS
  'internal: implementation of <@ operator';
COMMENT ON FUNCTION fingerprint64_contained(hamming_ball64, fingerprint64) IS
  'internal: implementation of @> operator';
COMMENT ON FUNCTION fingerprint64_near(fingerprint64, fingerprint64) IS
  'internal: implementation of ~= operator';
COMMENT ON FUNCTION fingerprint128_within(fingerprint128, hamming_ball128) IS
  'internal: implementation of <@ operator';
COMMENT ON FUNCTION fingerprint128_contained(hamming_ball128, fingerprint128) IS
  'internal: implementation of @> operator';
COMMENT ON FUNCTION fingerprint128_near(fingerprint128, fingerprint128) IS
  'internal: implementation of ~= operator';

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
COMMENT ON FUNCTION hamming_int8_within(bigint, hamming_ball64) IS
  'internal: implementation of <@ operator';
COMMENT ON FUNCTION hamming_int8_near(bigint, bigint) IS 'internal: implementation of ~= operator';
COMMENT ON FUNCTION hamming_ball64_near(hamming_ball64, hamming_ball64) IS
  'internal: implementation of ~= operator';
COMMENT ON FUNCTION hamming_ball128_near(hamming_ball128, hamming_ball128) IS
  'internal: implementation of ~= operator';

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

--
-- Fingerprints
--

CREATE FUNCTION simhash256(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash256_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION simhash256(body text, config simhash_config) IS
  '256-bit simhash of a text; NULL for a text without features';
CREATE FUNCTION simhash256(document tsvector) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash256_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION simhash256(document tsvector) IS
  '256-bit simhash of lexemes, weighted by their positions and labels';
CREATE FUNCTION simhash256_from(features text[], weights real[] DEFAULT NULL) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash256_from_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash256_from(features text[], weights real[]) IS
  '256-bit simhash of the caller''s own features';
CREATE FUNCTION minhash256(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'minhash256_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION minhash256(body text, config simhash_config) IS
  'one bit of each of 256 MinHash components of a text; NULL for a text without features';
CREATE FUNCTION minhash256(document tsvector) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'minhash256_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash256(document tsvector) IS
  'one bit of each of 256 MinHash components of the set of lexemes';
CREATE FUNCTION minhash256_from(features text[]) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'minhash256_from_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash256_from(features text[]) IS
  'one bit of each of 256 MinHash components of the caller''s own set of features';
CREATE FUNCTION simhash256_features(body text, config simhash_config DEFAULT '{}',
  OUT feature text, OUT weight real, OUT hash fingerprint256) RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash256_features_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000 ROWS 300;
COMMENT ON FUNCTION simhash256_features(text, simhash_config) IS
  'what simhash256 hashes, with its weight';
CREATE FUNCTION simhash_explain(a text, b text, config simhash_config DEFAULT '{}',
    method text DEFAULT 'simhash', bits integer DEFAULT 128,
    OUT feature text, OUT side text, OUT weight_a real, OUT weight_b real, OUT share real,
    OUT distance integer, OUT similarity real)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_explain_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 500;
COMMENT ON FUNCTION simhash_explain(a text, b text, config simhash_config, method text,
    bits integer) IS
  'the features of two texts, those that matter most first: who has them, their weights, how many '
  'of the differing bits each one causes; and how far and how similar the texts are; before them, '
  'the numbers that differ, if the config compares these';
CREATE FUNCTION simhash_numbers(body text, config simhash_config DEFAULT '{}') RETURNS text[]
  AS 'MODULE_PATHNAME', 'simhash_numbers_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION simhash_numbers(body text, config simhash_config) IS
  'the numbers of a text, each in one form, as "numbers" in a config has them compared';
CREATE FUNCTION simhash_values() RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_values_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION simhash_values() IS
  'what fingerprints and keys are made by here: rules, dictionary and tables';
CREATE FUNCTION simhash_values(expected text) RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_values_expected_wrapper'
  LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1;
COMMENT ON FUNCTION simhash_values(expected text) IS
  'the same, and an error if it is not what is expected';
COMMENT ON FUNCTION hamming_within(a fingerprint64[], b fingerprint64[], distance bigint) IS
  'internal: whether the two differ in at most so many bits at some position: hamming(a, b) <= '
  'distance';
COMMENT ON FUNCTION hamming_ball_or_null(centers fingerprint64[], radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
COMMENT ON FUNCTION fingerprint64_array_within(fingerprint64[], hamming_ball64[]) IS
  'internal: implementation of <@ operator';
COMMENT ON FUNCTION fingerprint64_array_contained(hamming_ball64[], fingerprint64[]) IS
  'internal: implementation of @> operator';
COMMENT ON FUNCTION fingerprint64_array_near(fingerprint64[], fingerprint64[]) IS
  'internal: implementation of ~= operator';

--
-- Near-duplicates of texts
--

-- What the planner asks: the support function of near_duplicate, and estimators of ~= and &&.
CREATE FUNCTION near_duplicate_support(internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'near_duplicate_support_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_duplicate_support(internal) IS
  'internal: planner support of near_duplicate, of shares_passage, and of ~= and && for texts';
CREATE FUNCTION text_passage_sel(internal, oid, internal, integer) RETURNS double precision
  AS 'MODULE_PATHNAME', 'text_passage_sel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity of && for texts';
CREATE FUNCTION text_passage_joinsel(internal, oid, internal, smallint, internal)
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'text_passage_joinsel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity of && for texts';
CREATE FUNCTION near_text_sel(internal, oid, internal, integer) RETURNS double precision
  AS 'MODULE_PATHNAME', 'near_text_sel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_sel(internal, oid, internal, integer) IS
  'internal: restriction selectivity of ~= for texts';
CREATE FUNCTION near_text_joinsel(internal, oid, internal, smallint, internal)
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'near_text_joinsel_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_joinsel(internal, oid, internal, smallint, internal) IS
  'internal: join selectivity of ~= for texts';

CREATE FUNCTION text_similarity(a text, b text, config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'text_similarity_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION text_similarity(a text, b text, config simhash_config) IS
  'Jaccard similarity of the sets of shingles of two texts, 0 to 1; 0 for a text without a token';
CREATE FUNCTION near_duplicate(a text, b text, similarity double precision DEFAULT 0.7,
    config simhash_config DEFAULT '{}')
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'near_duplicate_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_duplicate(a text, b text, similarity double precision,
    config simhash_config) IS
  'whether the sketches of two texts agree, and text_similarity(a, b, config) >= similarity';
CREATE FUNCTION edit_similarity(a text, b text, config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'edit_similarity_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION edit_similarity(a text, b text, config simhash_config) IS
  'one minus the edit distance of two normalised texts over the length of the longer one, in '
  'graphemes; 0 for a text without any';
CREATE FUNCTION shares_passage(a text, b text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}')
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'shares_passage_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 3000 SUPPORT near_duplicate_support;
COMMENT ON FUNCTION shares_passage(a text, b text, words integer, config simhash_config) IS
  'whether two texts have a passage in common: so many words in a row, or more';
CREATE FUNCTION shared_passages(a text, b text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}',
    OUT a_start integer, OUT a_length integer, OUT b_start integer, OUT b_length integer,
    OUT words integer)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'shared_passages_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION shared_passages(a text, b text, words integer, config simhash_config) IS
  'the passages that two texts have in common, as long as they are: where each stands in a and in '
  'b, for substr(a, a_start, a_length), and how many words it has';
CREATE FUNCTION passage_share(a text, b text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'passage_share_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION passage_share(a text, b text, words integer, config simhash_config) IS
  'the share of the words of a that stand in a passage that b has as well, 0 to 1; 0 for a text '
  'without a token';

CREATE TYPE near_text;

CREATE FUNCTION near_text_in(cstring) RETURNS near_text
  AS 'MODULE_PATHNAME', 'near_text_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_in(cstring) IS 'internal: I/O';
CREATE FUNCTION near_text_out(near_text) RETURNS cstring
  AS 'MODULE_PATHNAME', 'near_text_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_out(near_text) IS 'internal: I/O';
CREATE FUNCTION near_text_recv(internal) RETURNS near_text
  AS 'MODULE_PATHNAME', 'near_text_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_recv(internal) IS 'internal: I/O';
CREATE FUNCTION near_text_send(near_text) RETURNS bytea
  AS 'MODULE_PATHNAME', 'near_text_send_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_text_send(near_text) IS 'internal: I/O';

CREATE TYPE near_text (
  INPUT = near_text_in, OUTPUT = near_text_out,
  RECEIVE = near_text_recv, SEND = near_text_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE near_text IS
  'a text and how similar another must be to be near: shown as <its beginning,similarity>';

CREATE FUNCTION near_text(body text, similarity double precision DEFAULT 0.7,
    config simhash_config DEFAULT '{}')
  RETURNS near_text
  AS 'MODULE_PATHNAME', 'near_text_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION near_text(body text, similarity double precision, config simhash_config) IS
  'a text to be compared by near_duplicate, with the operator ~=';
CREATE FUNCTION near_text_near(near_text, near_text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'near_text_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_text_near(near_text, near_text) IS
  'internal: implementation of ~= operator';
CREATE FUNCTION near_text_near(near_text, text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'near_text_near_text_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 500
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_text_near(near_text, text) IS 'internal: implementation of ~= operator';
CREATE FUNCTION near_text_near(text, near_text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'text_near_near_text_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 500
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION near_text_near(text, near_text) IS 'internal: implementation of ~= operator';
CREATE OPERATOR ~= (
  LEFTARG = near_text, RIGHTARG = near_text, FUNCTION = near_text_near, COMMUTATOR = ~=,
  RESTRICT = near_text_sel, JOIN = near_text_joinsel
);
COMMENT ON OPERATOR ~= (near_text, near_text) IS
  'near-duplicates: the greater of their similarities decides';
CREATE OPERATOR ~= (
  LEFTARG = near_text, RIGHTARG = text, FUNCTION = near_text_near, COMMUTATOR = ~=,
  RESTRICT = near_text_sel, JOIN = near_text_joinsel
);
COMMENT ON OPERATOR ~= (near_text, text) IS 'near-duplicates';
CREATE OPERATOR ~= (
  LEFTARG = text, RIGHTARG = near_text, FUNCTION = near_text_near, COMMUTATOR = ~=,
  RESTRICT = near_text_sel, JOIN = near_text_joinsel
);
COMMENT ON OPERATOR ~= (text, near_text) IS 'near-duplicates';

CREATE TYPE text_passage;

CREATE FUNCTION text_passage_in(cstring) RETURNS text_passage
  AS 'MODULE_PATHNAME', 'text_passage_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_in(cstring) IS 'internal: I/O';
CREATE FUNCTION text_passage_out(text_passage) RETURNS cstring
  AS 'MODULE_PATHNAME', 'text_passage_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_out(text_passage) IS 'internal: I/O';
CREATE FUNCTION text_passage_recv(internal) RETURNS text_passage
  AS 'MODULE_PATHNAME', 'text_passage_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_recv(internal) IS 'internal: I/O';
CREATE FUNCTION text_passage_send(text_passage) RETURNS bytea
  AS 'MODULE_PATHNAME', 'text_passage_send_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_passage_send(text_passage) IS 'internal: I/O';

CREATE TYPE text_passage (
  INPUT = text_passage_in, OUTPUT = text_passage_out,
  RECEIVE = text_passage_recv, SEND = text_passage_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE text_passage IS
  'a text and how many words in a row another must have of it: shown as <its beginning,words>';

CREATE FUNCTION text_passage(body text, words integer DEFAULT 25,
    config simhash_config DEFAULT '{}')
  RETURNS text_passage
  AS 'MODULE_PATHNAME', 'text_passage_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION text_passage(body text, words integer, config simhash_config) IS
  'a text to be compared by shares_passage, with the operator &&';
CREATE FUNCTION text_passage_shares(text, text_passage) RETURNS boolean
  AS 'MODULE_PATHNAME', 'text_shares_passage_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 3000
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION text_passage_shares(text, text_passage) IS
  'internal: implementation of && operator';
CREATE FUNCTION text_passage_shares(text_passage, text) RETURNS boolean
  AS 'MODULE_PATHNAME', 'text_passage_shares_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 3000
  SUPPORT near_duplicate_support;
COMMENT ON FUNCTION text_passage_shares(text_passage, text) IS
  'internal: implementation of && operator';
CREATE OPERATOR && (
  LEFTARG = text, RIGHTARG = text_passage, FUNCTION = text_passage_shares, COMMUTATOR = &&,
  RESTRICT = text_passage_sel, JOIN = text_passage_joinsel
);
COMMENT ON OPERATOR && (text, text_passage) IS 'have a passage in common';
CREATE OPERATOR && (
  LEFTARG = text_passage, RIGHTARG = text, FUNCTION = text_passage_shares, COMMUTATOR = &&,
  RESTRICT = text_passage_sel, JOIN = text_passage_joinsel
);
COMMENT ON OPERATOR && (text_passage, text) IS 'have a passage in common';

--
-- Fingerprints of near-duplicates: how far apart they lie, and the recipe of an index
--

CREATE FUNCTION simhash_reach(similarity double precision, bits integer DEFAULT 128)
  RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_reach_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_reach(similarity double precision, bits integer) IS
  'the distance within which 99 % of the one-bit MinHash fingerprints of texts so similar lie';

CREATE TYPE simhash_fingerprint;

CREATE FUNCTION simhash_fingerprint_in(cstring) RETURNS simhash_fingerprint
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_in_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_in(cstring) IS 'internal: I/O';
CREATE FUNCTION simhash_fingerprint_out(simhash_fingerprint) RETURNS cstring
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_out_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_out(simhash_fingerprint) IS 'internal: I/O';
CREATE FUNCTION simhash_fingerprint_recv(internal) RETURNS simhash_fingerprint
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_recv_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_recv(internal) IS 'internal: I/O';
CREATE FUNCTION simhash_fingerprint_send(simhash_fingerprint) RETURNS bytea
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_send_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_send(simhash_fingerprint) IS 'internal: I/O';

CREATE TYPE simhash_fingerprint (
  INPUT = simhash_fingerprint_in, OUTPUT = simhash_fingerprint_out,
  RECEIVE = simhash_fingerprint_recv, SEND = simhash_fingerprint_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = plain
);
COMMENT ON TYPE simhash_fingerprint IS
  'a fingerprint of 64, 128 or 256 bits, which it says by itself: hexadecimal digits';

-- Implicit, so that hamming(fp, simhash_like(...)) needs no cast, whatever the width of fp.
CREATE FUNCTION simhash_fingerprint_to_64(simhash_fingerprint) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_to_64_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_to_64(simhash_fingerprint) IS
  'internal: implementation of the cast to fingerprint64';
CREATE FUNCTION simhash_fingerprint_to_128(simhash_fingerprint) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_to_128_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_to_128(simhash_fingerprint) IS
  'internal: implementation of the cast to fingerprint128';
CREATE FUNCTION simhash_fingerprint_to_256(simhash_fingerprint) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash_fingerprint_to_256_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_fingerprint_to_256(simhash_fingerprint) IS
  'internal: implementation of the cast to fingerprint256';
CREATE CAST (simhash_fingerprint AS fingerprint64)
  WITH FUNCTION simhash_fingerprint_to_64(simhash_fingerprint) AS IMPLICIT;
CREATE CAST (simhash_fingerprint AS fingerprint128)
  WITH FUNCTION simhash_fingerprint_to_128(simhash_fingerprint) AS IMPLICIT;
CREATE CAST (simhash_fingerprint AS fingerprint256)
  WITH FUNCTION simhash_fingerprint_to_256(simhash_fingerprint) AS IMPLICIT;
COMMENT ON CAST (simhash_fingerprint AS fingerprint64) IS 'the same bits; there must be 64';
COMMENT ON CAST (simhash_fingerprint AS fingerprint128) IS 'the same bits; there must be 128';
COMMENT ON CAST (simhash_fingerprint AS fingerprint256) IS 'the same bits; there must be 256';

CREATE FUNCTION simhash_like(index regclass, body text) RETURNS simhash_fingerprint
  AS 'MODULE_PATHNAME', 'simhash_like_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION simhash_like(index regclass, body text) IS
  'the fingerprint of a text, made as those of an index are';

--
-- The index
--

COMMENT ON FUNCTION simhash_handler(internal) IS 'internal: handler of index access method simhash';
COMMENT ON FUNCTION simhash_kind_64(internal) IS
  'internal: support function: an index of 64-bit fingerprints';
COMMENT ON FUNCTION simhash_kind_128(internal) IS
  'internal: support function: an index of 128-bit fingerprints';
CREATE FUNCTION simhash_kind_256(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_256_wrapper';
COMMENT ON FUNCTION simhash_kind_256(internal) IS
  'internal: support function: an index of 256-bit fingerprints';
COMMENT ON FUNCTION simhash_kind_ball64(internal) IS
  'internal: support function: an index of 64-bit balls';
COMMENT ON FUNCTION simhash_kind_ball128(internal) IS
  'internal: support function: an index of 128-bit balls';
CREATE FUNCTION simhash_kind_ball256(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_ball256_wrapper';
COMMENT ON FUNCTION simhash_kind_ball256(internal) IS
  'internal: support function: an index of 256-bit balls';
COMMENT ON FUNCTION simhash_kind_lexicons(internal) IS
  'internal: support function: an index of arrays of 64-bit fingerprints';

CREATE OPERATOR CLASS fingerprint256_ops DEFAULT FOR TYPE fingerprint256 USING simhash AS
  OPERATOR 1 = (fingerprint256, fingerprint256),
  OPERATOR 2 <@ (fingerprint256, hamming_ball256),
  OPERATOR 3 ~= (fingerprint256, fingerprint256),
  OPERATOR 4 <~> (fingerprint256, fingerprint256) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_256(internal);

-- A number that is written in a query is an integer.
ALTER OPERATOR FAMILY hamming_int8_ops USING simhash ADD
  OPERATOR 1 = (bigint, integer), OPERATOR 1 = (bigint, smallint);

CREATE OPERATOR CLASS hamming_ball256_ops DEFAULT FOR TYPE hamming_ball256 USING simhash AS
  OPERATOR 3 ~= (hamming_ball256, hamming_ball256),
  FUNCTION 1 simhash_kind_ball256(internal);

CREATE FUNCTION simhash_kind_bit(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_kind_bit_wrapper';
COMMENT ON FUNCTION simhash_kind_bit(internal) IS
  'internal: support function: an index of bit strings';

-- For bit(n) with n from 8 to 1024: the index's width is the column's.
CREATE OPERATOR CLASS bit_hamming_ops DEFAULT FOR TYPE bit USING simhash AS
  OPERATOR 1 = (bit, bit),
  OPERATOR 2 <@ (bit, hamming_ball_bit),
  OPERATOR 4 <^> (bit, bit) FOR ORDER BY integer_ops,
  FUNCTION 1 simhash_kind_bit(internal);

-- Columns that stand before the fingerprint and are compared by equality. Numbers of different
-- widths are compared as in a B-tree.

CREATE FUNCTION simhash_scope_bool(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_bool_wrapper';
COMMENT ON FUNCTION simhash_scope_bool(internal) IS
  'internal: support function: a column of boolean, compared by equality';
CREATE FUNCTION simhash_scope_int2(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int2_wrapper';
COMMENT ON FUNCTION simhash_scope_int2(internal) IS
  'internal: support function: a column of smallint, compared by equality';
CREATE FUNCTION simhash_scope_int4(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int4_wrapper';
COMMENT ON FUNCTION simhash_scope_int4(internal) IS
  'internal: support function: a column of integer, compared by equality';
CREATE FUNCTION simhash_scope_int8(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_int8_wrapper';
COMMENT ON FUNCTION simhash_scope_int8(internal) IS
  'internal: support function: a column of bigint, compared by equality';
CREATE FUNCTION simhash_scope_oid(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_oid_wrapper';
COMMENT ON FUNCTION simhash_scope_oid(internal) IS
  'internal: support function: a column of oid, compared by equality';
CREATE FUNCTION simhash_scope_uuid(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_uuid_wrapper';
COMMENT ON FUNCTION simhash_scope_uuid(internal) IS
  'internal: support function: a column of uuid, compared by equality';
CREATE FUNCTION simhash_scope_text(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_text_wrapper';
COMMENT ON FUNCTION simhash_scope_text(internal) IS
  'internal: support function: a column of text, compared by equality';
CREATE FUNCTION simhash_scope_bytea(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_bytea_wrapper';
COMMENT ON FUNCTION simhash_scope_bytea(internal) IS
  'internal: support function: a column of bytea, compared by equality';
CREATE FUNCTION simhash_scope_date(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_date_wrapper';
COMMENT ON FUNCTION simhash_scope_date(internal) IS
  'internal: support function: a column of date, compared by equality';
CREATE FUNCTION simhash_scope_timestamp(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_timestamp_wrapper';
COMMENT ON FUNCTION simhash_scope_timestamp(internal) IS
  'internal: support function: a column of timestamp without time zone, compared by equality';
CREATE FUNCTION simhash_scope_timestamptz(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_timestamptz_wrapper';
COMMENT ON FUNCTION simhash_scope_timestamptz(internal) IS
  'internal: support function: a column of timestamp with time zone, compared by equality';
CREATE FUNCTION simhash_scope_enum(internal) RETURNS integer
  LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_scope_enum_wrapper';
COMMENT ON FUNCTION simhash_scope_enum(internal) IS
  'internal: support function: a column of an enum, compared by equality';

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
-- In the last column of an index a text is searched by nearness, before it by equality.
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING simhash AS
  OPERATOR 1 = (text, text),
  OPERATOR 3 ~= (text, near_text),
  FUNCTION 1 simhash_scope_text(internal);
CREATE FUNCTION simhash_kind_near_text(internal) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_kind_near_text_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_kind_near_text(internal) IS 'internal: what an operator class holds';
CREATE OPERATOR CLASS near_text_ops DEFAULT FOR TYPE near_text USING simhash AS
  OPERATOR 3 ~= (near_text, near_text),
  OPERATOR 3 ~= (near_text, text),
  FUNCTION 1 simhash_kind_near_text(internal);
-- Texts by the passages that they have in common with others.
CREATE FUNCTION simhash_kind_passages(internal) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_kind_passages_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_kind_passages(internal) IS 'internal: what an operator class holds';
CREATE OPERATOR CLASS text_passage_ops FOR TYPE text USING simhash AS
  OPERATOR 3 && (text, text_passage),
  FUNCTION 1 simhash_kind_passages(internal);
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

-- More columns.
DROP FUNCTION simhash_index_info(regclass);

CREATE FUNCTION simhash_index_info(index regclass, OUT rows bigint, OUT tables integer,
    OUT pages bigint, OUT bytes_per_row double precision, OUT levels integer,
    OUT largest_run bigint, OUT mean_run double precision, OUT fill double precision,
    OUT postings bigint, OUT recent bigint, OUT similarity double precision,
    OUT config simhash_config, OUT words integer)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 1 COST 100000
  AS 'MODULE_PATHNAME', 'simhash_index_numbers_wrapper';
COMMENT ON FUNCTION simhash_index_info(regclass) IS
  'rows and block tables of a simhash index, its size, height, the runs of rows that share a '
  'block, how full its leaves are';
CREATE FUNCTION simhash_last_scans(OUT index regclass, OUT searches bigint, OUT leaves bigint,
    OUT candidates bigint, OUT returned bigint, OUT rechecked bigint, OUT dead bigint)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 64
  AS 'MODULE_PATHNAME', 'simhash_last_scans_wrapper';
COMMENT ON FUNCTION simhash_last_scans() IS
  'what the latest 64 index scans of this session did, the last one first: how often each was '
  'started, the leaves that it read, rows that are near by the index, rows that were returned, of '
  'which the table was asked again, and which were dead';

--
-- In bulk: deduplicating a whole table, straight from its index
--

CREATE FUNCTION simhash_whole_support(internal) RETURNS internal
  LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
  AS 'MODULE_PATHNAME', 'simhash_whole_support_wrapper';
COMMENT ON FUNCTION simhash_whole_support(internal) IS
  'internal: planner support: how many rows functions of whole tables return';

-- It gets columns, which CREATE OR REPLACE refuses to add. DROP would take along the views of
-- users, and the rights that they granted or revoked.
UPDATE pg_catalog.pg_proc SET
  proallargtypes = proallargtypes OPERATOR(pg_catalog.||) '{regclass,regclass}'::regtype[]::oid[],
  proargmodes = proargmodes OPERATOR(pg_catalog.||) '{o,o}'::"char"[],
  proargnames = proargnames OPERATOR(pg_catalog.||) '{a_table,b_table}'::text[]
WHERE oid OPERATOR(pg_catalog.=) 'simhash_pairs(regclass, integer)'::regprocedure::oid;
ALTER FUNCTION simhash_pairs(regclass, integer) SUPPORT simhash_whole_support;
COMMENT ON FUNCTION simhash_pairs(regclass, integer) IS
  'every pair of rows, by ctid and table, whose fingerprints in a simhash index differ in so many '
  'bits at most; each once, a < b';
CREATE FUNCTION simhash_pairs(index regclass, other regclass, distance integer, OUT a tid,
    OUT b tid, OUT distance integer, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 10000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_pairs_of_two_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, regclass, integer) IS
  'every row of one simhash index with every row of another, by ctid and table, whose fingerprints '
  'differ in so many bits at most';

-- It gets columns, in the same way.
UPDATE pg_catalog.pg_proc SET
  proallargtypes = proallargtypes OPERATOR(pg_catalog.||)
    '{regclass,regclass,integer,integer}'::regtype[]::oid[],
  proargmodes = proargmodes OPERATOR(pg_catalog.||) '{o,o,o,o}'::"char"[],
  proargnames = proargnames OPERATOR(pg_catalog.||)
    '{member_table,representative_table,distance,greatest_distance}'::text[]
WHERE oid OPERATOR(pg_catalog.=) 'simhash_clusters(regclass, integer)'::regprocedure::oid;
ALTER FUNCTION simhash_clusters(regclass, integer) SUPPORT simhash_whole_support;
COMMENT ON FUNCTION simhash_clusters(regclass, integer) IS
  'every row, by ctid and table, that a chain of such pairs connects with another; the first row '
  'of its cluster, how many they are, and how far they are from it';
CREATE FUNCTION simhash_clusters(index regclass, distance integer, linkage text,
    keep text DEFAULT NULL, OUT member tid, OUT representative tid, OUT size integer,
    OUT member_table regclass, OUT representative_table regclass, OUT distance integer,
    OUT greatest_distance integer)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 10000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_linked_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, integer, text, text) IS
  'as simhash_clusters(index, distance), where with linkage => ''star'' a cluster is a row that is '
  'kept, in the order of keep, and those that it stands for';
CREATE FUNCTION simhash_pairs(index regclass, distance integer, body text,
    similarity double precision, shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', OUT a tid, OUT b tid, OUT distance integer,
    OUT similarity real, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_verified_pairs_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, integer, text, double precision, integer, text,
    simhash_config) IS
  'every pair of rows, by ctid and table, whose fingerprints are near, or which share an indexed '
  'passage if measure is containment, and whose texts, in the column that body names, are so '
  'similar; each once, a < b';
CREATE FUNCTION simhash_pairs(index regclass, other regclass, distance integer, body text,
    similarity double precision, shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', OUT a tid, OUT b tid, OUT distance integer,
    OUT similarity real, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_verified_pairs_of_two_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, regclass, integer, text, double precision, integer,
    text, simhash_config) IS
  'every row of one simhash index with every row of another, by ctid and table, whose fingerprints '
  'are near, or which share an indexed passage if measure is containment, and whose texts, in the '
  'column that body names, are so similar';
CREATE FUNCTION simhash_clusters(index regclass, distance integer, body text,
    similarity double precision, shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', linkage text DEFAULT 'chain', keep text DEFAULT NULL,
    OUT member tid, OUT representative tid, OUT size integer, OUT member_table regclass,
    OUT representative_table regclass, OUT similarity double precision,
    OUT least_similarity double precision)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_verified_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, integer, text, double precision, integer, text,
    simhash_config, text, text) IS
  'every row, by ctid and table, that a chain of such pairs connects with another, or that a kept '
  'row stands for; the representative of its cluster, how many they are, and how similar to it';
CREATE FUNCTION simhash_pairs(index regclass, similarity double precision DEFAULT 0.7,
    OUT a tid, OUT b tid, OUT similarity double precision, OUT a_table regclass,
    OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_similar_pairs_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, double precision) IS
  'every pair of rows, by ctid and table, whose texts in a simhash index are near-duplicates; each '
  'once, a < b, with its similarity';
CREATE FUNCTION simhash_pairs(index regclass, other regclass,
    similarity double precision DEFAULT 0.7, OUT a tid, OUT b tid,
    OUT similarity double precision, OUT a_table regclass, OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_similar_pairs_of_two_wrapper';
COMMENT ON FUNCTION simhash_pairs(regclass, regclass, double precision) IS
  'every row of one simhash index on texts with every row of another, by ctid and table, that are '
  'near-duplicates';
CREATE FUNCTION simhash_passages(index regclass, words integer DEFAULT NULL,
    most integer DEFAULT 1000, OUT a tid, OUT b tid, OUT passages integer, OUT words integer,
    OUT share_a double precision, OUT share_b double precision, OUT a_table regclass,
    OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_passages_wrapper';
COMMENT ON FUNCTION simhash_passages(regclass, integer, integer) IS
  'every pair of rows, by ctid and table, whose texts in a simhash index of passages have so many '
  'words in a row in common: in how many stretches of a, how many words of it, which share of each '
  'text; copies of a text come with the first of them only';
CREATE FUNCTION simhash_passages(index regclass, other regclass, words integer DEFAULT NULL,
    most integer DEFAULT 1000, OUT a tid, OUT b tid, OUT passages integer, OUT words integer,
    OUT share_a double precision, OUT share_b double precision, OUT a_table regclass,
    OUT b_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_passages_of_two_wrapper';
COMMENT ON FUNCTION simhash_passages(regclass, regclass, integer, integer) IS
  'every row of one simhash index of passages with every row of another, by ctid and table, whose '
  'texts have so many words in a row in common';
CREATE FUNCTION simhash_duplicates(index regclass, similarity double precision DEFAULT 0.7,
    distance integer DEFAULT NULL, keep text DEFAULT NULL, body text DEFAULT NULL,
    shingle integer DEFAULT 0, measure text DEFAULT 'jaccard',
    config simhash_config DEFAULT '{}', OUT duplicate tid, OUT kept tid,
    OUT similarity double precision, OUT distance integer, OUT duplicate_table regclass,
    OUT kept_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_duplicates_wrapper';
COMMENT ON FUNCTION simhash_duplicates(regclass, double precision, integer, text, text, integer,
    text, simhash_config) IS
  'the rows to drop, by ctid and table, each with a row that is kept and near to it: rows are '
  'taken in the order of keep, and one that is near no row kept before it is kept';
CREATE FUNCTION simhash_duplicates(index regclass, other regclass,
    similarity double precision DEFAULT 0.7, distance integer DEFAULT NULL,
    keep text DEFAULT NULL, body text DEFAULT NULL, shingle integer DEFAULT 0,
    measure text DEFAULT 'jaccard', config simhash_config DEFAULT '{}', OUT duplicate tid,
    OUT kept tid, OUT similarity double precision, OUT distance integer,
    OUT duplicate_table regclass, OUT kept_table regclass)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_duplicates_of_two_wrapper';
COMMENT ON FUNCTION simhash_duplicates(regclass, regclass, double precision, integer, text, text,
    integer, text, simhash_config) IS
  'the rows of the first table that are near any row of the second, by ctid and table, each with '
  'the nearest row of the second';
CREATE FUNCTION simhash_clusters(index regclass, similarity double precision DEFAULT 0.7,
    linkage text DEFAULT 'chain', keep text DEFAULT NULL, OUT member tid, OUT representative tid,
    OUT size integer, OUT member_table regclass, OUT representative_table regclass,
    OUT similarity double precision, OUT least_similarity double precision)
  RETURNS SETOF record
  LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100000 COST 100000000
  SUPPORT simhash_whole_support
  AS 'MODULE_PATHNAME', 'simhash_similar_clusters_wrapper';
COMMENT ON FUNCTION simhash_clusters(regclass, double precision, text, text) IS
  'every row, by ctid and table, that a chain of near-duplicates connects with another, or that a '
  'kept row stands for; the representative of its cluster, how many they are, and how similar';

CREATE FUNCTION simhash_part_recipe(index regclass, content text) RETURNS text
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 10000
  AS 'MODULE_PATHNAME', 'simhash_part_recipe_wrapper';
COMMENT ON FUNCTION simhash_part_recipe(regclass, text) IS
  'internal: how the index of a part of a table over servers makes keys';
CREATE FUNCTION simhash_part_rows(index regclass, with_keys boolean) RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_part_rows_wrapper';
COMMENT ON FUNCTION simhash_part_rows(regclass, boolean) IS
  'internal: which rows of a part of a table over servers have keys, or none';
CREATE FUNCTION simhash_part_roots(index regclass, versions bytea) RETURNS bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000
  AS 'MODULE_PATHNAME', 'simhash_part_roots_wrapper';
COMMENT ON FUNCTION simhash_part_roots(regclass, bytea) IS
  'internal: what an index calls rows of a part of a table over servers';
CREATE FUNCTION simhash_part_keys(index regclass, bands integer, low bigint, high bigint)
  RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_part_keys_wrapper';
COMMENT ON FUNCTION simhash_part_keys(regclass, integer, bigint, bigint) IS
  'internal: the keys of a part of a table over servers, and the rows that have them';
CREATE FUNCTION simhash_part_texts(index regclass, roots bytea, sets boolean, numbers text,
    most bigint)
  RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 1000000
  AS 'MODULE_PATHNAME', 'simhash_part_texts_wrapper';
COMMENT ON FUNCTION simhash_part_texts(regclass, bytea, boolean, text, bigint) IS
  'internal: what is made of texts of a part of a table over servers';
CREATE FUNCTION simhash_part_tokens(index regclass, roots bytea, most bigint)
  RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 1000000
  AS 'MODULE_PATHNAME', 'simhash_part_tokens_wrapper';
COMMENT ON FUNCTION simhash_part_tokens(regclass, bytea, bigint) IS
  'internal: the tokens of texts of a part of a table over servers';

CREATE FUNCTION simhash_part_fingerprints(index regclass) RETURNS SETOF bytea
  LANGUAGE c STRICT STABLE PARALLEL RESTRICTED COST 100000000
  AS 'MODULE_PATHNAME', 'simhash_part_fingerprints_wrapper';
COMMENT ON FUNCTION simhash_part_fingerprints(regclass) IS
  'internal: the fingerprints of a part of a table over servers';
COMMENT ON FUNCTION simhash_get_progress() IS
  'internal: implementation of the view simhash_progress';

--
-- Groups that live
--

CREATE TABLE simhash_unsettled (
  relation regclass,
  "column" name,
  cluster text COLLATE "C",
  PRIMARY KEY (relation, "column", cluster)
);
COMMENT ON TABLE simhash_unsettled IS
  'groups that rows have left, until simhash_cluster_settle looks at what remains of them';
COMMENT ON COLUMN simhash_unsettled."column" IS 'the column that holds the ids of groups';
COMMENT ON COLUMN simhash_unsettled.cluster IS 'the id of the group';

CREATE FUNCTION simhash_cluster() RETURNS trigger
  AS 'MODULE_PATHNAME', 'simhash_cluster_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION simhash_cluster() IS
  'trigger, FOR EACH STATEMENT: keeps the id of each row''s group of near-duplicates in a column';
CREATE FUNCTION simhash_dedup_create(relation regclass, VARIADIC arguments text[])
  RETURNS text
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 10000
  AS 'MODULE_PATHNAME', 'simhash_dedup_create_wrapper';
COMMENT ON FUNCTION simhash_dedup_create(relation regclass, arguments text[]) IS
  'creates a trigger of simhash_dedup() with these arguments, checks all of them, and returns the '
  'trigger''s name';
CREATE FUNCTION simhash_cluster_create(relation regclass, VARIADIC arguments text[])
  RETURNS bigint
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_cluster_create_wrapper';
COMMENT ON FUNCTION simhash_cluster_create(relation regclass, arguments text[]) IS
  'creates the triggers of simhash_cluster() with these arguments, and finds the groups of the '
  'rows that are there; returns how many there are';
CREATE FUNCTION simhash_cluster_settle(relation regclass, "full" boolean DEFAULT false)
  RETURNS bigint
  LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_cluster_settle_wrapper';
COMMENT ON FUNCTION simhash_cluster_settle(relation regclass, "full" boolean) IS
  'settles the groups that rows have left, or all groups of the table; returns how many';

--
-- In bulk: which distance to use, and keys to repartition by
--

CREATE FUNCTION simhash_blocks(fp fingerprint256, blocks integer DEFAULT 16,
    OUT block smallint, OUT key bigint)
  RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_blocks_256_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 16;
COMMENT ON FUNCTION simhash_blocks(fp fingerprint256, blocks integer) IS
  'the blocks of a fingerprint as keys under which near-duplicates meet';
COMMENT ON FUNCTION simhash_blocks(fp text) IS
  'the blocks of a fingerprint in text form: 4 of 64 bits, 8 of 128, 16 of 256';

-- Similarities too, and other columns.
DROP FUNCTION simhash_suggest(regclass);
CREATE FUNCTION simhash_suggest(index regclass, OUT distance integer,
    OUT similarity double precision, OUT found double precision,
    OUT expected_false double precision, OUT beyond_chance double precision, OUT pairs bigint,
    OUT near_rows bigint, OUT crowded_rows bigint, OUT suggested boolean, OUT note text)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 30 COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_suggest_limits_wrapper';
COMMENT ON FUNCTION simhash_suggest(regclass) IS
  'neighbours of a row within every distance, or from every similarity on, in a sample of a '
  'simhash index; which distance or similarity to use, and what the table looks like';
CREATE FUNCTION simhash_suggest_pairs(index regclass, OUT distance integer,
    OUT similarity double precision, OUT a tid, OUT b tid, OUT a_text text, OUT b_text text)
  RETURNS SETOF record
  LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 100 COST 10000000
  AS 'MODULE_PATHNAME', 'simhash_suggest_pairs_wrapper';
COMMENT ON FUNCTION simhash_suggest_pairs(regclass) IS
  'ten pairs of each distance, or of each band of similarities, of a sample of a simhash index, to '
  'look at';

--
-- Sets: MinHash
--

COMMENT ON FUNCTION minhash_signature_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION minhash_signature_out(minhash_signature) IS 'internal: I/O';
COMMENT ON FUNCTION minhash_signature_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION minhash_signature_send(minhash_signature) IS 'internal: I/O';
COMMENT ON FUNCTION minhash_signature_eq(minhash_signature, minhash_signature) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION minhash_signature_ne(minhash_signature, minhash_signature) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION minhash_signature_lt(minhash_signature, minhash_signature) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION minhash_signature_le(minhash_signature, minhash_signature) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION minhash_signature_gt(minhash_signature, minhash_signature) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION minhash_signature_ge(minhash_signature, minhash_signature) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION minhash_signature_cmp(minhash_signature, minhash_signature) IS
  'internal: less-equal-greater';
COMMENT ON FUNCTION minhash_signature_hash(minhash_signature) IS 'internal: hash';
COMMENT ON FUNCTION minhash_signature_hash_extended(minhash_signature, bigint) IS 'internal: hash';
COMMENT ON FUNCTION minhash_share_band(minhash_signature, minhash_signature) IS
  'internal: implementation of && operator';

CREATE FUNCTION minhash_or(minhash_signature, minhash_signature) RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_or_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_or(minhash_signature, minhash_signature) IS
  'internal: implementation of | operator';
CREATE OPERATOR | (
  LEFTARG = minhash_signature, RIGHTARG = minhash_signature, FUNCTION = minhash_or,
  COMMUTATOR = |
);
COMMENT ON OPERATOR | (minhash_signature, minhash_signature) IS
  'signature of the union of two sets';
CREATE FUNCTION minhash_agg_add(internal, text) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash_agg_add(internal, text) IS 'internal: transition of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, text, integer) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_add_permutations_wrapper'
  LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer) IS
  'internal: transition of minhash_agg';
CREATE FUNCTION minhash_agg_add(internal, text, integer, simhash_config) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_add_config_wrapper'
  LANGUAGE C IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION minhash_agg_add(internal, text, integer, simhash_config) IS
  'internal: transition of minhash_agg';
CREATE FUNCTION minhash_union_add(internal, minhash_signature) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_union_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_union_add(internal, minhash_signature) IS
  'internal: transition of minhash_union';
CREATE FUNCTION minhash_agg_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_combine_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_combine(internal, internal) IS
  'internal: combination of partial unions';
CREATE FUNCTION minhash_agg_serialize(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'minhash_agg_serialize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_serialize(internal) IS 'internal: partial union to bytes';
CREATE FUNCTION minhash_agg_deserialize(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'minhash_agg_deserialize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_deserialize(bytea, internal) IS 'internal: bytes to partial union';
CREATE FUNCTION minhash_agg_final(internal) RETURNS minhash_signature
  AS 'MODULE_PATHNAME', 'minhash_agg_final_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minhash_agg_final(internal) IS 'internal: the signature';
CREATE AGGREGATE minhash_agg(text) (
  SFUNC = minhash_agg_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text) IS
  'MinHash signature of the union of the sets of shingles of the texts; NULL where none has any';
CREATE AGGREGATE minhash_agg(text, permutations integer) (
  SFUNC = minhash_agg_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, permutations integer) IS
  'MinHash signature of the union of the sets of shingles of the texts; NULL where none has any';
CREATE AGGREGATE minhash_agg(text, permutations integer, config simhash_config) (
  SFUNC = minhash_agg_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_agg(text, permutations integer, config simhash_config) IS
  'MinHash signature of the union of the sets of shingles of the texts; NULL where none has any';
CREATE AGGREGATE minhash_union(minhash_signature) (
  SFUNC = minhash_union_add, STYPE = internal, FINALFUNC = minhash_agg_final,
  COMBINEFUNC = minhash_agg_combine, SERIALFUNC = minhash_agg_serialize,
  DESERIALFUNC = minhash_agg_deserialize, SSPACE = 640, PARALLEL = SAFE
);
COMMENT ON AGGREGATE minhash_union(minhash_signature) IS
  'MinHash signature of the union of the sets of the signatures';
COMMENT ON FUNCTION minhash_gin_extract_value(minhash_signature, internal, internal) IS
  'internal: GIN support';
COMMENT ON FUNCTION minhash_gin_extract_query(minhash_signature, internal, smallint, internal,
    internal, internal, internal) IS
  'internal: GIN support';
COMMENT ON FUNCTION minhash_gin_consistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal, internal) IS
  'internal: GIN support';
COMMENT ON FUNCTION minhash_gin_triconsistent(internal, smallint, minhash_signature, integer,
    internal, internal, internal) IS
  'internal: GIN support';
COMMENT ON FUNCTION minhash_gin_options(internal) IS 'internal: GIN support';

--
-- Sets: equal texts
--

COMMENT ON FUNCTION bloom_filter_in(cstring) IS 'internal: I/O';
COMMENT ON FUNCTION bloom_filter_out(bloom_filter) IS 'internal: I/O';
COMMENT ON FUNCTION bloom_filter_recv(internal) IS 'internal: I/O';
COMMENT ON FUNCTION bloom_filter_send(bloom_filter) IS 'internal: I/O';
COMMENT ON FUNCTION bloom_filter_eq(bloom_filter, bloom_filter) IS
  'internal: implementation of = operator';
COMMENT ON FUNCTION bloom_filter_ne(bloom_filter, bloom_filter) IS
  'internal: implementation of <> operator';
COMMENT ON FUNCTION bloom_filter_lt(bloom_filter, bloom_filter) IS
  'internal: implementation of < operator';
COMMENT ON FUNCTION bloom_filter_le(bloom_filter, bloom_filter) IS
  'internal: implementation of <= operator';
COMMENT ON FUNCTION bloom_filter_gt(bloom_filter, bloom_filter) IS
  'internal: implementation of > operator';
COMMENT ON FUNCTION bloom_filter_ge(bloom_filter, bloom_filter) IS
  'internal: implementation of >= operator';
COMMENT ON FUNCTION bloom_filter_cmp(bloom_filter, bloom_filter) IS 'internal: less-equal-greater';
COMMENT ON FUNCTION bloom_filter_hash(bloom_filter) IS 'internal: hash';
COMMENT ON FUNCTION bloom_filter_hash_extended(bloom_filter, bigint) IS 'internal: hash';
COMMENT ON FUNCTION bloom_filter_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';
COMMENT ON FUNCTION bloom_or(bloom_filter, bloom_filter) IS
  'internal: implementation of | operator';
COMMENT ON FUNCTION bloom_agg_add(internal, text) IS 'internal: transition of bloom_agg';
COMMENT ON FUNCTION bloom_agg_add(internal, text, bigint) IS 'internal: transition of bloom_agg';
COMMENT ON FUNCTION bloom_agg_add(internal, text, bigint, real) IS
  'internal: transition of bloom_agg';
COMMENT ON FUNCTION bloom_union_add(internal, bloom_filter) IS
  'internal: transition of bloom_union';
COMMENT ON FUNCTION bloom_agg_combine(internal, internal) IS
  'internal: combination of partial filters';
COMMENT ON FUNCTION bloom_agg_serialize(internal) IS 'internal: partial filter to bytes';
COMMENT ON FUNCTION bloom_agg_deserialize(bytea, internal) IS 'internal: bytes to partial filter';
COMMENT ON FUNCTION bloom_agg_final(internal) IS 'internal: the filter';

--
-- Models
--

-- 0.1.0 granted the same rights, but that PostgreSQL 13 had no pg_database_owner.
COMMENT ON FUNCTION simhash_model_unchangeable() IS 'internal: refuses to change a trained model';
COMMENT ON FUNCTION simhash_train_agg_add(internal, text, simhash_config) IS
  'internal: transition of simhash_train_agg';
COMMENT ON FUNCTION simhash_train_agg_combine(internal, internal) IS
  'internal: combination of partial models';
COMMENT ON FUNCTION simhash_train_agg_serialize(internal) IS 'internal: partial model to bytes';
COMMENT ON FUNCTION simhash_train_agg_deserialize(bytea, internal) IS
  'internal: bytes to partial model';
COMMENT ON FUNCTION simhash_train_agg_final(internal) IS 'internal: the model';
CREATE FUNCTION imatch_keys(body text, model text, lexicons integer DEFAULT 10,
    low real DEFAULT 1, high real DEFAULT 8)
  RETURNS bigint[]
  AS 'MODULE_PATHNAME', 'imatch_keys_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION imatch_keys(body text, model text, lexicons integer, low real, high real) IS
  'I-Match by the whole lexicon of a model and by each of its random parts; any equal element '
  'means duplicate';

--
-- Words of the user's own
--

CREATE TABLE simhash_word_list (
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('dictionary', 'stopwords')),
  name text COLLATE "C" NOT NULL,
  words text[] NOT NULL,
  frequencies bigint[],
  content text NOT NULL,
  made timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, name)
);
-- Compressing a long list could not be cancelled.
ALTER TABLE simhash_word_list
  ALTER words SET STORAGE EXTERNAL, ALTER frequencies SET STORAGE EXTERNAL;
COMMENT ON TABLE simhash_word_list IS 'dictionaries and lists of stop words that configs name';
COMMENT ON COLUMN simhash_word_list.words IS 'in the order of their UTF-8 bytes';
COMMENT ON COLUMN simhash_word_list.frequencies IS 'those that a dictionary was given, if any';
COMMENT ON COLUMN simhash_word_list.content IS
  'SHA-256 of the words: lists with the same words have the same';
GRANT SELECT ON simhash_word_list TO PUBLIC;
-- Rights as to simhash_model, granted in the same way.
-- It runs as a superuser, with the schema of whoever installs on the path: every operator is
-- between equal types, so that it can only be PostgreSQL's own.
DO $$
DECLARE
  database CONSTANT pg_database := (SELECT d FROM pg_database d WHERE datname = current_database());
  installer CONSTANT oid := (SELECT extowner FROM pg_extension WHERE extname = 'pg_simhash');
  lists CONSTANT oid := 'simhash_word_list'::regclass;
  initial aclitem[];
  may_let_others text := 'WITH GRANT OPTION';
BEGIN
  GRANT INSERT, DELETE ON simhash_word_list TO pg_database_owner WITH GRANT OPTION;
  IF database.datdba = installer THEN
    may_let_others := '';
  END IF;
  IF installer <> (SELECT relowner FROM pg_class WHERE oid = lists) THEN
    SELECT initprivs INTO initial FROM pg_init_privs
      WHERE objoid = lists AND classoid = 'pg_class'::regclass::oid AND objsubid = 0;
    EXECUTE 'GRANT INSERT, DELETE ON simhash_word_list TO ' || installer::regrole::text || ' ' ||
      may_let_others;
    UPDATE pg_init_privs SET initprivs = initial
      WHERE objoid = lists AND classoid = 'pg_class'::regclass::oid AND objsubid = 0;
    DELETE FROM pg_shdepend
      WHERE dbid = database.oid AND classid = 'pg_class'::regclass::oid AND objid = lists
        AND refclassid = 'pg_authid'::regclass::oid AND refobjid = installer AND deptype = 'i';
  END IF;
END $$;
SELECT pg_catalog.pg_extension_config_dump('simhash_word_list', '');

CREATE FUNCTION simhash_word_list_unchangeable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE '% "%" cannot be changed',
      CASE OLD.kind WHEN 'stopwords' THEN 'list of stop words' ELSE OLD.kind END, OLD.name
    USING ERRCODE = 'object_not_in_prerequisite_state',
          HINT = 'Fingerprints made with it would no longer be comparable: '
            'make another one under another name.';
END $$;
COMMENT ON FUNCTION simhash_word_list_unchangeable() IS
  'internal: refuses to change a list of words';
CREATE TRIGGER unchangeable BEFORE UPDATE ON simhash_word_list
  FOR EACH ROW EXECUTE FUNCTION simhash_word_list_unchangeable();

CREATE FUNCTION simhash_dictionary(name text, words text[], frequencies bigint[] DEFAULT NULL)
  RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_dictionary_wrapper'
  LANGUAGE C VOLATILE PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION simhash_dictionary(name text, words text[], frequencies bigint[]) IS
  'stores words that are tokens to the configs that name them; returns the SHA-256 of the words';
CREATE FUNCTION simhash_stopwords(name text, words text[]) RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_stopwords_wrapper'
  LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION simhash_stopwords(name text, words text[]) IS
  'stores words that configs that name them leave out; returns the SHA-256 of the words';

--
-- What cannot be compared: operands of an error that says what to write
--

-- A call that mixes types would end in PostgreSQL's "function does not exist". The types that
-- people mix become this one, so that the call is found and planned, and the support function
-- raises an ERROR that knows what they were. The casts are implicit, but nothing else takes the
-- type: no other call can be resolved to it. integer is left out, for hamming(1, 2) would be
-- ambiguous: it becomes numeric. Arguments have no names, so that calls by name find one function.
CREATE TYPE simhash_incomparable;

-- A quoted literal becomes a value while it is parsed.
CREATE FUNCTION simhash_incomparable_in(cstring) RETURNS simhash_incomparable
  AS 'textin' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_in(cstring) IS 'internal: I/O';
CREATE FUNCTION simhash_incomparable_out(simhash_incomparable) RETURNS cstring
  AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_out(simhash_incomparable) IS 'internal: I/O';
CREATE FUNCTION simhash_incomparable_recv(internal) RETURNS simhash_incomparable
  AS 'textrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_recv(internal) IS 'internal: I/O';
CREATE FUNCTION simhash_incomparable_send(simhash_incomparable) RETURNS bytea
  AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_send(simhash_incomparable) IS 'internal: I/O';
CREATE TYPE simhash_incomparable (
  INPUT = simhash_incomparable_in, OUTPUT = simhash_incomparable_out,
  RECEIVE = simhash_incomparable_recv, SEND = simhash_incomparable_send,
  INTERNALLENGTH = VARIABLE
);
COMMENT ON TYPE simhash_incomparable IS
  'internal: an operand of a call that ends in an error which says what to write';

-- They are not immutable, so that constants still show their type while a call is planned.
CREATE FUNCTION simhash_incomparable(fingerprint64) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(fingerprint64) IS 'internal: for an error';
CREATE CAST (fingerprint64 AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(fingerprint64) AS IMPLICIT;
COMMENT ON CAST (fingerprint64 AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(fingerprint128) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(fingerprint128) IS 'internal: for an error';
CREATE CAST (fingerprint128 AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(fingerprint128) AS IMPLICIT;
COMMENT ON CAST (fingerprint128 AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(fingerprint256) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(fingerprint256) IS 'internal: for an error';
CREATE CAST (fingerprint256 AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(fingerprint256) AS IMPLICIT;
COMMENT ON CAST (fingerprint256 AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(text) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(text) IS 'internal: for an error';
CREATE CAST (text AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(text) AS IMPLICIT;
COMMENT ON CAST (text AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(varchar) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(varchar) IS 'internal: for an error';
CREATE CAST (varchar AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(varchar) AS IMPLICIT;
COMMENT ON CAST (varchar AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(bigint) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(bigint) IS 'internal: for an error';
CREATE CAST (bigint AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(bigint) AS IMPLICIT;
COMMENT ON CAST (bigint AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(numeric) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(numeric) IS 'internal: for an error';
CREATE CAST (numeric AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(numeric) AS IMPLICIT;
COMMENT ON CAST (numeric AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(bytea) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(bytea) IS 'internal: for an error';
CREATE CAST (bytea AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(bytea) AS IMPLICIT;
COMMENT ON CAST (bytea AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(bit) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(bit) IS 'internal: for an error';
CREATE CAST (bit AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(bit) AS IMPLICIT;
COMMENT ON CAST (bit AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(json) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(json) IS 'internal: for an error';
CREATE CAST (json AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(json) AS IMPLICIT;
COMMENT ON CAST (json AS simhash_incomparable) IS 'internal: for an error';
CREATE FUNCTION simhash_incomparable(jsonb) RETURNS simhash_incomparable
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable(jsonb) IS 'internal: for an error';
CREATE CAST (jsonb AS simhash_incomparable)
  WITH FUNCTION simhash_incomparable(jsonb) AS IMPLICIT;
COMMENT ON CAST (jsonb AS simhash_incomparable) IS 'internal: for an error';

CREATE FUNCTION simhash_incomparable_support(internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'simhash_incomparable_support_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_support(internal) IS 'internal: raises the error';

CREATE FUNCTION hamming(simhash_incomparable, simhash_incomparable)
  RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(simhash_incomparable, simhash_incomparable) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(fingerprint64, numeric) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(fingerprint64, numeric) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(numeric, fingerprint64) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(numeric, fingerprint64) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(fingerprint128, numeric) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(fingerprint128, numeric) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(numeric, fingerprint128) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(numeric, fingerprint128) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(fingerprint256, numeric) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(fingerprint256, numeric) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(numeric, fingerprint256) RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(numeric, fingerprint256) IS
  'internal: an error that says what to write';
CREATE OPERATOR <~> (
  LEFTARG = simhash_incomparable, RIGHTARG = simhash_incomparable, FUNCTION = hamming
);
COMMENT ON OPERATOR <~> (simhash_incomparable, simhash_incomparable) IS
  'internal: an error that says what to write';
CREATE FUNCTION near_duplicate(simhash_incomparable, simhash_incomparable,
  double precision DEFAULT 0.7, simhash_config DEFAULT '{}')
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION near_duplicate(simhash_incomparable, simhash_incomparable,
  double precision, simhash_config) IS
  'internal: an error that says what to write';
CREATE FUNCTION text_similarity(simhash_incomparable, simhash_incomparable,
  simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION text_similarity(simhash_incomparable, simhash_incomparable,
  simhash_config) IS
  'internal: an error that says what to write';
