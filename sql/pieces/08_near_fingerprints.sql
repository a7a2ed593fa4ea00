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
