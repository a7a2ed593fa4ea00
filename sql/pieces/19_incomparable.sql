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
