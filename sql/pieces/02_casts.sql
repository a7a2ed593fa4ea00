--
-- Casts
--

CREATE CAST (fingerprint64 AS bigint) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (bigint AS fingerprint64) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (fingerprint64 AS bigint) IS 'the same bits';
COMMENT ON CAST (bigint AS fingerprint64) IS 'the same bits';
CREATE CAST (fingerprint128 AS uuid) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (uuid AS fingerprint128) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (fingerprint128 AS uuid) IS 'the same bits';
COMMENT ON CAST (uuid AS fingerprint128) IS 'the same bits';

CREATE FUNCTION fingerprint64_to_bit(fingerprint64) RETURNS bit
  AS 'MODULE_PATHNAME', 'fingerprint64_to_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_to_bit(fingerprint64) IS
  'internal: implementation of the cast to bit(64)';
CREATE FUNCTION fingerprint64_from_bit(bit) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_from_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_bit(bit) IS
  'internal: implementation of the cast from bit(64)';
CREATE FUNCTION fingerprint64_from_bytea(bytea) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'fingerprint64_from_bytea_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';
CREATE CAST (fingerprint64 AS bit) WITH FUNCTION fingerprint64_to_bit(fingerprint64) AS ASSIGNMENT;
CREATE CAST (bit AS fingerprint64) WITH FUNCTION fingerprint64_from_bit(bit) AS ASSIGNMENT;
CREATE CAST (fingerprint64 AS bytea) WITH FUNCTION fingerprint64_send(fingerprint64) AS ASSIGNMENT;
CREATE CAST (bytea AS fingerprint64) WITH FUNCTION fingerprint64_from_bytea(bytea) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint64 AS bit) IS 'the most significant bit first';
COMMENT ON CAST (bit AS fingerprint64) IS 'the most significant bit first';
COMMENT ON CAST (fingerprint64 AS bytea) IS '8 bytes in network order';
COMMENT ON CAST (bytea AS fingerprint64) IS '8 bytes in network order';

CREATE FUNCTION fingerprint128_to_bit(fingerprint128) RETURNS bit
  AS 'MODULE_PATHNAME', 'fingerprint128_to_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_to_bit(fingerprint128) IS
  'internal: implementation of the cast to bit(128)';
CREATE FUNCTION fingerprint128_from_bit(bit) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_from_bit_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_from_bit(bit) IS
  'internal: implementation of the cast from bit(128)';
CREATE FUNCTION fingerprint128_from_bytea(bytea) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'fingerprint128_from_bytea_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint128_from_bytea(bytea) IS
  'internal: implementation of the cast from bytea';
CREATE CAST (fingerprint128 AS bit)
  WITH FUNCTION fingerprint128_to_bit(fingerprint128) AS ASSIGNMENT;
CREATE CAST (bit AS fingerprint128) WITH FUNCTION fingerprint128_from_bit(bit) AS ASSIGNMENT;
CREATE CAST (fingerprint128 AS bytea)
  WITH FUNCTION fingerprint128_send(fingerprint128) AS ASSIGNMENT;
CREATE CAST (bytea AS fingerprint128) WITH FUNCTION fingerprint128_from_bytea(bytea) AS ASSIGNMENT;
COMMENT ON CAST (fingerprint128 AS bit) IS 'the most significant bit first';
COMMENT ON CAST (bit AS fingerprint128) IS 'the most significant bit first';
COMMENT ON CAST (fingerprint128 AS bytea) IS '16 bytes in network order';
COMMENT ON CAST (bytea AS fingerprint128) IS '16 bytes in network order';

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

-- The cast from jsonb is implicit, because programs send objects as jsonb. That from json is not:
-- json has no operator =, and would get that of simhash_config.
CREATE CAST (simhash_config AS json) WITH INOUT AS ASSIGNMENT;
CREATE CAST (json AS simhash_config) WITH INOUT AS ASSIGNMENT;
CREATE CAST (simhash_config AS jsonb) WITH INOUT AS ASSIGNMENT;
CREATE CAST (jsonb AS simhash_config) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (simhash_config AS json) IS 'the canonical text form';
COMMENT ON CAST (json AS simhash_config) IS 'checked as on input';
COMMENT ON CAST (simhash_config AS jsonb) IS 'the canonical text form';
COMMENT ON CAST (jsonb AS simhash_config) IS 'checked as on input';
