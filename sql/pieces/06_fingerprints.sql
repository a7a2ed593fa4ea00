--
-- Fingerprints
--

CREATE FUNCTION simhash(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'simhash_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION simhash(body text, config simhash_config) IS
  '64-bit simhash of a text; NULL for a text without features';
CREATE FUNCTION simhash128(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'simhash128_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION simhash128(body text, config simhash_config) IS
  '128-bit simhash of a text; NULL for a text without features';
CREATE FUNCTION simhash256(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash256_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION simhash256(body text, config simhash_config) IS
  '256-bit simhash of a text; NULL for a text without features';
CREATE FUNCTION simhash(document tsvector) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'simhash_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION simhash(document tsvector) IS
  '64-bit simhash of lexemes, weighted by their positions and labels';
CREATE FUNCTION simhash128(document tsvector) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'simhash128_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION simhash128(document tsvector) IS
  '128-bit simhash of lexemes, weighted by their positions and labels';
CREATE FUNCTION simhash256(document tsvector) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash256_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION simhash256(document tsvector) IS
  '256-bit simhash of lexemes, weighted by their positions and labels';
CREATE FUNCTION simhash_from(features text[], weights real[] DEFAULT NULL) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'simhash_from_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash_from(features text[], weights real[]) IS
  '64-bit simhash of the caller''s own features';
CREATE FUNCTION simhash128_from(features text[], weights real[] DEFAULT NULL) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'simhash128_from_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash128_from(features text[], weights real[]) IS
  '128-bit simhash of the caller''s own features';
CREATE FUNCTION simhash256_from(features text[], weights real[] DEFAULT NULL) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'simhash256_from_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash256_from(features text[], weights real[]) IS
  '256-bit simhash of the caller''s own features';
CREATE FUNCTION minhash64(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'minhash64_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION minhash64(body text, config simhash_config) IS
  'one bit of each of 64 MinHash components of a text; NULL for a text without features';
CREATE FUNCTION minhash128(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'minhash128_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION minhash128(body text, config simhash_config) IS
  'one bit of each of 128 MinHash components of a text; NULL for a text without features';
CREATE FUNCTION minhash256(body text, config simhash_config DEFAULT '{}') RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'minhash256_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION minhash256(body text, config simhash_config) IS
  'one bit of each of 256 MinHash components of a text; NULL for a text without features';
CREATE FUNCTION minhash64(document tsvector) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'minhash64_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash64(document tsvector) IS
  'one bit of each of 64 MinHash components of the set of lexemes';
CREATE FUNCTION minhash128(document tsvector) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'minhash128_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash128(document tsvector) IS
  'one bit of each of 128 MinHash components of the set of lexemes';
CREATE FUNCTION minhash256(document tsvector) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'minhash256_tsvector_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minhash256(document tsvector) IS
  'one bit of each of 256 MinHash components of the set of lexemes';
CREATE FUNCTION minhash64_from(features text[]) RETURNS fingerprint64
  AS 'MODULE_PATHNAME', 'minhash64_from_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash64_from(features text[]) IS
  'one bit of each of 64 MinHash components of the caller''s own set of features';
CREATE FUNCTION minhash128_from(features text[]) RETURNS fingerprint128
  AS 'MODULE_PATHNAME', 'minhash128_from_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash128_from(features text[]) IS
  'one bit of each of 128 MinHash components of the caller''s own set of features';
CREATE FUNCTION minhash256_from(features text[]) RETURNS fingerprint256
  AS 'MODULE_PATHNAME', 'minhash256_from_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash256_from(features text[]) IS
  'one bit of each of 256 MinHash components of the caller''s own set of features';
CREATE FUNCTION simhash_features(body text, config simhash_config DEFAULT '{}',
  OUT feature text, OUT weight real, OUT hash fingerprint64) RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash_features_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000 ROWS 300;
COMMENT ON FUNCTION simhash_features(text, simhash_config) IS
  'what simhash hashes, with its weight';
CREATE FUNCTION simhash128_features(body text, config simhash_config DEFAULT '{}',
  OUT feature text, OUT weight real, OUT hash fingerprint128) RETURNS SETOF record
  AS 'MODULE_PATHNAME', 'simhash128_features_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 4000 ROWS 300;
COMMENT ON FUNCTION simhash128_features(text, simhash_config) IS
  'what simhash128 hashes, with its weight';
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
CREATE FUNCTION simhash_normalize(body text, config simhash_config DEFAULT '{}') RETURNS text
  AS 'MODULE_PATHNAME', 'simhash_normalize_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash_normalize(body text, config simhash_config) IS
  'a text as the tokenizer sees it';
CREATE FUNCTION simhash_tokens(body text, config simhash_config DEFAULT '{}') RETURNS text[]
  AS 'MODULE_PATHNAME', 'simhash_tokens_wrapper'
  LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION simhash_tokens(body text, config simhash_config) IS
  'the tokens of a text, in order, before shingling';
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

-- Arrays of one fingerprint for each lexicon. Their distance is the least over equal positions. The
-- operator <@ (fingerprint64[], hamming_ball64[]) is the form of hamming(fps, $1) <= k that an
-- index can serve.
CREATE FUNCTION hamming(a fingerprint64[], b fingerprint64[]) RETURNS integer
  AS 'MODULE_PATHNAME', 'hamming_fingerprint64_array_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_support COST 5;
COMMENT ON FUNCTION hamming(a fingerprint64[], b fingerprint64[]) IS
  'least distance over equal positions: of two documents under many lexicons';
CREATE FUNCTION hamming_within(a fingerprint64[], b fingerprint64[], distance bigint)
  RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_within_fingerprint64_array_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE SUPPORT hamming_within_support;
COMMENT ON FUNCTION hamming_within(a fingerprint64[], b fingerprint64[], distance bigint) IS
  'internal: whether the two differ in at most so many bits at some position: hamming(a, b) <= '
  'distance';
CREATE FUNCTION hamming_ball(centers fingerprint64[], radius integer) RETURNS hamming_ball64[]
  AS 'MODULE_PATHNAME', 'hamming_ball_64_array_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball(centers fingerprint64[], radius integer) IS
  'for every fingerprint of an array its ball';
CREATE FUNCTION hamming_ball_or_null(centers fingerprint64[], radius bigint)
  RETURNS hamming_ball64[]
  AS 'MODULE_PATHNAME', 'hamming_ball_or_null_64_array_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_or_null(centers fingerprint64[], radius bigint) IS
  'internal: as hamming_ball, for any radius: NULL for a negative one, the width for a greater one';
CREATE FUNCTION fingerprint64_array_within(fingerprint64[], hamming_ball64[]) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_array_within_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_array_within(fingerprint64[], hamming_ball64[]) IS
  'internal: implementation of <@ operator';
CREATE FUNCTION fingerprint64_array_contained(hamming_ball64[], fingerprint64[]) RETURNS boolean
  AS 'MODULE_PATHNAME', 'hamming_ball64_array_contains_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_array_contained(hamming_ball64[], fingerprint64[]) IS
  'internal: implementation of @> operator';
CREATE FUNCTION fingerprint64_array_near(fingerprint64[], fingerprint64[]) RETURNS boolean
  AS 'MODULE_PATHNAME', 'fingerprint64_array_near_wrapper'
  LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION fingerprint64_array_near(fingerprint64[], fingerprint64[]) IS
  'internal: implementation of ~= operator';
CREATE OPERATOR <~> (
  LEFTARG = fingerprint64[], RIGHTARG = fingerprint64[], FUNCTION = hamming,
  COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (fingerprint64[], fingerprint64[]) IS
  'least Hamming distance over equal positions';
CREATE OPERATOR <@ (
  LEFTARG = fingerprint64[], RIGHTARG = hamming_ball64[], FUNCTION = fingerprint64_array_within,
  COMMUTATOR = @>, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR <@ (fingerprint64[], hamming_ball64[]) IS
  'is within the radius at some position';
CREATE OPERATOR @> (
  LEFTARG = hamming_ball64[], RIGHTARG = fingerprint64[], FUNCTION = fingerprint64_array_contained,
  COMMUTATOR = <@, RESTRICT = hamming_within_sel, JOIN = hamming_within_joinsel
);
COMMENT ON OPERATOR @> (hamming_ball64[], fingerprint64[]) IS
  'holds within the radius at some position';
CREATE OPERATOR ~= (
  LEFTARG = fingerprint64[], RIGHTARG = fingerprint64[], FUNCTION = fingerprint64_array_near,
  COMMUTATOR = ~=, RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (fingerprint64[], fingerprint64[]) IS
  'near-duplicates at some position: distance of at most 3 of 64 bits';
