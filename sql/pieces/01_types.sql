--
-- Types
--

CREATE TYPE fingerprint64;

CREATE FUNCTION fingerprint64_in(cstring) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_in(cstring) IS 'internal: I/O';
CREATE FUNCTION fingerprint64_out(fingerprint64) RETURNS cstring
  AS 'MODULE_PATHNAME', 'fingerprint64_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_out(fingerprint64) IS 'internal: I/O';
CREATE FUNCTION fingerprint64_recv(internal) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_recv(internal) IS 'internal: I/O';
CREATE FUNCTION fingerprint64_send(fingerprint64) RETURNS bytea
  AS 'MODULE_PATHNAME', 'fingerprint64_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_send(fingerprint64) IS 'internal: I/O';

CREATE TYPE fingerprint64 (
  INPUT = fingerprint64_in, OUTPUT = fingerprint64_out,
  RECEIVE = fingerprint64_recv, SEND = fingerprint64_send,
  INTERNALLENGTH = 8, PASSEDBYVALUE, ALIGNMENT = double, STORAGE = plain
);
COMMENT ON TYPE fingerprint64 IS
  '64-bit fingerprint, compared by Hamming distance: 16 hexadecimal digits';

CREATE TYPE fingerprint128;

CREATE FUNCTION fingerprint128_in(cstring) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_in(cstring) IS 'internal: I/O';
CREATE FUNCTION fingerprint128_out(fingerprint128) RETURNS cstring
  AS 'MODULE_PATHNAME', 'fingerprint128_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_out(fingerprint128) IS 'internal: I/O';
CREATE FUNCTION fingerprint128_recv(internal) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_recv(internal) IS 'internal: I/O';
CREATE FUNCTION fingerprint128_send(fingerprint128) RETURNS bytea
  AS 'MODULE_PATHNAME', 'fingerprint128_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_send(fingerprint128) IS 'internal: I/O';

CREATE TYPE fingerprint128 (
  INPUT = fingerprint128_in, OUTPUT = fingerprint128_out,
  RECEIVE = fingerprint128_recv, SEND = fingerprint128_send,
  INTERNALLENGTH = 16, ALIGNMENT = char, STORAGE = plain
);
COMMENT ON TYPE fingerprint128 IS
  '128-bit fingerprint, compared by Hamming distance: 32 hexadecimal digits';

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

CREATE TYPE hamming_ball64;

CREATE FUNCTION hamming_ball64_in(cstring) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball64_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_in(cstring) IS 'internal: I/O';
CREATE FUNCTION hamming_ball64_out(hamming_ball64) RETURNS cstring
  AS 'MODULE_PATHNAME', 'hamming_ball64_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_out(hamming_ball64) IS 'internal: I/O';
CREATE FUNCTION hamming_ball64_recv(internal) RETURNS hamming_ball64
  AS 'MODULE_PATHNAME', 'hamming_ball64_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_recv(internal) IS 'internal: I/O';
CREATE FUNCTION hamming_ball64_send(hamming_ball64) RETURNS bytea
  AS 'MODULE_PATHNAME', 'hamming_ball64_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball64_send(hamming_ball64) IS 'internal: I/O';

CREATE TYPE hamming_ball64 (
  INPUT = hamming_ball64_in, OUTPUT = hamming_ball64_out,
  RECEIVE = hamming_ball64_recv, SEND = hamming_ball64_send,
  INTERNALLENGTH = 16, ALIGNMENT = double, STORAGE = plain
);
COMMENT ON TYPE hamming_ball64 IS
  'every 64-bit fingerprint within a radius of a centre: <fingerprint,radius>';

CREATE TYPE hamming_ball128;

CREATE FUNCTION hamming_ball128_in(cstring) RETURNS hamming_ball128
  AS 'MODULE_PATHNAME', 'hamming_ball128_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_in(cstring) IS 'internal: I/O';
CREATE FUNCTION hamming_ball128_out(hamming_ball128) RETURNS cstring
  AS 'MODULE_PATHNAME', 'hamming_ball128_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_out(hamming_ball128) IS 'internal: I/O';
CREATE FUNCTION hamming_ball128_recv(internal) RETURNS hamming_ball128
  AS 'MODULE_PATHNAME', 'hamming_ball128_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_recv(internal) IS 'internal: I/O';
CREATE FUNCTION hamming_ball128_send(hamming_ball128) RETURNS bytea
  AS 'MODULE_PATHNAME', 'hamming_ball128_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball128_send(hamming_ball128) IS 'internal: I/O';

CREATE TYPE hamming_ball128 (
  INPUT = hamming_ball128_in, OUTPUT = hamming_ball128_out,
  RECEIVE = hamming_ball128_recv, SEND = hamming_ball128_send,
  INTERNALLENGTH = 20, ALIGNMENT = int4, STORAGE = plain
);
COMMENT ON TYPE hamming_ball128 IS
  'every 128-bit fingerprint within a radius of a centre: <fingerprint,radius>';

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

CREATE TYPE simhash_config;

CREATE FUNCTION simhash_config_in(cstring) RETURNS simhash_config
  AS 'MODULE_PATHNAME', 'simhash_config_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_in(cstring) IS 'internal: I/O';
CREATE FUNCTION simhash_config_out(simhash_config) RETURNS cstring
  AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_out(simhash_config) IS 'internal: I/O';
CREATE FUNCTION simhash_config_recv(internal) RETURNS simhash_config
  AS 'MODULE_PATHNAME', 'simhash_config_recv_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_recv(internal) IS 'internal: I/O';
CREATE FUNCTION simhash_config_send(simhash_config) RETURNS bytea
  AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_config_send(simhash_config) IS 'internal: I/O';

CREATE TYPE simhash_config (
  INPUT = simhash_config_in, OUTPUT = simhash_config_out,
  RECEIVE = simhash_config_recv, SEND = simhash_config_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE simhash_config IS 'how a text becomes features: a JSON object, checked on input';
