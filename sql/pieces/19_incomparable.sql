--
-- What cannot be compared: operands of an error that says what to write
--

-- A call that mixes types would end in PostgreSQL's "function does not exist". The types that
-- people mix become this one, so that the call is found and planned, and the support function
-- raises an ERROR that knows what they were. The casts are implicit, but nothing else takes the
-- type: no other call can be resolved to it. integer is left out: hamming(1, 2) of two would be
-- ambiguous.
CREATE TYPE simhash_incomparable;

-- A quoted literal becomes a value while it is parsed.
CREATE FUNCTION simhash_incomparable_in(cstring) RETURNS simhash_incomparable
  AS 'textin' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_in(cstring) IS 'internal: I/O';
CREATE FUNCTION simhash_incomparable_out(simhash_incomparable) RETURNS cstring
  AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_incomparable_out(simhash_incomparable) IS 'internal: I/O';
CREATE TYPE simhash_incomparable (
  INPUT = simhash_incomparable_in, OUTPUT = simhash_incomparable_out, INTERNALLENGTH = VARIABLE
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

CREATE FUNCTION hamming(a simhash_incomparable, b simhash_incomparable)
  RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(a simhash_incomparable, b simhash_incomparable) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(a fingerprint64, b integer)
  RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(a fingerprint64, b integer) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(a fingerprint128, b integer)
  RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(a fingerprint128, b integer) IS
  'internal: an error that says what to write';
CREATE FUNCTION hamming(a fingerprint256, b integer)
  RETURNS integer
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION hamming(a fingerprint256, b integer) IS
  'internal: an error that says what to write';
CREATE OPERATOR <~> (
  LEFTARG = simhash_incomparable, RIGHTARG = simhash_incomparable, FUNCTION = hamming
);
COMMENT ON OPERATOR <~> (simhash_incomparable, simhash_incomparable) IS
  'internal: an error that says what to write';
CREATE FUNCTION near_duplicate(a simhash_incomparable, b simhash_incomparable,
  similarity double precision DEFAULT 0.7, config simhash_config DEFAULT '{}')
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION near_duplicate(a simhash_incomparable, b simhash_incomparable,
  similarity double precision, config simhash_config) IS
  'internal: an error that says what to write';
CREATE FUNCTION text_similarity(a simhash_incomparable, b simhash_incomparable,
  config simhash_config DEFAULT '{}')
  RETURNS double precision
  AS 'MODULE_PATHNAME', 'simhash_incomparable_wrapper' LANGUAGE C STABLE PARALLEL SAFE
  SUPPORT simhash_incomparable_support;
COMMENT ON FUNCTION text_similarity(a simhash_incomparable, b simhash_incomparable,
  config simhash_config) IS
  'internal: an error that says what to write';

-- An assignment of a fingerprint of another width says why there is none.
CREATE FUNCTION fingerprint128_from_fingerprint64(fingerprint64) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint_of_other_width_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_from_fingerprint64(fingerprint64) IS
  'internal: an error that says what to write';
CREATE CAST (fingerprint64 AS fingerprint128)
  WITH FUNCTION fingerprint128_from_fingerprint64(fingerprint64) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint64 AS fingerprint128) IS 'internal: for an error';
CREATE FUNCTION fingerprint256_from_fingerprint64(fingerprint64) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint_of_other_width_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_from_fingerprint64(fingerprint64) IS
  'internal: an error that says what to write';
CREATE CAST (fingerprint64 AS fingerprint256)
  WITH FUNCTION fingerprint256_from_fingerprint64(fingerprint64) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint64 AS fingerprint256) IS 'internal: for an error';
CREATE FUNCTION fingerprint64_from_fingerprint128(fingerprint128) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint_of_other_width_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_fingerprint128(fingerprint128) IS
  'internal: an error that says what to write';
CREATE CAST (fingerprint128 AS fingerprint64)
  WITH FUNCTION fingerprint64_from_fingerprint128(fingerprint128) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint128 AS fingerprint64) IS 'internal: for an error';
CREATE FUNCTION fingerprint256_from_fingerprint128(fingerprint128) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'fingerprint_of_other_width_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint256_from_fingerprint128(fingerprint128) IS
  'internal: an error that says what to write';
CREATE CAST (fingerprint128 AS fingerprint256)
  WITH FUNCTION fingerprint256_from_fingerprint128(fingerprint128) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint128 AS fingerprint256) IS 'internal: for an error';
CREATE FUNCTION fingerprint64_from_fingerprint256(fingerprint256) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint_of_other_width_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_fingerprint256(fingerprint256) IS
  'internal: an error that says what to write';
CREATE CAST (fingerprint256 AS fingerprint64)
  WITH FUNCTION fingerprint64_from_fingerprint256(fingerprint256) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint256 AS fingerprint64) IS 'internal: for an error';
CREATE FUNCTION fingerprint128_from_fingerprint256(fingerprint256) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint_of_other_width_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_from_fingerprint256(fingerprint256) IS
  'internal: an error that says what to write';
CREATE CAST (fingerprint256 AS fingerprint128)
  WITH FUNCTION fingerprint128_from_fingerprint256(fingerprint256) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint256 AS fingerprint128) IS 'internal: for an error';
